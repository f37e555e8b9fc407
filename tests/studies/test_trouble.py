"""Trouble that studies have met: each test here is a bug that was found and repaired."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest
import scipy.stats as st
from small_study import HERE, PROCESSES, inputs, study

import steinquad as sq
from steinquad.measures.mixture import Mixture
from steinquad.studies.evaluation import Outcome
from steinquad.studies.executors import Here
from steinquad.studies.pool import Pool
from steinquad.summaries.simulated import spread

# -- what an integrand may do ------------------------------------------------------------------


def test_an_error_text_that_no_file_can_hold(tmp_path):
    def f(a, b):
        if a > 1:
            raise RuntimeError("no file \udcff")
        return a

    found = study(tmp_path, integrand=f, on_failure="ignore")
    found.run()
    failed = [row for row in found.evaluations.rows() if row.status == "failed"]
    assert failed and all("no file ?" in row.error for row in failed)
    assert found.status().done + len(failed) == 40


def test_a_function_whose_own_process_is_late(tmp_path):
    """A time-out inside f is an exception of f, no time limit of ours."""

    def f(a, b):
        if a > 1:
            subprocess.run(["sleep", "5"], timeout=0.01, check=False)
        return a

    found = study(tmp_path, integrand=f, on_failure="ignore", retries=0)
    found.run()
    failed = [row for row in found.evaluations.rows() if row.status == "failed"]
    assert failed and {row.failure for row in failed} == {"exception"}
    assert all("TimeoutExpired" in row.error for row in failed)


def test_an_exception_that_cannot_tell_what_it_is(tmp_path):
    class MuteError(Exception):
        def __str__(self):
            raise ValueError

    def f(a, b):
        raise MuteError

    found = study(tmp_path, integrand=f, retries=0)
    with pytest.raises(sq.InputError, match=r"40 of 40 evaluations failed \(100 %"):
        found.run()
    assert all("MuteError: without a text" in row.error for row in found.evaluations.rows())


def test_a_file_that_was_edited_is_loaded_again(tmp_path):
    file = tmp_path / "m.py"
    settings = {"integrand": "m.py:f", "directory": tmp_path}
    for value, runs in ((1.0, 10), (2.0, 20)):
        file.write_text(f"def f(a, b):\n    return {value} + 0 * a\n")
        os.utime(file, ns=(0, int(value)))
        study(tmp_path, runs=runs, **settings).run()
    rows = list(study(tmp_path, **settings).evaluations.rows())
    assert [row.outputs for row in rows] == [[1.0]] * 10 + [[2.0]] * 10
    assert len({row.version for row in rows}) == 2


def test_the_version_of_a_command_is_that_of_its_script(tmp_path):
    versions = []
    for text in ("print(1.0)", "print(2.0)"):
        (tmp_path / "sim.py").write_text(text)
        command = sq.Command([sys.executable, "sim.py", "x" * 300])
        found = study(tmp_path, integrand=command, directory=tmp_path, runs=4)
        versions.append(found.integrand_version)
    assert len(set(versions)) == 2 and all(versions)


def test_braces_that_are_no_placeholders(tmp_path):
    script = "import sys; print(len(sys.argv[1]) * 1.0)"
    command = sq.Command([sys.executable, "-c", script, "{{output}}{{input}}"])
    found = study(tmp_path, integrand=command, runs=2)
    found.run()
    assert [row.outputs for row in found.evaluations.rows()] == [[len("{output}{input}")]] * 2
    with pytest.raises(sq.InputError, match="placeholder {}"):
        study(tmp_path, integrand=sq.Command(["true", "{}"]))


# -- workers that are lost ---------------------------------------------------------------------


def test_a_broken_pool_costs_only_those_that_broke_it(tmp_path):
    found = study(tmp_path, "crashes", runs=200, retries=0, on_failure="ignore")
    found.run(executor=lambda: ProcessPoolExecutor(2, mp_context=PROCESSES))
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


def test_an_interrupt_between_two_tasks(tmp_path, monkeypatch):
    """It was forgotten where nothing was in flight, and half a study passed for a whole one."""
    asked = []

    def room(self):
        asked.append(len(self.tasks))
        if len(asked) == 11:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)
        return 1 - len(self.tasks)

    monkeypatch.setattr(Here, "room", room)
    found = study(tmp_path, runs=50)
    with pytest.raises(KeyboardInterrupt):
        found.run()
    assert not found.kept_estimates() and found.status().done < 50


# -- looks on the way --------------------------------------------------------------------------


def fails_early(a, b):
    if a > 1.9:
        raise ValueError("too large")
    return a


@pytest.mark.parametrize("settings", [{"every": 20}, {"until": {"std": 1e-9}}])
def test_failures_at_the_beginning_do_not_end_a_study(tmp_path, settings):
    found = study(tmp_path, integrand=fails_early, runs=400, retries=0, seed=1, **settings)
    with pytest.raises(sq.InputError, match="of 400 evaluations failed"):
        found.run()
    repaired = study(tmp_path, integrand=smooth_of_a, runs=400, seed=1, **settings)
    assert repaired.run(retry_failed=True).n == 400


def smooth_of_a(a, b):
    return a


def test_a_method_that_needs_more_points_than_the_first_look_has(tmp_path):
    found = study(tmp_path, runs=40, every=2, method=sq.Polynomial())
    assert found.run().n == 40
    assert found.kept_estimates()[0][0] > 2


def test_without_a_number_of_runs_failures_end_it(tmp_path):
    """Else it would go on for ever: there is no last look."""
    settings = {"until": {"std": 1e-9}, "points": "iid", "retries": 0}
    found = study(tmp_path, integrand=fails_early, runs=None, **settings)
    with pytest.raises(sq.InputError, match="evaluations failed"):
        found.run()
    assert found.status().done > 900


def test_status_tells_the_latest_estimate(tmp_path):
    settings = {"runs": 64, "retries": 0, "on_failure": "ignore"}
    study(tmp_path, integrand=fails_early, **settings).run()
    repaired = study(tmp_path, integrand=smooth_of_a, **settings)
    answer = repaired.run(retry_failed=True)
    ((n, record),) = repaired.kept_estimates()
    assert (n, record["mean"], record["n"]) == (64, answer.mean, 64)
    other = study(tmp_path, integrand=smooth_of_a, **settings | {"method": sq.Polynomial()})
    assert other.kept_estimates() == []


# -- stores of something else, or damaged ------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_another_law_with_the_same_first_point(tmp_path, seed):
    def of(scale):
        mixture = Mixture([st.norm(0, 1), st.gamma(3, scale=scale)], [1, 1])
        return {"inputs": sq.Product({"x": mixture}), "points": "iid", "seed": seed}

    def f(x):
        return x

    settings = {"method": sq.MonteCarlo(), "where": "here"}
    store = tmp_path / "s.sqlite"
    sq.Study(f, store=store, runs=30, **settings, **of(1)).run()
    other = sq.Study(f, store=store, runs=60, **settings, **of(9))
    for act in (other.run, other.estimate):
        with pytest.raises(sq.InputError, match="belongs to another study"):
            act()
    assert sq.Study(f, store=store, runs=60, **settings, **of(1)).run().n == 60


@pytest.mark.parametrize(
    "column, text",
    [
        ("input", "[1.0, 2"),
        ("input", "7"),
        ("outputs", '["a"]'),
        ("outputs", "[1.0, 2.0]"),
        ("outputs", b"\xff\xfe"),
    ],
)
def test_texts_in_a_store_that_make_no_sense(tmp_path, column, text):
    found = study(tmp_path)
    found.run()
    path = tmp_path / "s.sqlite"
    with sqlite3.connect(path) as database:
        database.execute(f"UPDATE evaluation SET {column} = ? WHERE number = 7", (text,))
    database.close()
    before = path.read_bytes()
    for act in (found.estimate, study(tmp_path, runs=80).run):
        with pytest.raises(sq.InputError, match="damaged"):
            act()
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", [".", "/", "x" * 300])
def test_a_store_that_cannot_be_a_file(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    found = sq.Study("integrands.py:smooth", inputs(), name, 4, directory=HERE)
    for act in (found.run, found.status, found.estimate):
        with pytest.raises(sq.InputError, match="store"):
            act()
    assert list(tmp_path.iterdir()) == []


def test_a_report_does_not_replace_the_store(tmp_path):
    found = sq.Study("integrands.py:smooth", inputs(), tmp_path / "s.json", 4, directory=HERE)
    with pytest.raises(sq.InputError, match="is the store of the study"):
        sq.report.write(found, tmp_path / "s.json")


# -- settings ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings, words",
    [
        ({"method": "mc"}, "method is 'mc'"),
        ({"method": sq.QuasiMonteCarlo(), "points": "iid"}, "use points='sobol'"),
        ({"time_limit": [1], "where": "pool"}, r"time_limit is \[1\]"),
        ({"points": ["iid"]}, r"points is \['iid'\]"),
        ({"directory": 3}, "directory is 3"),
    ],
)
def test_settings_are_refused_before_anything_is_evaluated(tmp_path, settings, words):
    with pytest.raises(sq.InputError, match=words):
        study(tmp_path, **settings)


def test_names_of_columns_are_different(tmp_path):
    inputs = sq.Product({"status_3": st.norm(), "status": st.norm()})
    found = sq.Study(lambda x: x, inputs, tmp_path / "s.sqlite", 4, style="dict", where="here")
    assert len(set(found.columns)) == len(found.columns)


def test_errors_are_cut_and_plain():
    outcome = Outcome(None, 0.0, "exception", "\ud800" + "x" * 10_000)
    assert outcome.error == "?" + "x" * 1999


def test_the_std_of_two_values_with_the_same_chance():
    """All squares are equal, so that their spread says nothing; the mean may be off still."""
    found = spread(np.repeat([0.0, 1.0], 64), None)
    assert found.low < 0.5 < found.high and found.high - found.low < 0.05
    assert spread(np.array([0.0, 1.0]), None).low < spread(np.array([0.0, 1.0]), None).high
