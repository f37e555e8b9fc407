"""Inputs of uqtestfuns: all of its marginals, their names, and what is meant by a function."""

import numpy as np
import pytest
import uqtestfuns

import steinquad as sq
from steinquad.measures import as_measure
from steinquad.measures.by_functions import ByFunctions
from steinquad.measures.uqtestfuns import FAMILIES

MARGINALS = {
    "beta": [2, 3, 1, 5],
    "exponential": [2],
    "gumbel": [1, 2],
    "logitnormal": [0, 1],
    "lognormal": [0.5, 0.3],
    "normal": [1, 2],
    "triangular": [0, 3, 1],
    "trunc-gumbel": [1, 2, 0, 5],
    "trunc-normal": [1, 2, 0, 4],
    "uniform": [-1, 3],
}


@pytest.mark.parametrize("kind", MARGINALS)
def test_every_marginal(kind):
    marginal = uqtestfuns.Marginal(kind, MARGINALS[kind])
    measure = as_measure(marginal)
    assert isinstance(measure, ByFunctions) == (kind not in FAMILIES)
    x = marginal.icdf(np.linspace(0.001, 0.999, 25))
    np.testing.assert_allclose(measure.cdf(x)[:, 0], marginal.cdf(x), rtol=1e-9)
    np.testing.assert_allclose(np.exp(measure.log_density(x)), marginal.pdf(x), rtol=1e-9)


def test_the_input_of_a_function_with_its_names():
    borehole = uqtestfuns.Borehole()
    measure = as_measure(borehole.prob_input)
    assert measure.names == ("rw", "r", "Tu", "Hu", "Tl", "Hl", "L", "Kw")
    est = sq.integrate(borehole, borehole.prob_input, n=20, method=sq.MonteCarlo())
    assert np.isfinite(est.mean).all()
    with pytest.raises(sq.InputError, match=r"pass its input, fun\.prob_input"):
        as_measure(borehole)


def test_without_names_they_are_numbered():
    marginals = [uqtestfuns.Marginal("normal", [0, 1]) for _ in range(2)]
    assert as_measure(uqtestfuns.ProbInput(marginals)).names == ("x0", "x1")


def test_copulas_and_other_things_are_refused():
    marginals = [uqtestfuns.Marginal("normal", [0, 1], name=name) for name in "ab"]
    with pytest.raises(sq.InputError, match="has copulas"):
        as_measure(uqtestfuns.ProbInput(marginals, copulas="some"))

    class Other:
        __module__ = "uqtestfuns.core"

    with pytest.raises(sq.InputError, match=r"is a Other of uqtestfuns; pass the input"):
        as_measure(Other())
