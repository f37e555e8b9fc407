"""`steinquad reproduce`: lists, runs, resumes after kill -9, draws from records alone."""

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from made_up_records import made_up

from steinquad.paper import workers
from steinquad.paper.figures import draw_figure
from steinquad.paper.items import ITEMS, SKETCHES
from steinquad.paper.record import Mark
from steinquad.paper.spec import load, names
from steinquad.paper.store import RecordStore
from steinquad.paper.summary import summarize
from steinquad.paper.workers import Death

TINY = """
items = ["Table 1"]
title = "tiny"
problems = ["genz-continuous", "genz-corner"]
methods = ["MC"]
panels = [["n", "error"], ["error", "cpu"]]
split = "problem"

[quick]
n = [10, 20]
d = [1]
seeds = 1
max_steps = 5

[paper]
n = [100]
d = [1]
seeds = 1
max_steps = 50
"""


@pytest.fixture
def tiny(tmp_path):
    path = tmp_path / "tiny.toml"
    path.write_text(TINY)
    return path


def fill(path, name, preset, **changes):
    store = RecordStore(path / f"{name}.jsonl")
    with store.writing():
        for i, each in enumerate(load(name).runs(preset)):
            row = {"error": 1e-3 / (1 + i % 7)}
            if each.problem == "wind-farm-direction":
                row["trajectory"] = tuple(Mark(10**k, 0.1 * 9**k, 0.1**k, 1e9) for k in range(4))
            store.add(made_up(each, **(row | changes)))


def children_of(pid):
    file = Path(f"/proc/{pid}/task/{pid}/children")
    return file.read_text().split() if file.exists() else []


def alive(pid):
    stat = Path(f"/proc/{pid}/stat")
    try:
        return stat.read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_list_has_every_item(command):
    code, out = command("reproduce", "--list")
    lines = out.out.splitlines()
    assert code == 0 and all(any(line.startswith(item) for line in lines) for item in ITEMS)
    assert all(any(f" {name} " in line for line in lines) for name in names())
    # every item of the paper has a spec, but for the sketches
    covered = {item for name in names() for item in load(name).items}
    assert covered == ITEMS.keys() - {*SKETCHES}
    assert any(line.startswith("ours ") and " goodwin-warm " in line for line in lines)


def test_killed_at_a_random_moment_and_resumed(command, tiny, tmp_path, monkeypatch):
    whole = [sys.executable, "-m", "steinquad", "reproduce", str(tiny), "--path", str(tmp_path)]
    process = subprocess.Popen(whole, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    store = tmp_path / "tiny.jsonl"
    deadline = time.monotonic() + 120
    while not (store.exists() and b"\n" in store.read_bytes()) and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    time.sleep(random.Random(6).uniform(0.0, 1.0))
    children = children_of(process.pid)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    while any(alive(pid) for pid in children):  # nobody goes on computing for the dead
        assert time.monotonic() < deadline
        time.sleep(0.05)
    before = store.read_bytes()
    done = before[: before.rfind(b"\n") + 1]
    count = done.count(b"\n")
    assert count >= 1

    started = []
    begin = workers._Worker.begin
    monkeypatch.setattr(
        workers._Worker, "begin", lambda self, each: started.append(each.key) or begin(self, each)
    )
    code, out = command("reproduce", tiny, "--path", tmp_path)
    assert code == 0 and store.read_bytes().startswith(done)
    assert f"4 runs, {count} of them recorded" in out.out
    keys = list(RecordStore(store).records)  # refuses doubles
    assert sorted(keys) == sorted(each.key for each in load(str(tiny)).runs("quick"))
    assert keys[count:] == started
    assert (tmp_path / "tiny-quick.png").stat().st_size > 5000
    table = (tmp_path / "tiny-quick.md").read_text()
    assert table.count("\n") == 2 + 4 and table in out.out

    monkeypatch.setattr(workers._Worker, "__init__", None)  # nothing may run
    code, out = command("reproduce", tiny, "--path", tmp_path)
    assert code == 0 and "4 runs, 4 of them recorded.\n" in out.out


def test_a_part_of_a_figure(command, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(workers, "records_of", lambda runs, *_: asked.extend(runs) or iter(()))
    part = ("--method", "MC", "--method", "Stein-CF", "--n", "1000", "--n", "5000")
    arguments = ("goodwin", "--preset", "paper", "--seeds", "0,1", *part, "--path", tmp_path)
    command("reproduce", *arguments)
    assert len(asked) == 2 * 2 * 2 * 4 and {each.n for each in asked} == {1000, 5000}
    assert {each.method for each in asked} == {"MC", "Stein-CF"}
    for wrong in (("--method", "BQ"), ("--n", "7")):
        code, out = command("reproduce", "goodwin", *wrong, "--path", tmp_path)
        assert code == 2 and f"{wrong[0]} is" in out.err and "choose of" in out.err


def test_says_before_it_starts_what_it_will_cost(command, tmp_path, monkeypatch):
    fill(tmp_path, "table1", "quick")
    monkeypatch.setattr(workers, "records_of", lambda *_: iter(()))
    arguments = ("table1", "--path", tmp_path, "--seeds", "0,2-3")
    code, out = command("reproduce", *arguments)
    known = "72 runs, 24 of them recorded; 48 to do, 48 like recorded ones: about 96 CPU s.\n"
    assert code == 0 and f"table1, quick: {known}" in out.out
    arguments = ("dimension", "--path", tmp_path, "--seeds", "0", "--preset", "paper")
    code, out = command("reproduce", *arguments)
    assert "48 to do; nothing is known of the cost of 48.\n" in out.out
    assert code == 2 and "no records of dimension, preset paper" in out.err


SOON = ("table1", "dimension", "wind-farm", "optimizers")
ROWS = ("| genz-", "| goodwin-", "| wind-farm")


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n in SOON else pytest.mark.slow) for n in names()]
)
def test_every_figure_is_drawn_from_records_alone(command, name, tmp_path, monkeypatch):
    fill(tmp_path, name, "quick")
    monkeypatch.setattr(workers._Worker, "__init__", None)  # nothing may run
    code, out = command("reproduce", name, "--path", tmp_path, "--draw")
    assert code == 0 and (tmp_path / f"{name}-quick.png").stat().st_size > 10_000
    cells = {each.group for each in load(name).runs("quick")}
    rows = [line for line in out.out.splitlines() if line.startswith(ROWS)]
    assert len(rows) == len(cells)


def test_refused_runs_are_in_the_table_and_not_in_the_figure(command, tmp_path):
    nothing = {"estimate": None, "std": None, "error": None, "status": "refused"}
    fill(tmp_path, "sampling", "quick", **nothing)
    code, out = command("reproduce", "sampling", "--path", tmp_path, "--draw")
    assert code == 0 and "| refused |" in out.out


def test_packed_records_are_drawn_and_not_run_again(command, tmp_path, monkeypatch):
    for figure in ("sampling", "relu"):
        fill(tmp_path, figure, "quick")
    code, out = command("reproduce", "all", "--path", tmp_path, "--pack")
    assert code == 0 and [line.split(" in ")[0] for line in out.out.splitlines()] == [
        "9 records",
        "36 records",
    ]
    assert sorted(each.name for each in tmp_path.iterdir()) == [
        "relu.jsonl.gz",
        "sampling.jsonl.gz",
    ]
    monkeypatch.setattr(workers._Worker, "__init__", None)  # nothing may run
    code, out = command("reproduce", "sampling", "--path", tmp_path)
    assert code == 0 and "36 runs, 36 of them recorded" in out.out
    code, out = command("reproduce", "table1", "--path", tmp_path, "--pack")
    assert code == 2 and "no records of table1; run it first" in out.err


def test_trainings_have_a_line_each_and_where_they_ended(command, tmp_path):
    fill(tmp_path, "optimizers", "quick")
    code, out = command("reproduce", "optimizers", "--path", tmp_path, "--draw")
    head, _, *rows = (line for line in out.out.splitlines() if line.startswith("|"))
    assert code == 0 and "| iterations | CPU s of these | loss | condition number |" in head
    assert all("| 1000 | 72.9 |" in row and "| 1.0e+09 |" in row for row in rows)
    store = RecordStore(tmp_path / "optimizers.jsonl")
    cells = summarize(load("optimizers"), "quick", store.records.values())
    figure = draw_figure(load("optimizers"), cells)
    for axis in figure.axes:
        assert len(axis.lines) == 9 and {len(line.get_xdata()) for line in axis.lines} == {4}
        assert len({(line.get_color(), line.get_marker()) for line in axis.lines}) == 9
    assert list(figure.axes[1].lines[0].get_xdata()) == pytest.approx([0.1, 0.9, 8.1, 72.9])


def test_sketches_need_no_records(command, tmp_path):
    code, out = command("reproduce", "sketches", "--path", tmp_path / "new")
    assert code == 0 and "sketch-cost.png and" in out.out
    for name in ("sketch-cost", "sketch-method"):
        assert (tmp_path / "new" / f"{name}.png").stat().st_size > 5000


def test_published_numbers_stand_beside(command, tmp_path):
    fill(tmp_path, "table1", "paper")
    arguments = ("table1", "--preset", "paper", "--path", tmp_path, "--draw")
    code, out = command("reproduce", *arguments)
    row = next(line for line in out.out.splitlines() if "corner" in line and "BSN" in line)
    assert code == 0 and "| 6.0e-04 |" in row and row.endswith("| 10 |")
    fill(tmp_path / "less", "table1", "quick")  # other n: not comparable
    code, out = command("reproduce", "table1", "--path", tmp_path / "less", "--draw")
    assert code == 0 and "| 6.0e-04 |" not in out.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name is missing"),
        (["table9"], "'table9' is no figure"),
        (["table1", "--preset", "slow"], "--preset is 'slow'; choose quick or paper"),
        (["table1", "--seeds", "4-2"], "--seeds is '4-2'; write seeds such as"),
        (["table1", "--seeds", "x"], "--seeds is 'x'"),
        (["table1", "--jobs", "0"], "--jobs is 0"),
        (["table1", "--draw", "--path", "none"], "no records of table1, preset quick"),
    ],
)
def test_wrong_input_is_exit_2(command, arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out = command("reproduce", *arguments)
    assert code == 2 and message in out.err and out.err.count("\n") == 1


def test_all_draws_those_that_have_records(command, tmp_path):
    fill(tmp_path, "table1", "quick")
    code, _ = command("reproduce", "all", "--path", tmp_path, "--draw")
    assert code == 0 and {file.name for file in tmp_path.glob("*.png")} == {
        *("table1-quick.png", "sketch-cost.png", "sketch-method.png"),
    }


def test_runs_that_died_are_named_and_exit_1(command, tmp_path, monkeypatch):
    monkeypatch.setattr(workers, "records_of", lambda runs, *_: (Death(r, -9) for r in runs[:1]))
    code, out = command("reproduce", "table1", "--path", tmp_path)
    assert code == 1 and not RecordStore(tmp_path / "table1.jsonl").records
    assert "MC on genz-continuous, d = 2, n = 640, seed 0 died with exit code -9" in out.err


def test_unknown_key_is_exit_2(command, tiny):
    tiny.write_text(TINY.replace("seeds = 1\nmax_steps = 5", "seed = 1\nmax_steps = 5"))
    code, out = command("reproduce", tiny)
    assert code == 2 and "tiny.quick has the unknown key 'seed'; known are n, d, seeds" in out.err


def test_records_of_another_kind_are_left_alone(command, tmp_path):
    fill(tmp_path, "table1", "paper")
    code, out = command("reproduce", "table1", "--path", tmp_path, "--draw")
    quick = {each.key for each in load("table1").runs("quick")}
    kept = [json.loads(line) for line in (tmp_path / "table1.jsonl").read_text().splitlines()]
    assert len(kept) == 240 and not quick & set(RecordStore(tmp_path / "table1.jsonl").records)
    assert code == 2 and "no records of table1, preset quick" in out.err
