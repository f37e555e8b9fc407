"""Executors: what breaks is made again, and costs only the points that broke it."""

import time
from concurrent.futures import (
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
)

import pytest
from small_study import PROCESSES, bad_points, same, study

import steinquad as sq
from steinquad.studies.executors import Here


class Fragile(Executor):
    """Breaks, as a process pool does, at the fifth call, and takes no more."""

    def __init__(self):
        self.calls = 0

    def submit(self, fn, /, *args, **kwargs):
        self.calls += 1
        if self.calls > 5:
            raise BrokenExecutor("a worker died")
        future = Future()
        if self.calls == 5:
            future.set_exception(BrokenExecutor("a worker died"))
        else:
            future.set_result(fn(*args, **kwargs))
        return future


def test_an_executor_that_breaks_is_made_again(tmp_path, plain):
    with pytest.raises(sq.InputError, match="executor broke .*what was finished is stored"):
        study(tmp_path, retries=40).run(executor=Fragile())
    assert 0 < study(tmp_path).status().done < 40
    assert same(study(tmp_path, retries=40).run(executor=Fragile), plain)


@pytest.mark.parametrize(("seconds", "most"), [(0.0, 64), (0.04, 2), (0.2, 1)])
def test_quick_calls_are_sent_together_and_slow_ones_alone(tmp_path, seconds, most):
    def call(a, b):
        time.sleep(seconds)
        return a

    sizes = []

    class Counting(ThreadPoolExecutor):
        def submit(self, fn, /, call, tasks, function):
            sizes.append(len(tasks))
            return super().submit(fn, call, tasks, function)

    with Counting(2) as executor:
        study(tmp_path, call, runs=300 if seconds == 0 else 12).run(executor=executor)
    assert sizes[0] == 1 and 1 <= max(sizes) <= most and (max(sizes) > 1) == (most > 1)


def processes():
    """A process pool with both of its workers started.

    One that breaks while it starts a worker waits for that for ever at its shutdown, up to Python
    3.12.
    """
    pool = ProcessPoolExecutor(2, mp_context=PROCESSES)
    for started in [pool.submit(time.sleep, 0.2) for _ in range(2)]:
        started.result()
    return pool


@pytest.mark.slow
def test_a_process_pool_that_breaks_is_made_again(tmp_path):
    found = study(tmp_path, "exits_hard", retries=6, on_failure="ignore", runs=8)
    answer = found.run(executor=processes)
    assert answer.stats["failed"] >= bad_points(found, 8) > 0


def test_a_broken_pool_costs_only_those_that_broke_it(tmp_path):
    found = study(tmp_path, "crashes", runs=200, retries=0, on_failure="ignore")
    found.run(executor=processes)
    for row in found.evaluations.rows():
        assert (row.status == "failed") == (row.input[0] > 1.8)
    assert 2 <= found.status().failed <= 20


class LosesFutures(Executor):
    """Loses every future that has the point 13 in it, as a cluster does with a deadly task."""

    def __init__(self):
        self.pool = ThreadPoolExecutor(1)

    def submit(self, fn, /, *args, **kwargs):
        _, tasks, _ = args
        if any(13 in numbers for numbers, _ in tasks):
            future = Future()
            future.set_exception(OSError("the worker was lost"))
            return future
        return self.pool.submit(fn, *args, **kwargs)


def test_a_lost_future_costs_only_the_point_that_lost_it(tmp_path):
    found = study(tmp_path, runs=400, on_failure="ignore")
    found.run(executor=LosesFutures())
    failed = {row.number: row for row in found.evaluations.rows() if row.status == "failed"}
    assert list(failed) == [13] and "the worker was lost" in failed[13].error
    assert failed[13].attempt == 2


def test_an_executor_that_was_shut_down(tmp_path):
    executor = ThreadPoolExecutor(1)
    executor.shutdown()
    with pytest.raises(sq.InputError, match="executor broke"):
        study(tmp_path).run(executor=executor)


def test_no_executor_is_given_more_than_it_asks_for(tmp_path, monkeypatch):
    waiting = []
    submit = Here.submit
    monkeypatch.setattr(
        Here, "submit", lambda self, task: waiting.append(self.room()) or submit(self, task)
    )
    study(tmp_path).run()
    assert set(waiting) == {1}
