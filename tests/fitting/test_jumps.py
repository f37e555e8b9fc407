"""Jumps are found, between the right points, and only jumps."""

import numpy as np
import pytest
from scipy.special import ndtr

from steinquad.fitting.jumps import boxes
from steinquad.support import Support


def search(f, n: int, d: int, seed: int = 0, **options):
    x = np.random.default_rng(seed).standard_normal((n, d))
    fx = np.asarray(f(x))
    fx = fx[:, None] if fx.ndim == 1 else fx
    return x, *boxes(x, ndtr(x), fx, Support.real(d), **options)


def corner(x):
    """Jumps on part of two faces only, and much on one side."""
    return np.where((x[:, 0] < 0.3) & (x[:, 1] < -0.1), np.exp(x[:, 0] + x[:, 1]), 0.2)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_a_step_is_between_the_points_beside_it(d):
    x, found, cuts = search(lambda x: np.sin(x.sum(axis=1)) + (x[:, -1] > 0.4), 2000, d)
    (cut,) = cuts
    assert cut.coordinate == d - 1 and len(found) == 2
    below, above = x[x[:, -1] < 0.4, -1].max(), x[x[:, -1] > 0.4, -1].min()
    # For certain in the slab; in more coordinates neighbours are far and tell less.
    widest = {1: 1 / 500, 2: 1 / 250, 5: 1 / 20}[d]
    assert np.ptp(ndtr([below, above])) <= cut.share * (1 + 1e-9) < widest
    assert abs(ndtr(cut.at) - ndtr(0.4)) <= cut.share / 2 * (1 + 1e-9)
    np.testing.assert_allclose(cut.jump, 1.0, atol=0.4)


def test_boxes_are_a_partition_and_have_their_probability():
    x, found, cuts = search(corner, 3000, 2)
    assert {cut.coordinate for cut in cuts} == {0, 1} and len(found) == 3
    assert np.array_equal(np.sort(np.concatenate([box.rows for box in found])), np.arange(3000))
    assert sum(box.share for box in found) == pytest.approx(1.0, abs=1e-14)
    for box in found:
        sides = [ndtr(box.support.high), ndtr(box.support.low)]
        # Half way between two points in x and in probability is almost the same.
        assert box.share == pytest.approx(np.prod(sides[0] - sides[1]), abs=1e-5)
        assert box.support.contains(x[box.rows]).all()
    # All of what is in the corner is in one box.
    inside = (x[:, 0] < 0.3) & (x[:, 1] < -0.1)
    assert {int(b) for b, box in enumerate(found) if inside[box.rows].any()} == {
        b for b, box in enumerate(found) if inside[box.rows].all()
    }


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.exp(2 * x.sum(axis=1) / np.sqrt(x.shape[1])),
        lambda x: np.cos(2 * x[:, 0]) * np.cos(x[:, -1]),
        lambda x: np.tanh(4 * x[:, 0]) + x[:, -1] ** 2,
        lambda x: np.random.default_rng(7).standard_cauchy(len(x)),
    ],
    ids=["steep", "waves", "bend", "noise"],
)
def test_nothing_is_found_where_nothing_jumps(f, d):
    # 10 seeds of a search that finds something in noise once in 1,000.
    for seed in range(10):
        _, found, cuts = search(f, 1500, d, seed)
        assert len(found) == 1 and not cuts and found[0].share == 1.0


def test_outputs_share_boxes_and_have_jumps_of_their_own():
    _, found, (cut,) = search(
        lambda x: np.stack([np.cos(x[:, 0]), 3.0 * (x[:, 0] > 0), np.ones(len(x))], axis=1), 800, 1
    )
    assert len(found) == 2
    np.testing.assert_allclose(cut.jump, [0.0, 3.0, 0.0], atol=0.02)


def test_a_slope_against_the_jump_does_not_move_it():
    # The slope is 8.5 a unit of probability, so 1/8 of all points outweigh the jump.
    for seed in range(20):
        _, _, cuts = search(
            lambda x: -3 * x[:, 0] + (x[:, 0] > 0.5) + 0.5 * np.sin(2 * x[:, 1]), 1000, 2, seed
        )
        for cut in cuts:
            assert cut.coordinate == 0 and cut.jump > 0.5
            assert abs(ndtr(cut.at) - ndtr(0.5)) <= cut.share / 2 * (1 + 1e-9)


def test_few_different_values_are_no_jumps():
    x = np.random.default_rng(0).standard_normal((1000, 1)).round(1)
    found, cuts = boxes(x, ndtr(x), np.exp(x), Support.real(1))
    assert len(found) == 1 and not cuts
    twice = np.repeat(np.random.default_rng(1).standard_normal((600, 1)), 2, axis=0)
    _, cuts = boxes(twice, ndtr(twice), (twice > 0.3) * 1.0, Support.real(1))
    assert len(cuts) == 1 and cuts[0].at not in twice


def test_boxes_are_neither_small_nor_many():
    _, found, _ = search(lambda x: (x[:, 0] > 2.2).astype(float), 1000, 1)  # 14 points
    assert len(found) == 1
    _, found, _ = search(lambda x: np.floor(2 * x[:, 0]), 4000, 1, most=3)
    assert len(found) == 3
