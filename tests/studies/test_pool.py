"""The pool of workers: hostile integrands cost their own points and nothing else."""

import os
import signal
import sys
import time
from dataclasses import replace

import jax
import pytest
from small_study import HERE, alive, study

import steinquad as sq
from steinquad.errors import InputError
from steinquad.studies import worker
from steinquad.studies.calls.call import Call
from steinquad.studies.executors import Task
from steinquad.studies.pool import Pool

CALL = Call(("a", "b"), ("f",), directory=str(HERE))
GOOD, BAD = (0.5, 0.25), (1.5, 0.25)
POINTS = [GOOD, BAD, GOOD, GOOD, BAD, GOOD]


def outcomes(name, points=POINTS, workers=2, **changes):
    """Of every point by number, and the pids of all workers that there were."""
    pool = Pool(replace(CALL, function=f"integrands.py:{name}", **changes), workers)
    found, pids, waiting = {}, set(), list(enumerate(points))
    deadline = time.monotonic() + 120
    try:
        while len(found) < len(points):
            assert time.monotonic() < deadline
            while pool.room() and waiting:
                number, point = waiting.pop(0)
                pool.submit(Task((number,), (point,)))
            assert len(pool.busy) <= workers
            pids |= {each.process.pid for each in [*pool.busy, *pool.idle]}
            for task, (outcome,) in pool.finished(1.0):
                assert task.numbers[0] not in found
                found[task.numbers[0]] = outcome
    finally:
        pool.close()
    assert not any(alive(pid) for pid in pids)
    return [found[number] for number in range(len(points))], pids


@pytest.mark.parametrize(
    ("name", "failure", "words", "lost"),
    [
        ("smooth", "", "", 0),
        ("prints", "", "", 0),
        ("forks", "", "", 0),
        ("raises", "exception", "diverged", 0),
        ("exits", "exception", "SystemExit", 0),
        ("exits_hard", "exception", "exit code 3", 2),
        ("kills_itself", "killed", "signal 9", 2),
        ("closes_files", "exception", "the worker ended during the call", 2),
        ("hangs", "time-out", "no answer within 1 s", 2),
        ("exhausts", "memory", "memory is limited to 256 MiB", 2),
    ],
)
def test_a_hostile_integrand_costs_its_own_points(name, failure, words, lost):
    limit = 1.0 if name == "hangs" else None
    found, pids = outcomes(name, time_limit=limit, memory=2**28)
    for point, outcome in zip(POINTS, found, strict=True):
        if point == BAD and failure:
            assert outcome.outputs is None and outcome.failure == failure
            assert words in outcome.error
        else:
            assert outcome.outputs == (point[0] ** 2 + point[1],)
    assert len(pids) <= 2 + lost


def test_workers_are_started_as_they_are_needed():
    _, pids = outcomes("smooth", points=[GOOD], workers=8)
    assert len(pids) == 1


def test_a_worker_killed_from_outside_costs_its_point_and_is_replaced():
    pool = Pool(replace(CALL, function="integrands.py:hangs"), 1)
    try:
        pool.submit(Task((0,), (GOOD,)))
        while not (done := pool.finished(1.0)):
            pass
        pool.submit(Task((1,), (BAD,)))
        (victim,) = pool.busy
        os.kill(victim.process.pid, signal.SIGKILL)
        while not (done := pool.finished(1.0)):
            pass
        assert done[0][1][0].failure == "killed" and "signal 9" in done[0][1][0].error
        pool.submit(Task((2,), (GOOD,)))
        while not (done := pool.finished(1.0)):
            pass
        assert done[0][1][0].outputs == (0.5,)
    finally:
        pool.close()


def test_an_idle_worker_goes_with_its_supervisor():
    pool = Pool(replace(CALL, function="integrands.py:own_pid"), 1)
    try:
        for number in range(2):
            pool.submit(Task((number,), (GOOD,)))
            while not (done := pool.finished(1.0)):
                pass
            if number == 0:
                ((_, (first,)),) = done
                (idle,) = pool.idle
                os.kill(idle.process.pid, signal.SIGKILL)
                idle.process.wait()
        ((_, (second,)),) = done
        assert first.outputs != second.outputs and not alive(int(first.outputs[0]))
    finally:
        pool.close()


def assert_refused(call, words):
    """The first evaluation stops the pool with this sentence."""
    pool = Pool(call, 1)
    try:
        pool.submit(Task((0,), (GOOD,)))
        with pytest.raises(InputError, match=words):
            while True:
                pool.finished(1.0)
    finally:
        pool.close()


@pytest.mark.parametrize(
    ("function", "words"),
    [
        ("integrands.py:missing", "AttributeError"),
        ("nowhere.py:f", "FileNotFoundError"),
        ("no_such_module_at_all:f", "ModuleNotFoundError"),
        ("integrands.py:not_a_function", "not a function"),
    ],
)
def test_what_cannot_be_loaded_stops_at_once(function, words):
    assert_refused(replace(CALL, function=function), words)


def test_a_module_that_ends_the_process(tmp_path):
    (tmp_path / "deadly.py").write_text("import os\nos._exit(5)\n")
    call = replace(CALL, function="deadly.py:f", directory=str(tmp_path))
    assert_refused(call, "while it loaded the integrand, with exit code 5")


def test_a_module_that_needs_more_than_the_limit(tmp_path):
    (tmp_path / "large.py").write_text("x = bytearray(2**28)\n")
    call = replace(CALL, function="large.py:f", directory=str(tmp_path), memory=2**27)
    assert_refused(call, "MemoryError: ; its memory is limited to 128 MiB")


def test_a_worker_starts_no_pool(monkeypatch):
    monkeypatch.setenv(worker.MARK, "1")
    with pytest.raises(InputError, match="if __name__ == '__main__'"):
        Pool(CALL, 1)


def test_a_worker_that_is_killed_while_it_loads_is_replaced(tmp_path, monkeypatch):
    begun = []
    submit = Pool.submit

    def submit_and_kill(self, task):
        submit(self, task)
        begun.append(task)
        if len(begun) == 1:
            (first,) = self.busy
            os.kill(first.process.pid, signal.SIGKILL)

    monkeypatch.setattr(Pool, "submit", submit_and_kill)
    found = study(tmp_path, where="pool", runs=20, retries=0)
    found.run()
    assert found.status().done == 20 and len(begun) == 21


def test_workers_that_always_die_while_they_load_are_no_loop(tmp_path):
    (tmp_path / "f.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n")
    found = study(tmp_path, integrand="f.py:f", directory=tmp_path, where="pool")
    with pytest.raises(sq.InputError, match="while it loaded the integrand, with signal 9"):
        found.run()


def test_a_command_in_the_pool(tmp_path):
    code = "import sys; print(float(sys.argv[1]) ** 2 + float(sys.argv[2]))"
    command = sq.Command([sys.executable, "-S", "-c", code, "{a}", "{b}"])
    found = study(tmp_path, command, runs=6, where="pool", time_limit=60.0)
    assert found.run().mean == study(tmp_path / "again", runs=6).run().mean


def test_a_command_with_several_points_a_call(tmp_path):
    code = (
        "import json, sys, pathlib\n"
        "points = json.load(sys.stdin)\n"
        "pathlib.Path(sys.argv[1]).open('a').write(f'{{len(points)}}\\n')\n"
        "print(json.dumps([p['a'] ** 2 + p['b'] for p in points]))\n"
    )
    calls = tmp_path / "calls"
    command = sq.Command([sys.executable, "-S", "-c", code, str(calls)], input="json")
    found = study(tmp_path, command, runs=10, where="pool", style="batch", batch=4, workers=1)
    assert found.run().mean == study(tmp_path / "again", runs=10).run().mean
    assert calls.read_text().split() == ["4", "4", "2"]


@pytest.mark.parametrize("as_command", [False, True])
def test_memory_that_is_exhausted_costs_its_own_points(tmp_path, as_command):
    code = "import sys, integrands as i; print(i.exhausts(*map(float, sys.argv[1:])))"
    command = sq.Command([sys.executable, "-c", code, "{a}", "{b}"])
    found = study(
        tmp_path,
        command if as_command else "exhausts",
        runs=12,
        where="pool",
        retries=0,
        memory="200 MiB",
        on_failure="ignore",
    )
    answer = found.run()
    bad = [i for i in range(12) if found.numbered[i][0] > 1.0]
    assert 0 < len(bad) < 12 and found.status().failed == len(bad)
    assert answer.status.code == "suspect" and answer.n == 12 - len(bad)
    for row in found.evaluations.rows():
        assert (row.status == "failed") == (row.number in bad)
        if row.number in bad:
            assert "MemoryError" in row.error and "limited to 200 MiB" in row.error
            assert row.failure == ("exception" if as_command else "memory")


def test_a_process_that_has_used_jax_is_not_forked(monkeypatch):
    def refuse(*_):
        raise AssertionError("a fork")

    jax.jit(lambda x: x + 1)(1.0)
    for name in ("fork", "forkpty"):
        monkeypatch.setattr(os, name, refuse)
    found, _ = outcomes("smooth", points=[GOOD])
    assert found[0].outputs is not None
