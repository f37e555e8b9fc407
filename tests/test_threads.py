"""Small problems have one thread of linear algebra, and what was set before comes back."""

import os

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import steinquad as sq
from steinquad._threads import MANY, few_threads, free_cores


def threads() -> set[int]:
    return {lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"}


@pytest.fixture
def machine(monkeypatch):
    """One of so many cores with such a load."""

    def pretend(cores, load):
        monkeypatch.setattr(os, "sched_getaffinity", lambda pid: range(cores), raising=False)
        monkeypatch.setattr(os, "getloadavg", lambda: (load, 0.0, 99.0), raising=False)

    return pretend


@pytest.mark.parametrize(
    ("cores", "load", "free"),
    [(2, 0.0, 2), (2, 1.2, 2), (2, 2.0, 1), (2, 50.0, 1), (8, 1.0, 8), (8, 4.1, 5), (1, 0.0, 1)],
)
def test_free_cores_are_those_beyond_the_load(machine, cores, load, free):
    """One of the load is this process itself."""
    machine(cores, load)
    assert free_cores() == free


def test_without_a_load_all_cores_are_free(machine, monkeypatch):
    machine(3, 99.0)

    def unknown():
        raise OSError

    monkeypatch.setattr(os, "getloadavg", unknown)
    assert free_cores() == 3
    monkeypatch.delattr(os, "getloadavg")
    assert free_cores() == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    assert free_cores() == os.cpu_count()


@pytest.mark.parametrize(("load", "before", "inside"), [(9.0, 2, 1), (0.0, 2, 2), (0.0, 1, 1)])
def test_many_points_have_the_free_cores(machine, load, before, inside):
    """And no more threads than there were."""
    machine(2, load)
    with threadpool_limits(before, user_api="blas"):
        if threads() != {before}:
            return  # built for one thread
        with few_threads(MANY + 1):
            assert threads() == {inside}
        assert threads() == {before}


@pytest.mark.parametrize(("n", "inside"), [(MANY, {1}), (MANY + 1, {2})])
def test_one_thread_for_few_points(machine, n, inside):
    machine(2, 0.0)
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
