"""A kernel density estimate is a mixture of normals: everything against SciPy and by hand."""

import numpy as np
import pytest
import scipy.stats as st

import steinquad as sq
from steinquad.measures import as_measure
from steinquad.measures.kernel_density import MOST_COMPONENTS, KernelDensity


def estimate(d, n=40, far=0.0):
    rng = np.random.default_rng(d)
    return st.gaussian_kde(far + rng.gamma(2.0, size=(d, n)), weights=rng.random(n))


@pytest.mark.parametrize("d", [1, 2, 5])
def test_density_and_score_are_those_of_the_mixture(d):
    kde = estimate(d)
    measure = as_measure(kde)
    assert isinstance(measure, KernelDensity) and measure.dim == d
    x = np.random.default_rng(0).normal(size=(20, d)) * 3
    np.testing.assert_allclose(measure.log_density(x), kde.logpdf(x.T), rtol=1e-10)
    parts = [st.multivariate_normal(center, kde.covariance).pdf(x) for center in kde.dataset.T]
    shares = kde.weights[:, None] * np.array(parts)
    shares /= shares.sum(axis=0)
    pulls = np.einsum("cn,cnd->nd", shares, kde.dataset.T[:, None] - x)
    want = np.linalg.solve(kde.covariance, pulls.T).T
    np.testing.assert_allclose(measure.score(x), want, rtol=1e-8, atol=1e-10)
    assert np.isfinite(measure.score(x * 1e6)).all()


def test_the_cdf_of_one_coordinate():
    kde = estimate(1)
    measure = as_measure(kde)
    x = np.linspace(-1.0, 6.0, 9)
    want = [kde.integrate_box_1d(-np.inf, side) for side in x]
    np.testing.assert_allclose(measure.cdf(x)[:, 0], want, rtol=1e-10)
    p = np.linspace(0.01, 0.99, 7)[:, None]
    np.testing.assert_allclose(measure.cdf(measure.icdf(p)), p, rtol=1e-10)
    assert "cdf" not in as_measure(estimate(2)).provides


@pytest.mark.parametrize("d", [1, 2, 5])
def test_draws_have_its_moments_and_seeds_repeat(d):
    kde = estimate(d)
    measure = as_measure(kde)
    x = measure.sample(20_000, seed=0)
    mean = kde.dataset @ kde.weights
    centers = kde.dataset - mean[:, None]
    covariance = kde.covariance + centers * kde.weights @ centers.T
    std = np.sqrt(np.diag(covariance))
    # Six standard errors of the mean, and as much of the variances with their heavier tails.
    assert np.abs((x.mean(axis=0) - mean) / std).max() < 6 / np.sqrt(20_000)
    assert np.abs((np.cov(x.T) - covariance) / np.outer(std, std)).max() < 20 / np.sqrt(20_000)
    np.testing.assert_array_equal(x, measure.sample(20_000, seed=0))


def test_bayesian_quadrature_integrates_it_where_the_points_are_few():
    kde = estimate(2, n=20)
    factors = as_measure(kde).factors()
    x = np.random.default_rng(0).normal(size=(9, 2))
    np.testing.assert_allclose(factors.density(x), kde.pdf(x.T), rtol=1e-10)
    est = sq.integrate(lambda x: x[:, 0], kde, n=30, method=sq.BayesianQuadrature())
    assert abs(est.mean - kde.dataset[0] @ kde.weights) < 1e-3
    assert as_measure(estimate(2, n=MOST_COMPONENTS + 1)).factors() is None


def test_points_far_from_zero_lose_no_digits():
    near, far = as_measure(estimate(1)), as_measure(estimate(1, far=2.0**20))
    x = np.linspace(0.0, 5.0, 9)
    np.testing.assert_allclose(near.score(x), far.score(x + 2.0**20), rtol=1e-6, atol=1e-8)


def test_no_points_no_answers():
    assert as_measure(estimate(1)).log_density(np.empty((0, 1))).shape == (0,)
