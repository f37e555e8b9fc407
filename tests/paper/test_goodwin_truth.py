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


def test_five_standard_errors_apart_are_no_contradiction():
    one = ways.Reference("one", np.array([1.0, 2.0]), np.array([0.3, 0.3]))
    near = ways.Reference("near", one.mean + 5 * 0.499, np.array([0.4, 0.4]))
    assert not list(contradictions([one, near], "ab", rtol=0.0))
    far = ways.Reference("far", one.mean + np.array([0.0, 5 * 0.501]), np.array([0.4, 0.4]))
    (sentence,) = contradictions([one, far], "ab", rtol=0.0)
    assert sentence.startswith("E[b] is 2 by one but 4.505 by far, 2.5e+00 apart where 2.5e+00")
    assert not list(contradictions([one, far], "ab", rtol=0.01))


def test_every_pair_is_compared_and_nan_agrees_with_nothing():
    same = [Reference(name, np.zeros(1), np.zeros(1)) for name in "abc"]
    assert not list(contradictions(same, ["f"], rtol=0.0))
    lost = Reference("lost", np.array([np.nan]), np.zeros(1))
    assert len(list(contradictions([*same, lost], ["f"], rtol=1.0))) == 3


@pytest.mark.parametrize(
    ("draws", "points", "words"),
    [
        (8000, 16, "points is 16"),
        (8000, 48, "points is 48"),
        (8000, 33, "16 times a power of two"),
        (2, 32, "draws is 2"),
        (10, 32, "a multiple of 4"),
    ],
)
def test_sizes_are_refused_before_anything_runs(draws, points, words):
    ways.check_sizes(4, 32)
    with pytest.raises(sq.InputError, match=words):
        ways.check_sizes(draws, points)
