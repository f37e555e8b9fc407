"""Small problems have one thread of linear algebra, and what was set before comes back."""

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import steinquad as sq
from steinquad._threads import MANY, few_threads


def threads() -> set[int]:
    return {lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"}


@pytest.mark.parametrize(("n", "inside"), [(MANY, {1}), (MANY + 1, {2})])
def test_one_thread_for_few_points(n, inside):
    with threadpool_limits(2, user_api="blas"):
        if threads() != {2}:
            inside = threads()  # built for one thread
        with few_threads(n):
            assert threads() == inside
        before = threads()
        with pytest.raises(ZeroDivisionError), few_threads(10):
            raise ZeroDivisionError
        assert threads() == before


def test_an_estimate_leaves_them_as_they_were():
    x = np.random.default_rng(0).standard_normal((100, 1))
    before = threads()
    sq.estimate(sq.Dataset(x, np.cos(x[:, 0]), score=-x), method=sq.Polynomial())
    assert threads() == before


def test_overlapping_threads_give_them_back():
    with threadpool_limits(2, user_api="blas"):
        before = threads()
        first, second = few_threads(10), few_threads(10)
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert threads() == {1}
        second.__exit__(None, None, None)
        assert threads() == before
