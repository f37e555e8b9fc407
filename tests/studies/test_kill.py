"""kill -9 of the driver at random moments: nothing lost, nothing repeated, the same answer."""

import os
import random
import signal
import sqlite3
import time
from collections import Counter
from contextlib import closing

import pytest
from small_study import alive, driver, study


def stored(tmp_path):
    """Numbers and inputs of all rows that are done, read behind the library's back."""
    path = tmp_path / "s.sqlite"
    if not path.exists():
        return {}
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        try:
            rows = connection.execute("SELECT number, input, outputs, seconds FROM evaluation")
            return {number: rest for number, *rest in rows}
        except sqlite3.OperationalError:  # before its tables
            return {}


def workers_of(pid):
    """Processes that were started by this one."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat") as file:
                    state, parent = file.read().rpartition(")")[2].split()[:2]
            except (FileNotFoundError, ProcessLookupError):
                continue
            if int(parent) == pid and state != "Z":
                found.append(int(entry))
    return found


def kill_and_resume(
    tmp_path, monkeypatch, *, kills, runs, seed, points="iid", names=("smooth", "counting")
):
    """The second integrand is the first one, and counts its calls."""
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    (tmp_path / "plain").mkdir()
    plain = study(tmp_path / "plain", names[0], runs=runs, points=points).run()
    rng, killed, spare = random.Random(seed), 0, 0
    rounds = 0
    while killed < kills:
        rounds += 1
        assert rounds < 3 * kills + 5
        before = stored(tmp_path)
        process = driver(tmp_path, names[1], runs, points=points, where="pool")
        enough = len(before) + rng.randrange(0, max(2, (runs - len(before)) // 3))
        deadline = time.monotonic() + 120
        while len(stored(tmp_path)) < enough and process.is_alive():
            assert time.monotonic() < deadline
            time.sleep(0.002)
        time.sleep(rng.uniform(0.0, 0.02))
        workers = workers_of(process.pid)
        process.kill()
        process.join()
        killed += 1
        deadline = time.monotonic() + 30
        while any(alive(pid) for pid in workers):  # nobody goes on computing for the dead
            assert time.monotonic() < deadline
            time.sleep(0.01)
        after = stored(tmp_path)
        assert all(after[number] == row for number, row in before.items())
        spare += len(workers)
        if len(after) == runs:  # begin again: there are kills left
            for file in tmp_path.glob("s.sqlite*"):
                file.unlink()
            (tmp_path / "calls").unlink()
            spare = 0
    answer = study(tmp_path, names[1], runs=runs, points=points, where="pool").run()
    assert (answer.mean, answer.std) == (plain.mean, plain.std)
    assert sorted(stored(tmp_path)) == list(range(runs))
    # A point in flight at a kill is done again; a point that was stored is not.
    calls = Counter((tmp_path / "calls").read_text().splitlines())
    assert len(calls) == runs and runs <= calls.total() <= runs + spare


def test_nothing_that_an_integrand_started_outlives_a_killed_driver(tmp_path):
    process = driver(tmp_path, "leaves_a_copy", where="pool", workers=1)
    deadline, family = time.monotonic() + 120, []
    while len(family) < 2:
        assert time.monotonic() < deadline and process.is_alive()
        time.sleep(0.05)
        workers = workers_of(process.pid)
        family = workers + [child for pid in workers for child in workers_of(pid)]
    process.kill()
    process.join()
    while any(alive(pid) for pid in family):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_the_driver_is_killed_a_few_times(tmp_path, monkeypatch):
    kill_and_resume(tmp_path, monkeypatch, kills=3, runs=200, seed=7)


ADAPTIVE = {"points": "adaptive", "names": ("kinked", "counting_kinked")}


@pytest.mark.slow
def test_the_driver_of_adaptive_points_is_killed(tmp_path, monkeypatch):
    kill_and_resume(tmp_path, monkeypatch, kills=2, runs=240, seed=105, **ADAPTIVE)


@pytest.mark.slow
def test_the_driver_of_adaptive_points_is_killed_often(tmp_path, monkeypatch):
    kill_and_resume(tmp_path, monkeypatch, kills=20, runs=240, seed=80, **ADAPTIVE)


@pytest.mark.slow
def test_random_workers_of_a_dask_cluster_are_killed(tmp_path):
    distributed = pytest.importorskip("distributed")
    (tmp_path / "plain").mkdir()
    plain = study(tmp_path / "plain", runs=200).run()
    rng, killed = random.Random(3), []
    settings = {"where": "dask", "runs": 200, "retries": 5}
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0"
    ) as own:

        def running():  # asked of the nannies: a message to one that is dying may wait for ever
            found = [each.process for each in own.workers.values() if each.process]
            return [each.pid for each in found if each.status.name == "running"]

        def watch(now):
            if len(killed) < 3 and now.done >= 30 * (len(killed) + 1):
                deadline = time.monotonic() + 300  # on a busy machine a new one takes long
                while len(pids := [pid for pid in running() if pid not in killed]) < 2:
                    assert time.monotonic() < deadline
                    time.sleep(0.1)
                killed.append(rng.choice(pids))
                os.kill(killed[-1], signal.SIGKILL)

        found = study(tmp_path, "slow", address=own.scheduler_address, **settings)
        answer = found.run(watch=watch)
    assert len(killed) == 3
    assert (answer.mean, answer.std) == (plain.mean, plain.std)
    assert sorted(stored(tmp_path)) == list(range(200))


@pytest.mark.slow
def test_the_driver_is_killed_fifty_times(tmp_path, monkeypatch):
    kill_and_resume(tmp_path, monkeypatch, kills=50, runs=200, seed=70)
