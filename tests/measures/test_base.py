"""What a measure of one's own gets from the base class."""

import numpy as np
import pytest
import scipy.special

from steinquad.errors import InputError
from steinquad.measures.base import Measure
from steinquad.support import Support


class Logistic(Measure):
    def __init__(self, d: int, provides: frozenset[str] = frozenset()) -> None:
        self.support, self.provides = Support.real(d), provides
        self.names = tuple(f"x{i}" for i in range(d))

    def score(self, x):
        return -np.tanh(np.asarray(x) / 2)

    def log_density(self, x):
        x = np.asarray(x)
        return np.sum(-x - 2 * np.logaddexp(0.0, -x), axis=1)

    def cdf(self, x):
        return scipy.special.expit(x)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_what_is_not_provided_says_so(d):
    measure = Logistic(d, frozenset({"log_density"}))
    assert measure.dim == d and measure.jax_log_density() is None and measure.factors() is None
    for call in (lambda: measure.sample(3, seed=0), lambda: measure.icdf(np.full((1, d), 0.5))):
        with pytest.raises(
            InputError, match="measure Logistic has no .*it provides log_density, "
        ):
            call()


def test_a_scalar_measure_with_a_cdf_is_one_marginal_inverted_by_roots():
    factors = Logistic(1, frozenset({"log_density", "cdf"})).factors()
    assert factors is not None and factors.independent and factors.plain
    marginal = factors.components[0][0]
    p = np.array([0.01, 0.3, 0.5, 0.999])
    np.testing.assert_allclose(marginal.icdf(p), scipy.special.logit(p), atol=1e-12)
    slope = marginal.cdf(p) * (1 - marginal.cdf(p))
    np.testing.assert_allclose(marginal.pdf(p), slope, rtol=1e-12)
