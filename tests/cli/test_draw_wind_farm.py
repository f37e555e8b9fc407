"""`steinquad draw wind-farm`: a file that `steinquad integrate` reads; goes on after a stop."""

import json
import sys

import numpy as np
import pyarrow.csv
import pytest

import steinquad as sq
from steinquad.cli import draw
from steinquad.cli.evaluations import Values
from steinquad.cli.main import main
from steinquad.problems.wind_farm_inputs import NAMES

SUPPORT = "0=0:,1=0:,2=0:,3=0:,4=0:45"


@pytest.fixture
def run(monkeypatch, capsys):
    """The command with these arguments: exit code and what it printed."""

    def command(*arguments):
        monkeypatch.setattr(sys, "argv", ["steinquad", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            main()
        return stop.value.code, capsys.readouterr()

    return command


def test_the_file_has_points_values_and_scores_and_is_integrated(run, tmp_path):
    file, path = tmp_path / "runs.csv", tmp_path / "values.jsonl"
    code, out = run("draw", "wind-farm", file, "--n", 40, "--seed", 3, "--path", path)
    assert code == 0 and "40 simulator runs" in out.out
    farm = sq.problems.wind_farm()
    x = farm.measure.sample(40, seed=3)
    table = pyarrow.csv.read_csv(file)
    found = np.array([table[name] for name in NAMES]).T
    np.testing.assert_allclose(found, x, rtol=1e-14)
    found = np.array([table[f"score_{name}"] for name in NAMES]).T
    np.testing.assert_allclose(found, farm.measure.score(x), rtol=1e-12)
    thrust = np.array(table["thrust"])
    np.testing.assert_allclose(thrust[:3], farm.integrand(x[:3]), rtol=1e-12)
    code, out = run(
        "integrate", file, "--x", ",".join(NAMES), "--value", "thrust", "--support", SUPPORT,
        "--score", ",".join(f"score_{name}" for name in NAMES), "--method", "mc", "--json",
    )  # fmt: skip
    record = json.loads(out.out)
    np.testing.assert_allclose(record["mean"], thrust.mean())
    assert code == 0


def test_a_stopped_run_goes_on(run, tmp_path, monkeypatch):
    file, path = tmp_path / "runs.parquet", tmp_path / "values.jsonl"
    assert run("draw", "wind-farm", file, "--n", 40, "--path", path)[0] == 0
    whole = file.read_bytes()
    lines = path.read_text().splitlines()
    path.write_text("\n".join(lines[:2]) + "\n")  # as if stopped after 32
    seen, evaluate = [], draw.evaluate
    monkeypatch.setattr(
        draw, "evaluate", lambda *a, **k: seen.append(len(a[2].rows)) or evaluate(*a, **k)
    )
    assert run("draw", "wind-farm", file, "--n", 40, "--path", path)[0] == 0
    assert seen == [32] and file.read_bytes() == whole


SETTINGS = {"problem": "made up", "n": 6}


@pytest.mark.parametrize("left", [1, 12, 27, 30, 45, 47])
def test_values_survive_a_kill_at_any_byte(tmp_path, left):
    path = tmp_path / "values.jsonl"
    Values(path, SETTINGS).add(np.arange(3.0))
    whole = path.read_bytes()
    first = whole.index(b"\n") + 1
    path.write_bytes(whole[:left])
    again = Values(path, SETTINGS)
    assert again.rows == ([0.0, 1.0, 2.0] if left >= len(whole) else [])
    assert path.read_bytes() == (whole if left >= len(whole) else whole[:first])
    again.add(np.ones(2))
    assert Values(path, SETTINGS).rows == [*again.rows[:-2], 1.0, 1.0]


@pytest.mark.parametrize("content", ["1\n2\n", "x,y", "\n", '{"problem": "made up"'])
def test_a_file_of_something_else_is_left_alone(tmp_path, content):
    path = tmp_path / "values.jsonl"
    path.write_text(content)
    with pytest.raises(sq.InputError, match="--path"):
        Values(path, {"n": 6})
    assert path.read_text() == content


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["runs.txt"], "give a .csv or .parquet"),
        (["runs.csv", "--n", "0"], "n is 0"),
        (["runs.csv", "--seed", "-1"], "seed is -1"),
        (["runs.csv", "--physics", "p1"], "physics is 'p1'"),
        (["runs.csv", "--simulator", "cfd"], "simulator is 'cfd'"),
        (["runs.csv", "--path", "other.jsonl"], "name another file"),
    ],
)
def test_wrong_input_is_one_line_and_exit_2(run, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other.jsonl").write_text('{"problem": "another"}\n')
    code, out = run("draw", "wind-farm", *arguments)
    assert code == 2 and message in out.err
    assert out.err.count("\n") == 1 and "Traceback" not in out.err
