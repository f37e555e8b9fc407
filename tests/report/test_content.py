"""What a report says: the numbers of the estimate, with what they rest on."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.stats as st

import steinquad as sq
from steinquad.report.content import CITE
from steinquad.report.numbers import interval, percent


def test_numbers_are_those_of_the_estimate(good):
    content = good.content
    power, loss = content["outputs"]
    for output, truth in ((power, 3.025e6), (loss, 5e-5)):
        assert abs(output["mean"] - truth) < 5 * output["std"]
        low, high = output["interval95"]
        shown = interval(low, high, output["mean"], output["std"], output["unit"])
        assert f"95 % interval: {shown}" in good.html
    assert [look["n"] for look in power["convergence"]] == [40, 80]
    assert power["check"]["explained"] > 0.95 and content["answer"]["folds"] == 10
    shown = np.array(power["predicted"]["points"])
    assert power["predicted"]["kind"] == "cross-fitted" and shown.shape == (80, 2)
    # Of variance: 4e10 of a, 1e10 * Var(b^3) of b, 1e8 / 12 + ... of both.
    first = {each["inputs"][0]: each["first"] for each in power["effects"]}
    assert first["a"] == pytest.approx(0.98, abs=0.02) and first["b"] < 0.05
    std, *quantiles = power["distribution"]
    assert std["kind"] == "std" and std["low"] < 2.02e5 < std["high"]
    assert [each["at"] for each in quantiles] == [0.05, 0.5, 0.95]
    assert quantiles[1]["low"] < 3.02e6 < quantiles[1]["high"]
    (candidate,) = content["answer"]["candidates"]
    assert candidate["weight"] == [1.0, 1.0] and "held-out error" in good.html
    assert percent(candidate["held_out_rms"]) in good.html
    timing = content["timing"]
    assert timing["sessions"] == 1 and timing["elapsed"] >= timing["seconds"] > 0
    assert "The study was run once, first at" in good.html
    assert "None of 80 evaluations failed" in good.html
    assert json.loads(good.json)["versions"]["steinquad"] == sq.__version__


def test_settings_that_are_numbers_of_numpy_are_plain_in_json(make, tmp_path):
    study = make(runs=np.int64(40), until={"std": np.float32(0.5)}, seed=np.int64(3))
    answer = study.run()
    content = sq.report.write(study, tmp_path / "r.json", estimate=answer)
    assert json.loads((tmp_path / "r.json").read_text()) == content
    assert content["study"]["runs"] == 40 and content["study"]["until"] == {"std": 0.5}


def test_sobol_points(make, tmp_path):
    study = make(points="sobol", method=sq.QuasiMonteCarlo())
    answer = study.run()
    content = sq.report.write(study, tmp_path / "r.html")
    (output,) = content["outputs"]
    averages = output["average"]
    # By the spread of the replicates, once each of the sixteen has a point.
    assert all((each["std"] is None) == (each["n"] < 16) for each in averages)
    assert averages[-1]["std"] == pytest.approx(answer.std, rel=1e-12)
    assert averages[-1]["mean"] == pytest.approx(answer.mean, rel=1e-12)
    assert output["weighted"] is False
    assert "no model" in content["sensitivity"]["reason"]


def test_adaptive_points_are_averaged_by_their_weights(make, tmp_path):
    study = replace(make(points="adaptive", method=sq.Polynomial()), runs=240)
    study.run()
    content = sq.report.write(study, tmp_path / "r.html", tmp_path / "r.md")
    assert content["outputs"][0]["weighted"] is True
    assert "The weighted average of the same runs has the std" in (tmp_path / "r.md").read_text()


def test_dependent_inputs(make):
    pair = st.multivariate_normal([0.0, 0.0], [[1.0, 0.5], [0.5, 1.0]])
    inputs = sq.Product({"pair": pair})
    inputs.names = ("a", "b")
    study = make(inputs=inputs, method=sq.Polynomial())
    study.run()
    assert "depend on each other" in sq.report.write(study)["sensitivity"]["reason"]


def test_the_citation_is_that_of_the_file():
    cff = (Path(__file__).parents[2] / "CITATION.cff").read_text(encoding="utf-8")
    title = re.search(r"    title: (.*)", cff)
    families = re.findall(r"family-names: (.*)", cff)
    assert title and title[1] in CITE["paper"]
    assert families and all(name in CITE["paper"] for name in families)
