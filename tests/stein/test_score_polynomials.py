"""Stein images of polynomials: mean zero, Hermite under a normal, and a warning of heavy tails."""

from functools import cache

import numpy as np
import numpyro.distributions as dist
import pytest
import scipy.stats
from numpy.polynomial.hermite_e import hermegauss
from numpy.polynomial.legendre import leggauss

import steinquad as sq
from steinquad.measures import as_measure
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


def test_hermite_features_of_a_normal_are_hermite_polynomials():
    x = np.random.default_rng(0).standard_normal((4000, 1))
    features = ScorePolynomials().fit(sq.Dataset(x, x[:, 0], -x), None)
    z = features.affine.points(x)
    phi = features(x, -z @ features.affine.inverse, 3)  # scores of a unit normal in z
    expected = np.column_stack([z, (z**2 - 1) / np.sqrt(2), (z**3 - 3 * z) / np.sqrt(6)])
    np.testing.assert_allclose(-phi, expected, atol=1e-9)


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


def test_coordinates_that_do_not_vary_are_an_obstacle():
    x = np.zeros((6, 1))
    data = sq.Dataset(x, np.arange(6.0), -x)
    assert "does not vary in coordinate x0" in ScorePolynomials().obstacle(data, None)
