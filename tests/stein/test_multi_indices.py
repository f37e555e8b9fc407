"""Index sets are complete, nested and refused early; products are those of their polynomials."""

import math

import numpy as np
import pytest

from steinquad.stein.multi_indices import hyperbolic, index_set, products


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_sets_of_total_degree_are_complete(dim):
    indices = hyperbolic((1.0,) * dim, 4, 1.0, 10_000)
    assert len(indices) == math.comb(dim + 4, 4) - 1
    assert len(np.unique(indices, axis=0)) == len(indices)
    assert set(indices.sum(axis=1)) <= {1, 2, 3, 4}


def test_small_norms_keep_powers_and_drop_products():
    equal = (1.0, 1.0, 1.0)
    indices = hyperbolic(equal, 6, 0.5, 1000)
    assert [6, 0, 0] in indices.tolist()
    assert (np.sqrt(indices).sum(axis=1) <= np.sqrt(6) + 1e-9).all()
    sizes = [len(hyperbolic(equal, 6, norm, 1000)) for norm in (0.5, 0.75, 1.0)]
    assert sizes == sorted(set(sizes))


def test_coordinates_of_larger_weight_have_lower_degrees():
    indices = hyperbolic((1.0, 2.5), 10, 1.0, 1000)
    assert indices.max(axis=0).tolist() == [10, 4]
    assert (indices @ [1.0, 2.5] <= 10).all()
    assert len(indices) == sum(10 - math.ceil(2.5 * k) + 1 for k in range(5)) - 1


def test_too_many_are_refused_early():
    assert hyperbolic((1.0,) * 200, 20, 1.0, 3000) is None
    assert hyperbolic((1.0, 1.0), 2, 1.0, 5) is not None
    assert hyperbolic((1.0, 1.0), 2, 1.0, 4) is None


def test_products_are_those_of_the_columns():
    a, b = np.random.default_rng(0).normal(size=(2, 5, 3))
    values = products([a, b], np.array([[0, 0], [2, 0], [1, 2]]))
    expected = np.stack([np.ones(5), a[:, 2], a[:, 1] * b[:, 2]], axis=1)
    np.testing.assert_array_equal(values, expected)


@pytest.mark.parametrize("d", [1, 2, 5, 6, 20])
def test_index_sets_are_nested_and_complete(d):
    small, large = index_set(d, 2), index_set(d, 3)
    np.testing.assert_array_equal(large[: len(small)], small)
    assert len({tuple(index) for index in large}) == len(large)
    if d <= 5:
        assert len(large) == math.comb(d + 3, 3) - 1
    else:  # all powers of one coordinate, products of two at order 3, none of three
        assert np.sum(np.count_nonzero(large, axis=1) == 1) == 3 * d
        assert np.sum(np.count_nonzero(large, axis=1) == 2) == math.comb(d, 2)
        assert np.max(np.count_nonzero(large, axis=1)) == 2
