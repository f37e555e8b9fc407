"""Greedy selection: what it finds, what it refuses, and its criterion against plain algebra."""

import numpy as np
import pytest

from steinquad.fitting.pursuit import pursue


def design(n=60, size=200, seed=0):
    return np.random.default_rng(seed).standard_normal((n, size))


@pytest.mark.parametrize("size", [20, 200])
def test_a_sparse_model_is_found_among_more_candidates_than_points(size):
    phi = design(size=size)
    y = 3.0 + 2.0 * phi[:, 7] - phi[:, 3] + 0.5 * phi[:, 11]
    columns, error = pursue(phi, y, np.ones(60), 40)
    assert sorted(columns) == [3, 7, 11]
    assert error < 1e-24


def test_noise_alone_selects_next_to_nothing():
    """The corrected error of a model of noise is seldom below that of the constant."""
    sizes, errors = [], []
    for seed in range(20):
        y = np.random.default_rng(100 + seed).standard_normal(60)
        columns, error = pursue(design(size=30, seed=seed), y, np.ones(60), 40)
        sizes.append(len(columns))
        errors.append(error)
    assert np.median(sizes) <= 3
    assert min(errors) > 0.4


def test_the_first_feature_takes_most_off_the_squares():
    phi, rng = design(size=10, seed=2), np.random.default_rng(5)
    y, weights = rng.standard_normal(60) + phi[:, 4], rng.uniform(0.2, 2.0, 60)
    columns, _ = pursue(phi, y, weights, 1)
    left = []
    for column in phi.T:
        a = np.column_stack([np.ones(60), column]) * np.sqrt(weights)[:, None]
        b = y * np.sqrt(weights)
        left.append(np.sum((b - a @ np.linalg.lstsq(a, b)[0]) ** 2))
    assert columns.tolist() == [int(np.argmin(left))]


def test_error_is_the_corrected_leave_one_out():
    phi = design(n=40, size=1, seed=3)
    y = np.sin(phi[:, 0]) + phi[:, 0]
    _, error = pursue(phi, y, np.ones(40), 1)
    a = np.column_stack([np.ones(40), phi[:, 0] - phi[:, 0].mean()])
    left = [
        y[i] - a[i] @ np.linalg.lstsq(np.delete(a, i, 0), np.delete(y, i))[0] for i in range(40)
    ]
    factor = 40 / 38 * (1 + np.trace(np.linalg.inv(a.T @ a / 40)) / 40)
    np.testing.assert_allclose(error, factor * np.mean(np.square(left)) / y.var(), rtol=1e-10)


def test_copies_of_a_feature_are_taken_once():
    phi = design(size=5)
    doubled = np.concatenate([phi, 2.0 * phi, phi @ np.ones((5, 1))], axis=1)
    y = phi @ np.arange(1.0, 6.0)
    columns, error = pursue(doubled, y, np.ones(60), 20)
    assert len(columns) == 5
    assert error < 1e-24


def test_no_feature_is_no_model():
    columns, error = pursue(np.zeros((10, 0)), np.arange(10.0), np.ones(10), 5)
    assert len(columns) == 0
    assert error > 1.0
