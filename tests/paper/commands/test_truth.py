"""`steinquad truth`: agrees or says why not, goes on after a stop; wrong input is exit 2."""

import json

import numpy as np
import pytest

from steinquad.paper import goodwin_truth
from steinquad.paper.commands import truth
from steinquad.paper.goodwin_truth import Reference
from steinquad.problems.goodwin import TRUTHS as GOODWIN_TRUTHS
from steinquad.problems.wind_farm import TRUTHS as WIND_FARM_TRUTHS

SHORT = ["--inputs", "direction", "--points", "64", "--replicates", "4"]


def test_goes_on_after_a_stop_and_agrees(command, tmp_path, monkeypatch):
    path = tmp_path / "values.jsonl"
    code, out = command("truth", "wind-farm", *SHORT, "--path", path, "--json")
    record = json.loads(out.out)
    assert code == 0 and record["agrees"] is True and 0 < record["std"] < 1e-2
    lines = path.read_text().splitlines()
    assert len(lines) == 3
    path.write_text("\n".join(lines[:2]) + "\n")  # as if stopped half way
    done = []
    evaluate = truth.evaluate
    monkeypatch.setattr(
        truth,
        "evaluate",
        lambda problem, x, values, p: (
            done.append(len(values.rows)) or evaluate(problem, x, values, p)
        ),
    )
    code, out = command("truth", "wind-farm", *SHORT, "--path", path, "--json")
    assert code == 0 and json.loads(out.out) == record and done == [32]


def test_a_contradiction_is_exit_1(command, monkeypatch):
    variant = ("p22", "whole", "paper", "direction")
    monkeypatch.setitem(WIND_FARM_TRUTHS, variant, (0.5, 1e-6))
    code, out = command("truth", "wind-farm", *SHORT)
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
def test_wrong_input_is_one_line_and_exit_2(command, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other.txt").write_text("words\n")
    (tmp_path / "another.jsonl").write_text('{"problem": "another"}\n')
    code, out = command("truth", "wind-farm", *arguments)
    assert code == 2 and message in out.err
    assert out.err.count("\n") == 1 and "Traceback" not in out.err


# The Goodwin oscillator: two ways and what is stored


@pytest.fixture
def answers(monkeypatch):
    """The two ways replaced by what they would find, plus an offset."""

    monkeypatch.setenv("COLUMNS", "120")

    def answer(offset):
        mean = np.array(GOODWIN_TRUTHS[0]) + offset
        for name in ("by_nuts", "by_importance"):
            reference = Reference(name, mean, np.full(4, 1e-8))
            monkeypatch.setattr(goodwin_truth, name, lambda *a, r=reference, **k: r)

    return answer


def test_the_stored_truth_is_confirmed(command, answers):
    answers(2e-8)
    code, out = command("truth", "goodwin", "--seed", 0)
    assert code == 0 and "All agree." in out.out and "0.9998484100" in out.out


def test_a_wrong_truth_is_exit_1(command, answers):
    answers(np.array([0, 1e-6, 0, 0]))
    code, out = command("truth", "goodwin")
    assert code == 1 and "Contradiction: E[a2] is 2.99968403 by stored" in out.out
    code, out = command("truth", "goodwin", "--json")
    record = json.loads(out.out)
    assert code == 1 and len(record["contradictions"]) == 2 and len(record["rows"]) == 3


def test_without_a_stored_truth_the_ways_are_compared(command, answers):
    answers(0.0)
    code, out = command("truth", "goodwin", "--seed", 77)
    assert code == 0 and "No truth is stored for these data." in out.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["goodwin", "--seed", "-1"], "seed is -1"),
        (["goodwin", "--rtol", "3"], "rtol is 3.0"),
        (["goodwin", "--points", "1000"], "points is 1000"),
        (["goodwin", "--draws", "6"], "draws is 6"),
        (["goodwin", "--order", "0"], "order is 0"),
        (["goodwin", "--seed", "one"], "--seed"),
        (["oracle"], "oracle"),
    ],
)
def test_wrong_input_of_goodwin_is_exit_2(command, arguments, message):
    code, out = command("truth", *arguments)
    assert code == 2 and message in out.err and "Traceback" not in out.err
