"""What must hold of every scalar measure with a cdf, whatever it wraps."""

from functools import lru_cache

import jax
import numpy as np
import numpyro.distributions as nd
import pytest
import scipy.stats as st

from steinquad.measures import Measure, Product, Truncated, as_measure
from steinquad.measures.mixture import Mixture

WEIGHTS = np.array([0.3, 0.7])

MEASURES = {
    "normal": lambda: nd.Normal(0.3, 1.7),
    "uniform": lambda: nd.Uniform(-1.0, 2.5),
    "gamma": lambda: nd.Gamma(2.2, 1.3),
    "lognormal": lambda: nd.LogNormal(0.2, 0.6),
    "exponential": lambda: nd.Exponential(1.4),
    "mixture": lambda: nd.MixtureSameFamily(
        nd.Categorical(WEIGHTS), nd.Normal(np.array([-1.0, 2.0]), np.array([0.5, 1.0]))
    ),
    "two-sided truncated normal": lambda: nd.TruncatedNormal(0.5, 1.2, low=-1.0, high=2.0),
    "our truncated mixture": lambda: Truncated(MEASURES["mixture"](), low=-1.2, high=3.0),
    "our truncated gamma": lambda: Truncated(nd.Gamma(2.2, 1.3), low=0.5),
    "scipy gamma": lambda: st.gamma(2.4, loc=-1.0, scale=0.8),
    "scipy skewnorm": lambda: st.skewnorm(2.0, loc=1.0, scale=2.0),
    "scipy new normal": lambda: st.Normal(mu=1.0, sigma=0.5),
    "scipy new mixture": lambda: st.Mixture(
        [st.Normal(mu=-1.0, sigma=0.5), st.Normal(mu=2.0, sigma=1.0)], weights=WEIGHTS
    ),
    "our mixture": lambda: Mixture(
        [st.gamma(2.4, scale=0.8), st.lognorm(0.4, scale=3.0), st.gamma(3.0)], [1, 2, 3]
    ),
    "our mixture, cut": lambda: Truncated(
        Mixture([st.norm(1.0, 0.5), st.gumbel_r(3.0)], [1, 2]), 0.3, 4.0
    ),
    "product of one": lambda: Product({"theta": nd.HalfNormal(1.5)}),
}

PANELS = np.array([1e-12, 1e-9, 1e-6, 1e-4, 1e-3, 1e-2, 0.05, 0.1, 0.2, 0.35, 0.5])
NODES = 24
N = 480  # every batch has this length, so that each measure compiles each function once


@lru_cache
def measure(name: str) -> Measure:
    return as_measure(MEASURES[name]())


@lru_cache
def quadrature(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Legendre points and weights between quantiles: all but 2e-12 of the mass."""
    p = np.concatenate([PANELS, 1 - PANELS[-2::-1]])
    edges = measure(name).icdf(np.append(p, np.full(N - len(p), 0.5))[:, None])[: len(p), 0]
    t, w = np.polynomial.legendre.leggauss(NODES)
    half = np.diff(edges)[:, None] / 2
    return (edges[:-1, None] + half * (1 + t)).reshape(-1, 1), (half * w).reshape(-1)


def points(name: str) -> np.ndarray:
    return measure(name).icdf(np.linspace(0.03, 0.96, N)[:, None])


def derivative(function, x: np.ndarray, step: float = 2e-3) -> np.ndarray:
    """Sixth-order central difference."""
    return sum(
        c * (function(x + k * step) - function(x - k * step))
        for k, c in ((1, 45 / 60), (2, -9 / 60), (3, 1 / 60))
    ) / (step)


@pytest.mark.parametrize("name", MEASURES)
def test_score_is_the_derivative_of_the_log_density(name):
    m, x = measure(name), points(name)
    want = derivative(m.log_density, x)[:, None]
    # The difference has truncation error near a side, where the log density is singular.
    np.testing.assert_allclose(m.score(x), want, rtol=2e-6, atol=1e-8)


@pytest.mark.parametrize("name", MEASURES)
def test_cdf_differentiates_to_the_density(name):
    m, x = measure(name), points(name)
    want = np.exp(m.log_density(x))[:, None]
    np.testing.assert_allclose(derivative(m.cdf, x), want, rtol=1e-7)


@pytest.mark.parametrize("name", MEASURES)
def test_icdf_inverts_cdf(name):
    m = measure(name)
    p = np.append(np.geomspace(1e-8, 0.5, N // 2), np.linspace(0.5, 0.999, N // 2))[:, None]
    x = m.icdf(p)
    np.testing.assert_allclose(m.cdf(x), p, rtol=1e-9, atol=1e-13)  # SciPy's own brackets
    np.testing.assert_allclose(m.icdf(m.cdf(x)), x, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", MEASURES)
def test_density_integrates_to_one(name):
    x, w = quadrature(name)
    assert w @ np.exp(measure(name).log_density(x)) == pytest.approx(1.0, abs=1e-10)


def stein_mean(name: str, factor: bool) -> float:
    """Quadrature of E[score b + b'], b a smooth field with or without a boundary factor."""
    m, (x, w) = measure(name), quadrature(name)
    low, high = float(m.support.low[0]), float(m.support.high[0])

    def b(z):
        value = np.arctan(z) + 2.0
        if factor and np.isfinite(low):
            value = value * (z - low)
        if factor and np.isfinite(high):
            value = value * (high - z)
        return value / (1 + z * z)

    slope = b(x + 1e-30j).imag / 1e-30
    return float((w * np.exp(m.log_density(x))) @ (m.score(x) * b(x) + slope)[:, 0])


@pytest.mark.parametrize("name", MEASURES)
def test_stein_operator_has_mean_zero(name):
    assert stein_mean(name, factor=True) == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("name", ["uniform", "exponential", "two-sided truncated normal"])
def test_without_a_boundary_factor_the_mean_is_not_zero(name):
    assert abs(stein_mean(name, factor=False)) > 1e-3


@pytest.mark.parametrize("name", MEASURES)
def test_samples_follow_the_cdf(name):
    m = measure(name)
    x = m.sample(N, seed=12)
    assert x.shape == (N, 1) and x.dtype == np.float64
    assert m.support.contains(x).all()
    uniform = m.cdf(x)[:, 0]
    # A right sampler fails with probability 1e-4; a cdf that is off by 0.2 must fail.
    assert st.kstest(uniform, "uniform").pvalue > 1e-4
    assert st.kstest(uniform**2, "uniform").pvalue < 1e-4


@pytest.mark.parametrize("name", MEASURES)
def test_seeds_and_types(name):
    m = measure(name)
    draws = m.sample(N, seed=3)
    assert np.array_equal(m.sample(N, seed=3), draws)
    assert not np.isin(m.sample(N, seed=4), draws).any()
    x = points(name)
    outputs = (m.score(x), m.log_density(x), m.cdf(x), m.icdf(m.cdf(x)))
    assert [o.dtype for o in outputs] == [np.float64] * 4
    assert all(type(o) is np.ndarray for o in outputs)
    assert [o.shape for o in outputs] == [(N, 1), (N,), (N, 1), (N, 1)]
    assert jax.numpy.ones(()).dtype == jax.numpy.float32  # the caller's flag is as it was


@pytest.mark.parametrize("name", ["uniform", "gamma", "our truncated mixture", "scipy gamma"])
def test_outside_the_support(name):
    m = measure(name)
    beyond = np.ones((N, 1))  # the length, once more: only one row is needed
    low, high = m.support.low[0], m.support.high[0]
    assert (m.log_density(beyond * (low - 1)) == -np.inf).all()
    assert (m.cdf(beyond * (low - 1)) == 0.0).all()
    assert (m.icdf(beyond * 0.0) == low).all()
    assert (m.icdf(beyond) == high).all()
    if np.isfinite(high):
        assert (m.cdf(beyond * (high + 1)) == 1.0).all()
