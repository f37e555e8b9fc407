"""Two ways to the Goodwin posterior mean agree, and a wrong truth is seen."""

import numpy as np
import pytest

import steinquad as sq
from steinquad.paper import goodwin_truth as ways
from steinquad.paper.goodwin_truth import Reference, contradictions
from steinquad.problems.goodwin import PARAMETERS


@pytest.mark.slow
def test_two_ways_to_a_coarse_posterior_agree():
    """Apart by less than five standard errors; false alarms 6e-4 (t of 15 dof, four means)."""
    problem = sq.problems.goodwin(observations=240, rtol=1e-8)
    sobol = ways.by_importance(problem, 16 * 128)
    nuts = ways.by_nuts(problem, 400, order=3)
    assert not list(contradictions([sobol, nuts], PARAMETERS, rtol=1e-7))
    assert np.all(sobol.std < 2e-3) and np.all(nuts.std < 1e-3)
    # negative control: the generating parameters are not the posterior mean
    wrong = Reference("generating", np.array([1.0, 3.0, 1.0, 0.5]), np.zeros(4))
    assert list(contradictions([wrong, nuts], PARAMETERS, rtol=1e-7))
