"""Polynomial features integrate to zero, are what they say they are, and know their limits."""

from functools import cache

import numpy as np
import numpyro.distributions as dist
import pytest
import scipy.stats
from numpy.polynomial.hermite_e import hermegauss
from numpy.polynomial.legendre import leggauss

import steinquad as sq
from steinquad.measures import as_measure
from steinquad.stein.cdf_legendre import CdfLegendre
from steinquad.stein.features import index_set
from steinquad.stein.score_polynomials import ScorePolynomials, heavy_tail

LOW, HIGH = -0.5, 1.5


def tensor(nodes, weights, d):
    grids = np.meshgrid(*[nodes] * d, indexing="ij")
    products = np.meshgrid(*[weights] * d, indexing="ij")
    x = np.stack([grid.ravel() for grid in grids], axis=1)
    return x, np.prod([product.ravel() for product in products], axis=0)


def quadrature(measure, d, count):
    """Nodes and probability weights, exact for the features' polynomials times the density."""
    if measure == "normal":
        nodes, weights = hermegauss(count)
        return tensor(nodes, weights / weights.sum(), d)
    nodes, weights = leggauss(count)
    nodes = 0.5 * (LOW + HIGH) + 0.5 * (HIGH - LOW) * nodes
    weights = weights * scipy.stats.norm.pdf(nodes)
    return tensor(nodes, weights / weights.sum(), d)


@cache
def measure_of(kind, d):
    if kind == "normal":
        return as_measure(dist.Normal(0, 1).expand([d]).to_event(1))
    return as_measure(dist.TruncatedNormal(0.0, 1.0, low=LOW, high=HIGH).expand([d]).to_event(1))


@pytest.mark.parametrize(("d", "order", "count"), [(1, 9, 60), (2, 6, 40), (5, 3, 9)])
@pytest.mark.parametrize("kind", ["normal", "truncated"])
def test_score_polynomials_integrate_to_zero(kind, d, order, count):
    measure = measure_of(kind, d)
    x = measure.sample(200, seed=0)
    data = sq.Dataset(x, x[:, 0], measure.score(x), support=measure.support)
    features = ScorePolynomials().fit(data, None)
    count = 24 if (kind, d) == ("truncated", 5) else count  # the boundary factor is no polynomial
    if d == 5 and kind == "truncated":
        order, count = 2, 13
    nodes, weights = quadrature(kind, d, count)
    phi = features(nodes, measure.score(nodes), order)
    scale = np.sqrt(weights @ phi**2)
    assert np.max(np.abs(weights @ phi) / scale) < 1e-10
    if kind == "truncated":  # negative control: without the boundary factor they do not
        bare = ScorePolynomials().fit(sq.Dataset(x, x[:, 0], measure.score(x)), None)
        assert np.max(np.abs(weights @ bare(nodes, measure.score(nodes), order))) > 0.1


@pytest.mark.parametrize(("d", "order"), [(1, 12), (2, 8), (5, 3)])
def test_legendre_features_are_orthonormal(d, order):
    """Under any independent coordinates, here through the inverse cdf of Gauss points."""
    measure = measure_of("truncated", d)
    data = sq.Dataset(measure.sample(10, seed=0), np.arange(10.0))
    features = CdfLegendre().fit(data, measure)
    u, weights = leggauss(order + 1)
    nodes, weights = tensor(measure_icdf(0.5 + 0.5 * u), weights / 2, d)
    phi = features(nodes, None, order)
    np.testing.assert_allclose(weights @ phi, 0, atol=1e-10)
    np.testing.assert_allclose(phi.T @ (weights[:, None] * phi), np.eye(phi.shape[1]), atol=1e-9)


def measure_icdf(p):
    return scipy.stats.truncnorm(LOW, HIGH).ppf(p)


def test_hermite_features_of_a_normal_are_hermite_polynomials():
    x = np.random.default_rng(0).standard_normal((4000, 1))
    features = ScorePolynomials().fit(sq.Dataset(x, x[:, 0], -x), None)
    z = features.affine.points(x)
    phi = features(x, -z @ features.affine.inverse, 3)  # scores of a unit normal in z
    expected = np.column_stack([z, (z**2 - 1) / np.sqrt(2), (z**3 - 3 * z) / np.sqrt(6)])
    np.testing.assert_allclose(-phi, expected, atol=1e-9)


def test_correlated_normals_are_whitened_and_others_refused():
    covariance = np.array([[1.0, 0.6], [0.6, 1.0]])
    measure = as_measure(dist.MultivariateNormal(np.zeros(2), covariance))
    x = measure.sample(50_000, seed=0)
    data = sq.Dataset(x, x[:, 0])
    assert CdfLegendre().obstacle(data, measure) is None
    whitened = CdfLegendre().fit(data, measure)(x, None, 2)
    # 5 standard errors of unit-variance features: false alarm below 1e-5
    assert np.max(np.abs(whitened.mean(axis=0))) < 5 / np.sqrt(50_000)
    # negative control: the marginals alone, taken for independent, have E[U1 U2] /= 0
    marginals = CdfLegendre().fit(data, as_measure(dist.Normal(0, 1).expand([2]).to_event(1)))
    product = marginals(x, None, 2)[:, np.flatnonzero(np.all(index_set(2, 2) == 1, axis=1))[0]]
    assert product.mean() > 0.3
    unknown = sq.LogDensity(lambda x: -0.5 * (x**2).sum() - x[0] ** 2 * x[1] ** 2, dim=2)
    assert "independent" in (CdfLegendre().obstacle(data, unknown) or "")


@pytest.mark.parametrize("d", [1, 2, 5, 6, 20])
def test_index_sets_are_nested_and_complete(d):
    from math import comb

    small, large = index_set(d, 2), index_set(d, 3)
    np.testing.assert_array_equal(large[: len(small)], small)
    assert len({tuple(index) for index in large}) == len(large)
    if d <= 5:
        assert len(large) == comb(d + 3, 3) - 1
    else:  # all powers of one coordinate, products of two at order 3, none of three
        assert np.sum(np.count_nonzero(large, axis=1) == 1) == 3 * d
        assert np.sum(np.count_nonzero(large, axis=1) == 2) == comb(d, 2)
        assert np.max(np.count_nonzero(large, axis=1)) == 2


def test_heavy_tails_are_noticed():
    rng = np.random.default_rng(0)
    for nu in (2, 3, 4):
        x = rng.standard_t(nu, 3000)
        index = heavy_tail(x, -(nu + 1) * x / (nu + x**2))
        assert index is not None and 0.6 * nu < index < 1.3 * nu
    for x, score in (
        (rng.standard_normal(3000), lambda x: -x),
        (rng.laplace(size=3000), lambda x: -np.sign(x)),
        (rng.uniform(-1, 1, 3000), lambda x: 0 * x),
        (rng.logistic(size=3000), lambda x: -np.tanh(x / 2)),
    ):
        assert heavy_tail(x, score(x)) is None
