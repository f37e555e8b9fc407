"""Stein images of quadratics: mean zero by quadrature, and all quadratics under a normal."""

import numpy as np
import pytest
from helpers import assert_close
from made_up_chains import normal, skewed

import steinquad as sq
from steinquad.stein.score_polynomials import ScorePolynomials
from steinquad.stein.score_quadratics import ScoreQuadratics


def dataset(known):
    d = known.draws.shape[2]
    x = known.draws.reshape(-1, d)
    return sq.Dataset(x, x[:, 0], known.score.reshape(-1, d))


@pytest.mark.parametrize("d", (1, 2, 5))
def test_sizes_are_nested(d):
    features = ScoreQuadratics().fit(dataset(skewed(0, d)), None)
    data = dataset(skewed(1, d))
    columns = [features(data.x, data.score, order) for order in (1, 2, 3)]
    sizes = [d, 2 * d, d * (d + 3) // 2]
    assert [features.size(order) for order in (1, 2, 3)] == sizes
    assert [c.shape[1] for c in columns] == sizes
    assert_close(columns[2][:, : 2 * d], columns[1])
    assert_close(columns[1][:, :d], columns[0])


@pytest.mark.parametrize("d", (1, 2))
def test_mean_zero_by_quadrature(d):
    """Under a density that is not normal, exp(-x^4 / 4 - sum of x_i x_j / 4)."""
    nodes, weights = np.polynomial.legendre.leggauss(120)
    grid = np.stack(np.meshgrid(*[5 * nodes] * d, indexing="ij"), axis=-1).reshape(-1, d)
    mass = np.prod(np.stack(np.meshgrid(*[weights] * d, indexing="ij"), axis=-1), axis=-1).ravel()
    mass *= np.exp(-np.sum(grid**4, axis=1) / 4 - np.sum(grid, axis=1) ** 2 / 4)
    score = -(grid**3) - np.sum(grid, axis=1, keepdims=True) / 2
    features = ScoreQuadratics().fit(dataset(skewed(2, d)), None)  # any fit will do
    phi = features(grid, score, 3)
    assert np.abs(mass @ phi / mass.sum()).max() < 1e-10 * np.abs(phi).max()


@pytest.mark.parametrize("d", (1, 2, 5))
def test_of_normal_draws_they_span_what_whitened_polynomials_span(d):
    data = dataset(normal(3, d))
    own = ScoreQuadratics().fit(data, None)(data.x, data.score, 3)
    other = ScorePolynomials().fit(data, None)(data.x, data.score, 2)
    left = other - own @ np.linalg.lstsq(own, other, rcond=None)[0]
    assert np.abs(left).max() < 1e-8 * np.abs(other).max()


@pytest.mark.parametrize("d", (1, 2, 5))
def test_squares_of_normal_coordinates(d):
    known = normal(4, d)
    data = dataset(known)
    phi = ScoreQuadratics().fit(data, None)(data.x, data.score, 2)
    y = (data.x - data.x.mean(axis=0)) / data.x.std(axis=0)
    # C_ii - y_i^2 and multiples of y: exactly the squares.
    design = np.concatenate([np.ones((len(y), 1)), phi], axis=1)
    left = y**2 - design @ np.linalg.lstsq(design, y**2, rcond=None)[0]
    assert np.abs(left).max() < 1e-9


def test_bounds_and_missing_scores_are_refused():
    x = np.linspace(0.1, 1.0, 9)
    assert "score is missing" in str(ScoreQuadratics().obstacle(sq.Dataset(x, x), None))
    bounded = sq.Dataset(x, x, -x, support={0: (0, None)})
    assert "bounds" in str(ScoreQuadratics().obstacle(bounded, None))
