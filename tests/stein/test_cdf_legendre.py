"""Polynomials of the distribution functions: orthonormal, whitened where need be."""

from functools import cache

import numpy as np
import numpyro.distributions as dist
import pytest
import scipy.stats
from numpy.polynomial.legendre import leggauss

import steinquad as sq
from steinquad.measures import as_measure
from steinquad.stein.cdf_legendre import CdfLegendre
from steinquad.stein.multi_indices import index_set

LOW, HIGH = -0.5, 1.5


def tensor(nodes, weights, d):
    grids = np.meshgrid(*[nodes] * d, indexing="ij")
    products = np.meshgrid(*[weights] * d, indexing="ij")
    x = np.stack([grid.ravel() for grid in grids], axis=1)
    return x, np.prod([product.ravel() for product in products], axis=0)


@cache
def measure_of(kind, d):
    if kind == "normal":
        return as_measure(dist.Normal(0, 1).expand([d]).to_event(1))
    return as_measure(dist.TruncatedNormal(0.0, 1.0, low=LOW, high=HIGH).expand([d]).to_event(1))


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
