"""Truncation of whole measures; the identities of test_identities hold for them too."""

import numpy as np
import numpyro.distributions as nd
import pytest
import scipy.stats as st

from steinquad.errors import InputError
from steinquad.measures import LogDensity, Measure, Truncated
from steinquad.support import Support

WEIGHTS = np.array([20.0, 25.0, 9.0]) / 54.0
MEANS = np.array([0.0, 22.5, 33.75])
STDS = np.sqrt([50.0, 40.0, 8.0])


def test_wind_direction():
    """Cutting the mixture as a whole changes the weights of its components."""
    mixture = nd.MixtureSameFamily(nd.Categorical(WEIGHTS), nd.Normal(MEANS, STDS))
    m = Truncated(mixture, 0.0, 45.0)
    t, w = np.polynomial.legendre.leggauss(200)
    x = 22.5 * (1 + t)[:, None]
    parts = WEIGHTS * st.norm(MEANS, STDS).pdf(x)
    share = parts / parts.sum(1, keepdims=True)
    density = np.exp(m.log_density(x))
    effective = 22.5 * (w * density) @ share
    np.testing.assert_allclose(effective, [0.2273, 0.5681, 0.2046], atol=5e-5)
    assert effective.sum() == pytest.approx(1.0, abs=1e-12)
    mass = WEIGHTS * np.diff(st.norm(MEANS, STDS).cdf([[0.0], [45.0]]), axis=0)[0]
    np.testing.assert_allclose(effective, mass / mass.sum(), rtol=1e-10)
    want = (share * (MEANS - x) / STDS**2).sum(1, keepdims=True)
    np.testing.assert_allclose(m.score(x), want, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("low", "high"), [(-0.5, None), (None, 0.8), (-0.5, 0.8), (None, None)])
def test_against_truncnorm(low, high):
    m = Truncated(st.norm(), low, high)
    a, b = -np.inf if low is None else low, np.inf if high is None else high
    reference = st.truncnorm(a, b)
    p = np.linspace(0.01, 0.99, 9)[:, None]
    x = reference.ppf(p)
    assert m.support == Support.box(a, b, 1)
    np.testing.assert_allclose(m.log_density(x), reference.logpdf(x)[:, 0], rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(m.cdf(x), p, rtol=1e-12)
    np.testing.assert_allclose(m.icdf(p), x, rtol=1e-11, atol=1e-13)


def test_sides_are_cut_to_the_bases_support():
    m = Truncated(st.expon(), -3.0, 2.0)
    assert m.support == Support.box(0.0, 2.0, 1)
    again = Truncated(m, 1.0)
    assert again.support == Support.box(1.0, 2.0, 1)
    np.testing.assert_allclose(again.cdf(np.array([[1.5]])), st.truncexpon(1.0).cdf(0.5))


class NoInverse(Measure):
    """A logistic that knows its cdf but not its inverse."""

    support, names = Support.real(1), ("x0",)
    provides = frozenset({"cdf", "log_density"})

    def score(self, x):
        return -np.tanh(x / 2)

    def log_density(self, x):
        return st.logistic.logpdf(x[:, 0])

    def cdf(self, x):
        return st.logistic.cdf(x)


def test_root_finding_where_the_base_has_no_inverse():
    ours, reference = Truncated(NoInverse(), -1.0, None), Truncated(st.logistic(), -1.0, None)
    p = np.linspace(0.0, 0.999, 7)[:, None]
    np.testing.assert_allclose(ours.icdf(p), reference.icdf(p), rtol=1e-12, atol=1e-13)


def test_a_far_left_tail_keeps_its_digits():
    m = Truncated(st.norm(), None, -6.5)
    assert m.cdf(np.array([[-6.6]])) == pytest.approx(st.norm.cdf(-6.6) / st.norm.cdf(-6.5))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((st.norm(), 7.5, None), "mass 3.19e-14 in .*too little"),
        ((st.norm(), 0.0, 1e-11), "too little"),
        ((st.norm(), 2.0, 1.0), "give low < high"),
        ((st.expon(), None, -1.0), "give low < high"),
        ((st.norm(), "a", None), "low is 'a'"),
        ((st.norm(), None, float("nan")), "high is nan"),
        ((st.norm(), None, 10**400), "high is 1000"),
        ((st.norm(), np.ma.masked, None), "low is masked"),
        ((st.multivariate_normal([0.0, 0.0]), 0.0, 1.0), "base has dim 2"),
        ((LogDensity(lambda x: -(x @ x), 1), 0.0, 1.0), "LogDensity has no cdf"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_refusals(arguments, words):
    with pytest.raises(InputError, match=words):
        Truncated(*arguments)
