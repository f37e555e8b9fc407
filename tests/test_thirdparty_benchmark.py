"""The pure parts of benchmarks/thirdparty.py, without the packages that it compares with."""

import doctest
import importlib
import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
NAMES = ("records", "thirdparty", "thirdparty_opponents", "thirdparty_problems")
NAMES += ("thirdparty_quadrature", "thirdparty_references", "thirdparty_report")
NAMES += ("thirdparty_truths",)


@pytest.fixture
def load(monkeypatch):
    """Modules of the folder of benchmarks, which is no package, by name."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    for name in NAMES:
        monkeypatch.delitem(sys.modules, name, raising=False)
    return importlib.import_module


def gumbel(x):
    return math.exp(-math.exp(-(x - 1) / 2))


def normal(x):
    return 0.5 * math.erfc((30 - x) / 8 / math.sqrt(2))


@pytest.mark.parametrize(
    ("name", "parameters", "x", "cdf"),
    [
        ("uniform", (-1, 3), 1.0, 0.5),
        ("normal", (30, 8), 35.0, normal(35)),
        ("lognormal", (0.5, 0.3), math.exp(0.5), 0.5),
        ("gumbel", (1, 2), 2.0, gumbel(2)),
        ("exponential", (4,), 0.5, 1 - math.exp(-2)),
        ("triangular", (0, 2, 0.5), 0.5, 0.25),
        ("beta", (1, 2, 10, 14), 12.0, 0.75),
        (
            "trunc-normal",
            (30, 8, 15, math.inf),
            35.0,
            (normal(35) - normal(15)) / (1 - normal(15)),
        ),
        ("trunc-gumbel", (1, 2, 0, 9), 2.0, (gumbel(2) - gumbel(0)) / (gumbel(9) - gumbel(0))),
    ],
)
def test_distributions_are_those_of_their_names(load, name, parameters, x, cdf):
    law = load("thirdparty_problems").Law(name, tuple(map(float, parameters)))
    assert law.cdf(np.array([x])) == pytest.approx([cdf], rel=1e-12)
    assert law.icdf(np.array([cdf])) == pytest.approx([x], rel=1e-9)


@pytest.mark.parametrize(
    ("name", "parameters", "mean"),
    [
        ("normal", (2, 3), 2 * (4 + 3 * 9)),
        (
            "gumbel",
            (0, 1),
            2 * 1.2020569031595942 + math.pi**2 / 2 * np.euler_gamma + np.euler_gamma**3,
        ),
        ("triangular", (0, 1, 0.25), (1 - 0.25**4) / (10 * 0.75)),
        ("trunc-gumbel", (0, 1, 0, 1), None),
    ],
)
def test_gauss_rules_integrate_cubes(load, name, parameters, mean):
    quadrature, law = load("thirdparty_quadrature"), load("thirdparty_problems").Law
    law = law(name, tuple(map(float, parameters)))
    x, w = quadrature.gauss(law, 3)
    if mean is None:
        y, v = quadrature.fine(law)
        mean = v @ y**3
    assert w @ x**3 == pytest.approx(mean, rel=1e-9)
    assert w.sum() == pytest.approx(1)


def test_nasty_integrands_have_the_means_that_they_claim(load):
    truths = load("thirdparty_truths")
    truths.POINTS = 12
    for problem in load("thirdparty_problems").nasty():
        row = truths.truth(problem)  # compares with Sobol points
        assert row["mean"] == problem.truth and (row["sd"] is None) != problem.finite


def test_true_values_are_stored_with_small_errors():
    stored = json.loads((BENCHMARKS / "results" / "thirdparty_truth.json").read_text())
    assert len(stored) == 99
    for name, row in stored.items():
        scale = max(abs(row["mean"]), row["sd"] or 0.0)
        assert row["error"] <= 1e-8 * scale, name


def test_answers_are_judged_relative_to_the_larger_of_mean_and_spread(load):
    judged = load("thirdparty_report").judged
    truth = {"mean": 1.0, "error": 1e-12, "sd": 4.0}
    answer = {"mean": 1.4, "std": 0.1, "low": 1.2, "high": 1.6}
    row = judged(answer, truth)
    assert row["relative"] == pytest.approx(0.1)
    assert row["ratio"] == pytest.approx(4) and not row["covered"]
    assert judged(answer, truth | {"sd": None})["relative"] == pytest.approx(0.4)
    assert judged({"mean": 1.0 + 1e-12, "std": 0.0, "low": 1.0, "high": 1.0}, truth)["ratio"] == 0
    assert judged({"mean": 1.1, "std": 0.0, "low": 1.1, "high": 1.1}, truth)["ratio"] == math.inf
    assert "covered" not in judged({"mean": 1.1}, truth)
    assert judged({"failed": "no"}, truth) == {}


def made_up(problem, method, relative, *, seed=0, std=1e-3, **more):
    row = {"problem": problem, "kind": "mean", "n": 100, "seed": seed, "method": method}
    row |= {"relative": relative, "error": relative, "std": std, "covered": True, "cpu": 1.0}
    return row | {"mean": relative, "ratio": relative / std, "status": "converged"} | more


def test_the_best_is_sought_among_methods_on_the_same_points(load):
    report = load("thirdparty_report")
    rows = [
        made_up("near", "default", 1.9e-3),
        made_up("near", "openturns", 1e-3),
        made_up("near", "sobol", 1e-6),  # on points of its own
        made_up("exact", "default", 1e-15),
        made_up("exact", "openturns", 1e-9),  # alike below the floor
        made_up("far", "default", 5e-2),
        made_up("far", "openturns", 1e-3),
        made_up("unsure", "default", 5e-2, std=6e-2),
        made_up("unsure", "openturns", 1e-3),
    ]
    assert report.near_the_best(rows, "default") == (2, 4)
    (case,) = report.far_behind(rows, "default")
    assert (case["problem"], case["best"]) == ("far", "openturns")


def test_an_answer_is_confidently_wrong_unless_it_warns(load):
    wrong = load("thirdparty_report").confidently_wrong
    assert wrong({"covered": False, "status": "constant"})
    assert not wrong({"covered": False, "status": "suspect"})
    assert not wrong({"covered": True, "status": "converged"})


def test_the_report_shows_every_kind_and_what_failed(load, capsys):
    report = load("thirdparty_report").report
    truth = {"mean": 0.0, "error": 1e-13, "sd": 1.0}
    rows = []
    for kind in ("mean", "probability", "borehole", "nasty"):
        for method in ("mc", "openturns", "default", "own"):
            row = made_up(kind, method, 1e-3, kind=kind, low=-1.0, high=1.0)
            if method == "openturns":
                row = {k: v for k, v in row.items() if k not in ("std", "covered", "ratio")}
            rows.append(row)
    rows.append(made_up("mean", "bq", 1.0, failed="too many points"))
    report(rows, dict.fromkeys(("mean", "probability", "borehole", "nasty"), truth))
    shown = capsys.readouterr().out
    for part in ("Means", "Failure", "Borehole", "Nasty", "bq failed 1 times: too many points"):
        assert part in shown
    assert "| OpenTURNS | 1 | 1.0e-3 | - | 1 |" in shown
    assert "confidently wrong in 0 of 1" in shown


def test_a_run_goes_on_where_it_was_cut_off(load, monkeypatch, tmp_path):
    thirdparty, records = load("thirdparty"), load("records")
    monkeypatch.setattr(records, "RESULTS", tmp_path)
    problem = load("thirdparty_problems").nasty()[3]
    known, truths = {problem.name: problem}, {problem.name: {"mean": 7.4, "error": 0, "sd": 50.0}}
    todo = list(thirdparty.cells(known.values(), ("mc", "sobol"), None, (100, 101)))

    def run(hours):
        kept = records.Records("thirdparty", ("problem", "n", "seed", "method"))
        thirdparty.run(kept, known, truths, todo, hours)
        return kept

    assert not run(-1.0).rows
    whole = run(1.0)
    assert [(row["seed"], row["method"]) for row in whole.rows] == [
        (seed, method) for seed in (100, 101) for method in ("mc", "sobol")
    ]
    assert whole.rows[0]["covered"] in (True, False) and "covered" not in whole.rows[1]
    lines = whole.path.read_text().splitlines()
    whole.path.write_text("\n".join(lines[:-1]) + "\n")
    again = run(1.0)
    assert again.path.read_text().splitlines()[:-1] == lines[:-1]
    assert len(again.rows) == 4 and again.rows[-1]["mean"] == whole.rows[-1]["mean"]


def test_any_part_of_a_run_is_a_fair_one(load):
    thirdparty, problems = load("thirdparty"), load("thirdparty_problems")
    every = [problems.narrow_borehole(), *problems.nasty()]
    todo = list(thirdparty.cells(every, None, None, None))
    assert len(todo) == 20 * 3 + 12 * 10
    assert [cell.seed for cell in todo] == sorted(cell.seed for cell in todo)
    assert {cell.problem for cell in todo if cell.seed == 0} == {each.name for each in every}
    few = list(thirdparty.cells(every, ("default",), (50,), (100,)))
    assert [(cell.n, cell.seed, cell.methods) for cell in few] == [(50, 100, ("default",))]


def test_candidate_sets_are_hyperbolic_and_weighted(load):
    index_set = load("thirdparty_opponents").index_set
    for q, count in ((1.0, 10), (0.5, 7)):
        found = index_set(np.ones(2), q, 3, 1000)
        assert len(found) == count and not found[0].any()
        assert (np.sum(found**q, axis=1) <= 3**q + 1e-9).all()
    assert index_set(np.ones(2), 1.0, 3, 9) is None
    assert index_set(np.array([1.0, 9.0]), 1.0, 3, 9)[:, 1].max() == 0


@pytest.mark.parametrize("name", NAMES)
def test_examples_of_the_scripts_hold(load, name):
    assert doctest.testmod(load(name)).failed == 0
