"""Kills in every phase and full disks at every write: nothing lost, repeated or left behind."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from contextlib import closing
from itertools import cycle, islice
from pathlib import Path

import pytest
from small_study import PROCESSES, alive, study, wait_until
from staged_driver import PLACES, RUNS, run_limited, staged, start

import steinquad as sq
from steinquad.studies.calls.supervisor import _descendants
from steinquad.studies.store import Store

PHASES = ("start", "loading", "evaluating", "writing", "fitting", "reporting")
# No worker lives yet at the start, and none any more while the report is written.
FAULTS = [
    (phase, victim)
    for phase in PHASES
    for victim in ("driver", "worker", "supervisor")
    if victim == "driver" or phase not in ("start", "reporting")
]


def rows(place):
    """All that are done, read behind the library's back."""
    if not (place / "s.sqlite").exists():
        return {}
    with closing(sqlite3.connect(f"file:{place}/s.sqlite?mode=ro", uri=True)) as connection:
        query = "SELECT number, input, outputs, seconds FROM evaluation WHERE status = 'done'"
        return {number: rest for number, *rest in connection.execute(query)}


def calls(place):
    """First coordinates of the points that were evaluated, one a call."""
    file = place / "calls"
    return file.read_text().splitlines() if file.exists() else []


def report(place):
    """The page as it is now, empty if there is none."""
    file = place / "report.html"
    return file.read_text() if file.exists() else ""


def family(pid):
    """A supervisor of this driver and its worker; none before there are any."""
    for process in _descendants(pid):
        if b"supervisor.py" in Path(f"/proc/{process}/cmdline").read_bytes():
            workers = _descendants(process)
            if workers:
                return {"supervisor": process, "worker": workers[0]}
    return {}


def fault(place, phase, victim, after):
    """Kill one process when the study is in a phase; the phase in which it really was."""
    for file in ("reached", "go", "answer"):
        (place / file).unlink(missing_ok=True)
    before, called = rows(place), len(calls(place))
    process = start(place, phase, after)
    wait_until(lambda: (place / "reached").exists() and (place / "reached").read_text(), 120)
    seen, pid = (place / "reached").read_text().split()
    everyone = [process.pid, *_descendants(process.pid)]
    target = {"driver": process.pid} | family(process.pid)
    if phase not in PLACES and victim == "worker":
        target["worker"] = int(pid)  # the one that is in the phase
    os.kill(target[victim], signal.SIGKILL)
    wait_until(lambda: not alive(target[victim]))
    (place / "go").touch()
    process.join(120)
    assert (process.exitcode == 0) == (victim != "driver")
    wait_until(lambda: not any(alive(each) for each in everyone))
    after_it = rows(place)
    assert all(after_it[number] == row for number, row in before.items())  # nothing lost
    stored = {row[0][1:].split(",")[0] for row in before.values()}
    assert not stored & set(calls(place)[called:])  # nothing done again
    return seen


def inject(tmp_path, monkeypatch, faults):
    """Faults one after the other; a study that is whole is checked, and another begins."""
    monkeypatch.setenv("CALLS", str(tmp_path / "plain-calls"))
    monkeypatch.setenv("AFTER", "0")
    (tmp_path / "plain").mkdir()
    plain = staged(tmp_path / "plain").run()
    wanted, hit, studies = f"{plain.mean.hex()} {plain.std.hex()}", Counter(), 0
    place = tmp_path / "0"
    place.mkdir()
    for kills, (phase, victim) in enumerate(faults):
        if phase != "reporting" and len(rows(place)) == RUNS["runs"]:
            again = staged(place).estimate()
            assert f"{again.mean.hex()} {again.std.hex()}" == wanted
            studies += 1
            place = tmp_path / str(studies)
            place.mkdir()
        written = report(place)
        later = 0 if phase == "fitting" else min(kills % 7, RUNS["runs"] - len(rows(place)) - 1)
        hit[fault(place, phase, victim, len(calls(place)) + 1 + later), victim] += 1
        if victim == "driver":  # the answer is that of whoever goes on
            assert not (place / "answer").exists()
            assert report(place) == written  # the last one, or none: never a part
        else:
            assert (place / "answer").read_text() == wanted
            assert report(place).rstrip().endswith("</html>")
        assert not [name for name in os.listdir(place) if name.endswith((".new", ".part"))]
    monkeypatch.setenv("CALLS", str(place / "calls"))
    last = staged(place).run()
    assert f"{last.mean.hex()} {last.std.hex()}" == wanted
    assert sorted(rows(place)) == list(range(RUNS["runs"]))
    return hit


def test_the_driver_is_killed_once_in_every_phase(tmp_path, monkeypatch):
    faults = [(phase, "driver") for phase in PHASES]
    assert inject(tmp_path, monkeypatch, faults) == Counter(faults)


@pytest.mark.slow
def test_fifty_kills_of_every_process_in_every_phase(tmp_path, monkeypatch):
    faults = list(islice(cycle(FAULTS), 50))
    hit = inject(tmp_path, monkeypatch, faults)
    assert hit == Counter(faults) and hit.total() == 50
    assert {phase for phase, _ in hit} == set(PHASES)


KINDS = ("record", "keep_choices", "keep_estimate")


def fill_at(monkeypatch, kind):
    """No page is left whenever the store does this; there are enough for everything else."""
    failed = []
    for name in KINDS:
        plain = getattr(Store, name)

        def limited(self, *args, name=name, plain=plain, **kwargs):
            pages = 1 if name == kind else 2**30
            self._require_writer().execute(f"PRAGMA max_page_count = {pages}")  # of what there is
            try:
                return plain(self, *args, **kwargs)
            except sq.InputError:
                failed.append(name)
                raise

        monkeypatch.setattr(Store, name, limited)
    return failed


@pytest.mark.parametrize("kind", [pytest.param(k, marks=pytest.mark.slow) for k in KINDS[1:]])
def test_a_disk_that_is_full_at_one_kind_of_write(tmp_path, monkeypatch, kind):
    full_at(tmp_path, monkeypatch, kind, points="adaptive", runs=130, every=2)


def test_a_disk_that_is_full_when_a_row_is_written(tmp_path, monkeypatch):
    full_at(tmp_path, monkeypatch, "record", points="iid", runs=60, every=20)


def full_at(tmp_path, monkeypatch, kind, **settings):
    for name in ("plain", "full"):
        (tmp_path / name).mkdir()
    plain = study(tmp_path / "plain", "kinked", **settings).run()
    with monkeypatch.context() as patch:
        failed = fill_at(patch, kind)
        with pytest.raises(sq.InputError, match="the disk is full; free some space"):
            study(tmp_path / "full", "kinked", **settings).run()
    assert failed == [kind]
    before = rows(tmp_path / "full")
    again = study(tmp_path / "full", "kinked", **settings).run()
    assert (again.mean, again.std) == (plain.mean, plain.std)
    after = rows(tmp_path / "full")
    assert all(after[number] == row for number, row in before.items())
    assert len(before) < len(after) == settings["runs"]


@pytest.mark.parametrize("size", [0, 4096, 40_000, 100_000])
def test_files_that_cannot_grow(tmp_path, size):
    """Of the lock, of a new store, of its first rows, of its log."""
    process = PROCESSES.Process(target=run_limited, args=(tmp_path, size))
    process.start()
    process.join(120)
    assert process.exitcode == 2
    kept = rows(tmp_path)
    assert study(tmp_path, runs=60).run().n == 60
    assert all(rows(tmp_path)[number] == row for number, row in kept.items())


SMALL_STUDY = """
outputs = ["y"]
method = "mc"
store = "s.sqlite"
[integrand]
function = "f.py:f"
[inputs.a]
distribution = "uniform"
low = 0.0
high = 1.0
[budget]
runs = 2000
[run]
where = "here"
"""
SMALL_DISK = """
set -e
mkdir disk
mount -t tmpfs -o size=128k tmpfs disk
cp s.toml f.py disk
"$1" -m steinquad run disk/s.toml 2> said && exit 1
grep -q 'the disk is full; free some space' said
"$1" -m steinquad export disk/s.toml kept.csv
mount -o remount,size=8m disk
"$1" -m steinquad run disk/s.toml --json > answer
"$1" -m steinquad export disk/s.toml all.csv
dd if=/dev/zero of=disk/rest bs=1k 2> /dev/null || true
for target in disk/o.csv disk/o.json; do
    "$1" -m steinquad export disk/s.toml $target 2> said && exit 1
    grep -q 'cannot be written (No space left on device)' said
    test ! -e $target
done
rm disk/rest
"$1" -m steinquad run disk/s.toml --json > again
ls -a disk > left
"""


@pytest.mark.slow
def test_a_small_disk_of_memory(tmp_path):
    """A real file system without space: for rows, and for what is exported."""
    own = ["unshare", "--user", "--map-root-user", "--mount"]
    if shutil.which("unshare") is None or subprocess.run([*own, "true"], check=False).returncode:
        pytest.skip("no file system can be mounted here")
    study_file = SMALL_STUDY.replace("s.sqlite", str(tmp_path / "plain.sqlite"))
    (tmp_path / "f.py").write_text("def f(a):\n    return a * a\n")
    (tmp_path / "s.toml").write_text(study_file)
    python = [sys.executable, "-m", "steinquad", "run", "s.toml", "--json"]
    plain = subprocess.run(python, cwd=tmp_path, capture_output=True, text=True, check=True)
    (tmp_path / "s.toml").write_text(SMALL_STUDY)
    line = [*own, "sh", "-c", SMALL_DISK, "sh", sys.executable]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr + (tmp_path / "said").read_text()
    assert (tmp_path / "answer").read_text() == plain.stdout == (tmp_path / "again").read_text()
    kept = (tmp_path / "kept.csv").read_text().splitlines()
    every = (tmp_path / "all.csv").read_text().splitlines()
    assert set(kept) <= set(every) and 1 < len(kept) < len(every) == 2001
    assert not [name for name in (tmp_path / "left").read_text().split() if ".part" in name]
