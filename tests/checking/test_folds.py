"""Folds are a partition, of about equal size, and leave groups whole where they can."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import steinquad as sq
from steinquad.checking.folds import evenly_spaced, folds_of, others


def dataset(sizes, grouped):
    groups = np.repeat(np.arange(len(sizes)), sizes) if grouped else None
    x = np.arange(float(sum(sizes)))
    return sq.Dataset(x, x, groups=groups)


GROUPS = st.lists(st.integers(1, 12), min_size=1, max_size=20).filter(lambda sizes: sum(sizes) > 3)


@settings(derandomize=True, max_examples=60, deadline=None, database=None)
@given(sizes=GROUPS, grouped=st.booleans(), seed=st.integers(0, 99), choose=st.data())
def test_every_row_is_in_one_fold_and_no_fold_is_small(sizes, grouped, seed, choose):
    data = dataset(sizes, grouped)
    folds = choose.draw(st.integers(2, data.n // 2))
    split = folds_of(data, folds, seed)
    assert len(split) == folds
    np.testing.assert_array_equal(np.sort(np.concatenate(split)), np.arange(data.n))
    assert all(np.all(np.diff(rows) > 0) for rows in split)
    lengths = [len(rows) for rows in split]
    in_order = all(np.all(np.diff(rows) == 1) for rows in split)
    if not grouped:
        assert max(lengths) - min(lengths) <= 1
    elif in_order and max(lengths) - min(lengths) <= 1:
        pass  # cut without regard to groups
    else:
        labels = [set(data.groups[rows]) for rows in split]
        assert sum(map(len, labels)) == len(sizes) and min(lengths) >= data.n / (2 * folds)
    for rows in split:
        np.testing.assert_array_equal(np.union1d(rows, others(data.n, rows)), np.arange(data.n))
        assert len(others(data.n, rows)) == data.n - len(rows)


@settings(derandomize=True, max_examples=30, deadline=None, database=None)
@given(count=st.integers(2, 20), size=st.integers(2, 8), choose=st.data())
def test_equal_groups_are_whole_where_there_are_as_many_as_folds(count, size, choose):
    data = dataset([size] * count, grouped=True)
    folds = choose.draw(st.integers(2, count))
    for rows in folds_of(data, folds, seed=0):
        labels, own = np.unique(data.groups[rows], return_counts=True)
        assert len(labels) >= 1 and np.all(own == size)


def test_draws_are_shuffled_by_the_seed_and_chains_are_not():
    free, chain = dataset([30], grouped=False), dataset([30], grouped=True)
    first, again, other = (np.concatenate(folds_of(free, 3, seed)) for seed in (0, 0, 1))
    assert np.array_equal(first, again) and not np.array_equal(first, other)
    np.testing.assert_array_equal(np.concatenate(folds_of(chain, 3, 0)), np.arange(30))


@pytest.mark.parametrize("folds", [-1, 0, 1, 6])
def test_too_few_or_too_many_folds_are_refused(folds):
    with pytest.raises(sq.InputError, match=f"folds is {folds} for 10 points; give 2 to 5"):
        folds_of(dataset([10], grouped=False), folds, 0)


@settings(derandomize=True, max_examples=30, deadline=None, database=None)
@given(n=st.integers(1, 50), most=st.integers(2, 60))
def test_evenly_spaced_rows_are_some_of_them_from_end_to_end(n, most):
    rows = 3 * np.arange(n)
    some = evenly_spaced(rows, most)
    assert len(some) == min(n, most) and np.isin(some, rows).all() and np.all(np.diff(some) > 0)
    assert some[0] == rows[0] and some[-1] == rows[-1]


def test_parts_are_disjoint_random_or_in_blocks():
    x = np.arange(20.0)
    free = folds_of(sq.Dataset(x, x), 4, seed=0)
    assert sorted(np.concatenate(free)) == list(range(20)) and np.any(np.diff(free[0]) > 1)
    chain = folds_of(sq.Dataset(x, x, groups=np.zeros(20)), 4, seed=0)
    assert all(np.all(np.diff(part) == 1) for part in chain)
    replicates = folds_of(sq.Dataset(x, x, groups=np.repeat(np.arange(5), 4)), 2, seed=0)
    assert [len(part) for part in replicates] == [12, 8]


def test_bad_folds():
    x = np.random.default_rng(0).standard_normal(20)
    data = sq.Dataset(x, x**2, -x)
    for folds, message in ((1, "folds is 1"), (-2, "folds is -2"), (15, "folds is 15")):
        with pytest.raises(sq.InputError, match=message):
            sq.estimate(data, method=sq.Polynomial(order=1), folds=folds)
    grid = sq.Dataset(x, x**2, -x, sampled=False)
    with pytest.raises(sq.InputError, match="not a sample"):
        sq.estimate(grid, method=sq.Polynomial(order=1), folds=2)
