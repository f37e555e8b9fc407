"""Polynomial features integrate to zero, are what they say they are, and know their limits."""

import numpy as np
import pytest

from steinquad.stein.features import index_set


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
