"""Regressions outside of a block, against the same by dense algebra."""

import numpy as np
import pytest
from made_up_chains import normal, skewed

import steinquad as sq
from steinquad.chains.regression import RIDGES, candidates


def fitted(d, weights=None):
    """The last candidate, its fit outside of a block, and dense features in the fit's units."""
    known = skewed(0, d, draws=100)
    x, score = (a.reshape(-1, d) for a in (known.draws, known.score))
    groups = np.repeat(np.arange(4), 100)
    fx = np.stack([x[:, 0], x[:, -1] ** 3], axis=1)
    data = sq.Dataset(x, fx, score, weights=weights, groups=groups)
    block = np.arange(40, 120)
    candidate = list(candidates(data, 320))[-1]
    outside = np.setdiff1d(np.arange(400), block)
    features = candidate.features.fit(data.take(outside), None)
    fit = candidate.fit_outside(data, data.fx, block)
    return candidate, fit, data, block, outside, features


@pytest.mark.parametrize("weighted", (False, True))
@pytest.mark.parametrize("d", (1, 2, 5))
def test_predictions_are_those_of_ridge_regression(d, weighted):
    weights = np.random.default_rng(1).uniform(0.5, 1.5, size=400) if weighted else None
    candidate, fit, data, block, outside, features = fitted(d, weights)
    for order in candidate.orders:
        size = fit.sizes[order]
        free = fit.sizes[min(2, order)]
        phi = features(data.x, data.score, max(candidate.orders))[:, :size]
        w = data.effective_weights[outside]
        own, y = phi[outside], data.fx[outside]
        own, y = own - w @ own / w.sum(), y - w @ y / w.sum()
        scale = np.sqrt(w @ own**2 / w.sum())
        for ridge in candidate.ridges(order):
            penalty = w.sum() * np.where(np.arange(size) < free, RIDGES[0], ridge)
            rows = np.concatenate([np.sqrt(w)[:, None] * own / scale, np.diag(np.sqrt(penalty))])
            target = np.concatenate([np.sqrt(w)[:, None] * y, np.zeros((size, 2))])
            solution = np.linalg.lstsq(rows, target, rcond=None)[0]
            expected = phi[block] / scale @ solution
            error = np.abs(fit.prediction(order, ridge) - expected).max()
            assert error < 1e-8 * np.abs(expected).max(), (order, ridge)


@pytest.mark.parametrize("d", (1, 2, 5))
def test_features_imitate_a_constant_by_their_means_over_their_covariance(d):
    candidate, fit, data, _, outside, features = fitted(d)
    order = min(candidate.orders)
    phi = features(data.x, data.score, order)
    mean, covariance = phi.mean(axis=0), np.atleast_2d(np.cov(phi[outside].T, bias=True))
    dense = mean @ np.linalg.solve(covariance, mean)
    assert fit.imitation(order) == pytest.approx(dense, rel=1e-8)


@pytest.mark.parametrize("d", (1, 2, 5))
def test_a_fit_does_not_see_its_block(d):
    candidate, fit, data, block, *_ = fitted(d)
    other = data.fx.copy()
    other[block] = 1e6
    order = max(candidate.orders)
    again = candidate.fit_outside(data, other, block).prediction(order, RIDGES[0])
    np.testing.assert_array_equal(again, fit.prediction(order, RIDGES[0]))


@pytest.mark.parametrize(
    ("d", "draws", "names"),
    [
        (2, 250, ["order 1", "order 2, squares", "order 2"]),
        (30, 200, ["order 1", "order 2, squares", "order 2, 100 products"]),
        (30, 60, ["order 1"]),
    ],
)
def test_how_many_features_the_draws_allow(d, draws, names):
    """A quarter of the held-in draws, 80 % of four chains; products are at most four times d."""
    known = normal(0, d, draws=draws)
    x, score = (a.reshape(-1, d) for a in (known.draws, known.score))
    data = sq.Dataset(x, x[:, 0], score, groups=np.repeat(np.arange(4), draws))
    first = next(candidates(data, int(0.8 * data.n)))
    assert list(first.orders.values()) == names
