"""Greedy selection: what it finds, what it refuses, and held-out errors against plain algebra."""

import numpy as np
import pytest

from steinquad.fitting.pursuit import held_out_squares, pursue

ONES = np.ones(60)
HELD = np.arange(0, 60, 5)


def design(n=60, size=200, seed=0):
    return np.random.default_rng(seed).standard_normal((n, size))


@pytest.mark.parametrize("size", [20, 200])
@pytest.mark.parametrize("held", [None, HELD])
def test_a_sparse_model_is_found_among_more_candidates_than_points(size, held):
    phi = design(size=size)
    y = 3.0 + 2.0 * phi[:, 7] - phi[:, 3] + 0.5 * phi[:, 11]
    path = pursue(phi, y, ONES, 40, held)
    assert sorted(path.columns[:3]) == [3, 7, 11]
    assert path.squares[3] <= 1e-24 * max(path.squares[0], 1e-300)


def test_noise_alone_selects_next_to_nothing():
    """Held-out points keep few features of noise, where leave-one-out errors keep dozens."""
    sizes = []
    for seed in range(20):
        y = np.random.default_rng(100 + seed).standard_normal(60)
        phi = design(size=200, seed=seed)
        folds = np.array_split(np.random.default_rng(seed).permutation(60), 5)
        squares = held_out_squares([pursue(phi, y, ONES, 40, fold) for fold in folds])
        sizes.append(int(np.argmin(squares)))
    assert np.median(sizes) <= 1


def test_the_first_feature_takes_most_off_the_squares():
    phi, rng = design(size=10, seed=2), np.random.default_rng(5)
    y, weights = rng.standard_normal(60) + phi[:, 4], rng.uniform(0.2, 2.0, 60)
    columns = pursue(phi, y, weights, 1).columns
    left = []
    for column in phi.T:
        a = np.column_stack([np.ones(60), column]) * np.sqrt(weights)[:, None]
        b = y * np.sqrt(weights)
        left.append(np.sum((b - a @ np.linalg.lstsq(a, b)[0]) ** 2))
    assert columns.tolist() == [int(np.argmin(left))]


def test_squares_are_those_of_refits_to_the_other_points():
    phi, rng = design(size=8, seed=3), np.random.default_rng(7)
    y, weights = np.sin(phi[:, 0]) + phi[:, 1], rng.uniform(0.2, 2.0, 60)
    path = pursue(phi, y, weights, 8, HELD)
    seen = np.setdiff1d(np.arange(60), HELD)
    root = np.sqrt(weights[seen])
    for m, squares in enumerate(path.squares):
        a = np.column_stack([np.ones(60), phi[:, path.columns[:m]]])
        slopes = np.linalg.lstsq(a[seen] * root[:, None], y[seen] * root)[0]
        expected = weights[HELD] @ (y[HELD] - a[HELD] @ slopes) ** 2
        np.testing.assert_allclose(squares, expected, rtol=1e-10)


def test_copies_of_a_feature_are_taken_once():
    phi = design(size=5)
    doubled = np.concatenate([phi, 2.0 * phi, phi @ np.ones((5, 1))], axis=1)
    path = pursue(doubled, phi @ np.arange(1.0, 6.0), ONES, 20)
    assert len(path.columns) == 5


def test_no_feature_is_no_model():
    path = pursue(np.zeros((10, 0)), np.arange(10.0), np.ones(10), 5, np.array([0, 1]))
    assert len(path.columns) == 0
    assert path.squares.shape == (1,)


def test_paths_that_ended_early_stay_as_they_were():
    phi = design(size=6)
    y = phi[:, 0] + 0.1 * phi[:, 1] + 0.01 * phi[:, 2]
    short, long = pursue(phi, y, ONES, 1, HELD), pursue(phi, y, ONES, 2, HELD)
    expected = np.append(short.squares, short.squares[-1]) + long.squares
    np.testing.assert_allclose(held_out_squares([short, long]), expected)
