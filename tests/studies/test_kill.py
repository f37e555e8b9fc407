"""kill -9 of the driver at random moments: nothing lost, nothing repeated, the same answer."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing

import pytest
from small_study import HERE, study

DRIVER = f"""
import sys
sys.path.insert(0, {str(HERE.parent)!r})
from pathlib import Path
from small_study import study
if __name__ == "__main__":
    while sys.stdin.readline():  # imported already: say when
        place, name, runs, points = sys.argv[1:]
        answer = study(Path(place), name, runs=int(runs), points=points, where="pool").run()
        print(repr((answer.mean, answer.std)), flush=True)
"""


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


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def kill_and_resume(
    tmp_path, monkeypatch, *, kills, runs, seed, points="iid", names=("smooth", "counting")
):
    """The second integrand is the first one, and counts its calls."""
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    (tmp_path / "plain").mkdir()
    plain = study(tmp_path / "plain", names[0], runs=runs, points=points).run()
    script = tmp_path / "driver.py"
    script.write_text(DRIVER)
    line = [sys.executable, str(script), str(tmp_path), names[1], str(runs), points]
    rng, killed, spare = random.Random(seed), 0, 0
    rounds = 0
    while killed < kills:
        rounds += 1
        assert rounds < 3 * kills + 5
        process = subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert process.stdin is not None and process.stdout is not None
        with process.stdin, process.stdout:
            process.stdin.write("\n")
            process.stdin.flush()
            before = stored(tmp_path)
            wanted = len(before) + rng.randrange(0, max(2, (runs - len(before)) // 3))
            deadline = time.monotonic() + 120
            while len(stored(tmp_path)) < wanted and process.poll() is None:
                assert time.monotonic() < deadline
                time.sleep(0.002)
            time.sleep(rng.uniform(0.0, 0.02))
            workers = workers_of(process.pid)
            process.send_signal(signal.SIGKILL)
            process.wait()
        killed += 1
        deadline = time.monotonic() + 30
        while any(is_running(pid) for pid in workers):  # nobody goes on computing for the dead
            assert time.monotonic() < deadline
            time.sleep(0.01)
        after = stored(tmp_path)
        assert all(after[number] == row for number, row in before.items())
        spare += len(workers)
        if len(after) == runs:  # begin anew: there are kills left
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
    (tmp_path / "f.py").write_text(
        "import os, time\n"
        "def f(a, b):\n"
        "    if os.fork() == 0:\n"
        "        time.sleep(60)\n"
        "        os._exit(0)\n"
        "    time.sleep(60)\n"
    )
    script = tmp_path / "driver.py"
    script.write_text(
        f"import sys\nsys.path.insert(0, {str(HERE.parent)!r})\n"
        "from pathlib import Path\nfrom small_study import study\n"
        "place = Path(sys.argv[1])\n"
        "study(place, integrand='f.py:f', directory=place, where='pool', workers=1).run()\n"
    )
    process = subprocess.Popen([sys.executable, str(script), str(tmp_path)])
    deadline, family = time.monotonic() + 120, []
    while len(family) < 2:
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.05)
        workers = workers_of(process.pid)
        family = workers + [child for pid in workers for child in workers_of(pid)]
    process.send_signal(signal.SIGKILL)
    process.wait()
    while any(is_running(pid) for pid in family):
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
