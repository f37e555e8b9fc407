"""`steinquad truth wind-farm`: agrees, goes on after a stop; wrong input is exit 2."""

import json
import sys

import pytest

from steinquad.cli import wind_farm_truth
from steinquad.cli.main import main
from steinquad.problems.wind_farm import TRUTHS

SHORT = ["--inputs", "direction", "--points", "64", "--replicates", "4"]


def run(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["steinquad", "truth", "wind-farm", *map(str, arguments)])
    with pytest.raises(SystemExit) as stop:
        main()
    return stop.value.code, capsys.readouterr()


def test_goes_on_after_a_stop_and_agrees(tmp_path, monkeypatch, capsys):
    path = tmp_path / "values.jsonl"
    code, out = run(monkeypatch, capsys, *SHORT, "--path", path, "--json")
    record = json.loads(out.out)
    assert code == 0 and record["agrees"] is True and 0 < record["std"] < 1e-2
    lines = path.read_text().splitlines()
    assert len(lines) == 3
    path.write_text("\n".join(lines[:2]) + "\n")  # as if stopped half way
    done = []
    evaluate = wind_farm_truth.evaluate
    monkeypatch.setattr(
        wind_farm_truth,
        "evaluate",
        lambda problem, x, values, p: (
            done.append(len(values.rows)) or evaluate(problem, x, values, p)
        ),
    )
    code, out = run(monkeypatch, capsys, *SHORT, "--path", path, "--json")
    assert code == 0 and json.loads(out.out) == record and done == [32]


def test_a_contradiction_is_exit_1(monkeypatch, capsys):
    variant = ("p22", "whole", "paper", "direction")
    monkeypatch.setitem(TRUTHS, variant, (0.5, 1e-6))
    code, out = run(monkeypatch, capsys, *SHORT)
    assert code == 1 and "CONTRADICTION" in out.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--physics", "p1"], "physics is 'p1'; choose one of p22, p26"),
        (["--points", "100"], "--points is 100 with --replicates 16"),
        (["--replicates", "1"], "at least 2 replicates"),
        (["--seed", "-1"], "--seed is -1"),
        ([*SHORT, "--path", "/nowhere/values.jsonl"], "cannot be used"),
        ([*SHORT, "--path", "other.txt"], "not a file of this command"),
        ([*SHORT, "--path", "another.jsonl"], "name another file"),
    ],
)
def test_wrong_input_is_one_line_and_exit_2(tmp_path, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other.txt").write_text("words\n")
    (tmp_path / "another.jsonl").write_text('{"problem": "another"}\n')
    code, out = run(monkeypatch, capsys, *arguments)
    assert code == 2 and message in out.err
    assert out.err.count("\n") == 1 and "Traceback" not in out.err
