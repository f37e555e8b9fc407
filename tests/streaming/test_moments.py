"""Sums in parts are those of the whole, and standard errors those of the same rows in memory."""

import numpy as np
import pytest

from steinquad.checking.standard_error import robust_standard_error, tail_freedom
from steinquad.streaming.moments import Moments, blocks_of


def in_parts(values, blocks, cuts):
    labels = np.arange(len(values)) * blocks // len(values)
    found = Moments.nothing(blocks, values.shape[1])
    for part, own in zip(np.split(values, cuts), np.split(labels, cuts), strict=True):
        found = found.merged(Moments.of(part, own, blocks))
    return found


def skewed(n, d, seed=0, shift=0.0):
    return shift + np.random.default_rng(seed).gamma(0.5, size=(n, d))


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("cuts", [[], [1], [17, 18, 400], list(range(7, 997, 13))])
@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_parts_are_the_whole(d, cuts, shift):
    """A shift by a million costs its digits of the values, and no more."""
    values = skewed(997, d, shift=shift)
    total = in_parts(values, 31, cuts).total
    left = values - values.mean(axis=0)
    rtol = 1e-12 if shift == 0 else 1e-8
    np.testing.assert_allclose(total.mean[0], values.mean(axis=0), rtol=1e-14)
    for power, found in ((2, total.second), (3, total.third), (4, total.fourth)):
        np.testing.assert_allclose(found[0], np.sum(left**power, axis=0), rtol=rtol)


def test_the_textbook_sums_would_lose_all_digits():
    """The negative control: sums of squares less the square of the sum."""
    values = skewed(997, 1, shift=1e8)
    naive = np.sum(values**2) - np.sum(values) ** 2 / 997
    exact = np.sum((values - values.mean()) ** 2)
    assert abs(naive / exact - 1) > 1e-2
    found = in_parts(values, 31, [100, 500]).total.second[0, 0]
    assert found == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_standard_errors_are_those_in_memory(d):
    """961 rows are 31 batches of 31 in both."""
    rng = np.random.default_rng(d)
    walk = np.cumsum(rng.standard_normal((961, d)), axis=0)
    for values in (walk, skewed(961, d), np.round(skewed(961, d))):
        moments = in_parts(values, 31, [5, 600, 601])
        error, dof = moments.standard_error, moments.freedom(np.arange(d))
        expected, _ = robust_standard_error(values, np.ones(961))
        np.testing.assert_allclose(error, expected, rtol=1e-12)
        freedom = tail_freedom(values, np.ones(961)).min()
        assert dof == pytest.approx(max(min(30.0, freedom), 1.0))


def test_constants_have_no_error_and_depend_on_nothing():
    moments = in_parts(np.full((400, 1), 0.1), 20, [3, 77])
    assert moments.total.mean[0, 0] == 0.1 and moments.standard_error == 0.0
    assert moments.dependence == 1.0


def test_rows_that_depend_are_seen():
    """Of independent rows the ratio is 1 +- 0.07; copies of nine others are worth a tenth."""
    rng = np.random.default_rng(1)
    alone, copies = rng.standard_normal(10_000), np.repeat(rng.standard_normal(1000), 10)
    ratio = in_parts(np.stack([alone, copies], axis=1), 100, [1234]).dependence
    assert 0.75 < ratio[0] < 1.25 and 0.75 < ratio[1] / np.sqrt(10) < 1.25


def test_blocks_are_never_more_than_their_rows():
    for rows in (100, 399, 10_000, 10**9):
        assert 10 <= blocks_of(rows) <= min(100, rows / blocks_of(rows))
