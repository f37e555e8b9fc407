"""The reference computations agree where they should, and a wrong truth is found out."""

import json
import sys

import numpy as np
import pytest

import steinquad as sq
from steinquad.cli.main import main
from steinquad.paper import goodwin as ways
from steinquad.paper.reference import Reference, contradictions
from steinquad.problems.goodwin import PARAMETERS, TRUTHS


@pytest.fixture
def run(monkeypatch, capsys):
    def command(*arguments):
        monkeypatch.setattr(sys, "argv", ["steinquad", *map(str, arguments)])
        monkeypatch.setenv("COLUMNS", "120")
        with pytest.raises(SystemExit) as stop:
            main()
        return stop.value.code, capsys.readouterr()

    return command


@pytest.mark.slow
def test_two_ways_to_a_coarse_posterior_agree():
    """Apart by less than five standard errors; false alarms 6e-4 (t of 15 dof, four means)."""
    problem = sq.problems.goodwin(observations=240, rtol=1e-8)
    sobol = ways.by_importance(problem, 16 * 128)
    nuts = ways.by_nuts(problem, 400, order=3)
    assert not list(contradictions([sobol, nuts], PARAMETERS, rtol=1e-7))
    assert np.all(sobol.std < 2e-3) and np.all(nuts.std < 1e-3)
    # negative control: the generating parameters are not the posterior mean
    wrong = Reference("generating", np.array([1.0, 3.0, 1.0, 0.5]), np.zeros(4))
    assert list(contradictions([wrong, nuts], PARAMETERS, rtol=1e-7))


@pytest.fixture
def answers(monkeypatch):
    """The two ways replaced by what they would find, plus an offset."""

    def found(offset):
        mean = np.array(TRUTHS[0]) + offset
        for name in ("by_nuts", "by_importance"):
            reference = Reference(name, mean, np.full(4, 1e-8))
            monkeypatch.setattr(ways, name, lambda *a, r=reference, **k: r)

    return found


def test_the_stored_truth_is_confirmed(run, answers):
    answers(2e-8)
    code, out = run("truth", "goodwin", "--seed", 0)
    assert code == 0 and "All agree." in out.out and "0.9998484100" in out.out


def test_a_wrong_truth_is_exit_1(run, answers):
    answers(np.array([0, 1e-6, 0, 0]))
    code, out = run("truth", "goodwin")
    assert code == 1 and "Contradiction: E[a2] is 2.99968403 by stored" in out.out
    code, out = run("truth", "goodwin", "--json")
    record = json.loads(out.out)
    assert code == 1 and len(record["contradictions"]) == 2 and len(record["rows"]) == 3


def test_without_a_stored_truth_the_ways_are_compared(run, answers):
    answers(0.0)
    code, out = run("truth", "goodwin", "--seed", 77)
    assert code == 0 and "No truth is stored for these data." in out.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["truth", "goodwin", "--seed", "-1"], "seed is -1"),
        (["truth", "goodwin", "--rtol", "3"], "rtol is 3.0"),
        (["truth", "goodwin", "--points", "1000"], "points is 1000"),
        (["truth", "goodwin", "--draws", "6"], "draws is 6"),
        (["truth", "goodwin", "--order", "0"], "order is 0"),
        (["truth", "goodwin", "--seed", "one"], "--seed"),
        (["truth", "oracle"], "oracle"),
        (["draw", "goodwin", "out.txt"], "give a .csv or .parquet"),
        (["draw", "goodwin", "out.csv", "--sampler", "gibbs"], "--sampler is 'gibbs'"),
        (["draw", "goodwin", "out.csv", "-n", "7"], "-n"),
        (["draw", "goodwin", "out.csv", "--n", "7", "--observations", "20"], "n is 7"),
    ],
)
def test_wrong_input_is_exit_2_without_traceback(run, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    code, out = run(*arguments)
    assert code == 2 and message in out.err and "Traceback" not in out.err


@pytest.mark.slow
def test_draws_in_a_file_are_integrated_by_the_command(run, tmp_path):
    file = tmp_path / "draws.csv"
    code, out = run(
        "draw", "goodwin", file, "--n", 60, "--sampler", "nuts", "--warmup", 30,
        "--observations", 240, "--rtol", "1e-6", "--path", tmp_path / "run",
    )  # fmt: skip
    assert code == 0 and "60 draws of 4 chains" in out.out and "proposals failed" in out.out
    assert list((tmp_path / "run").glob("draws-*.npz"))
    w, score = (",".join(f"{part}_{name}" for name in PARAMETERS) for part in ("w", "score"))
    code, out = run(
        "integrate", file, "--x", w, "--score", score, "--value", ",".join(PARAMETERS),
        "--groups", "chain", "--method", "polynomial", "--json",
    )  # fmt: skip
    record = json.loads(out.out)
    assert code == 0 and np.allclose(record["mean"], TRUTHS[0], rtol=0.2)
