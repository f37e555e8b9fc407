"""The wind farm as a study: its file has the inputs of the problem, and its answer is right."""

import shutil
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

import steinquad as sq

PLACE = Path(str(files("steinquad.studies") / "examples" / "wind-farm"))
# Std, quantiles and P[f > 0.9] by 16,384 scrambled Sobol points, a thousandth or so off.
TRUTHS = (0.1183, 0.513, 0.7449, 0.8959, 0.0445)


def test_the_file_has_the_inputs_of_the_problem():
    study, problem = sq.Study.load(PLACE / "study.toml"), sq.problems.wind_farm()
    assert study.measure.names == problem.measure.names
    x = problem.measure.sample(200, seed=0)
    np.testing.assert_allclose(study.measure.cdf(x), problem.measure.cdf(x), atol=1e-9)
    np.testing.assert_allclose(study.measure.score(x), problem.measure.score(x), rtol=1e-6)


def shipped(tmp_path, **changes):
    """The study as it is shipped, with some texts of its file replaced."""
    shutil.copy(PLACE / "farm.py", tmp_path)
    text = (PLACE / "study.toml").read_text()
    for old, new in changes.values():
        assert text.count(old) == 1
        text = text.replace(old, new)
    (tmp_path / "study.toml").write_text(text)
    return sq.Study.load(tmp_path / "study.toml")


def test_a_few_runs_are_those_of_the_problem(tmp_path):
    study = shipped(
        tmp_path,
        runs=("runs = 200", "runs = 6"),
        where=('where = "pool"', 'where = "here"'),
        name=('name = "wind farm"', 'method = "mc"'),
    )
    est, problem = study.run(), sq.problems.wind_farm()
    x = np.array([study.numbered[i] for i in range(6)])
    assert est.mean == pytest.approx(problem.integrand(x).mean(), rel=1e-12)
    kinds = [(row.kind, row.at) for row in study.distribution(est)["thrust"]]
    quantiles = [("quantile", p) for p in (0.05, 0.5, 0.95)]
    assert kinds == [("std", None), *quantiles, ("above", 0.9)]


def test_pywake_is_one_word_away(tmp_path):
    switch = ('"farm.py:thrust"', '"farm.py:thrust_by_pywake"')
    study = shipped(tmp_path, function=switch)
    assert study.call.function.endswith(":thrust_by_pywake")


@pytest.mark.slow
def test_the_answer_is_within_its_interval(tmp_path):
    study = shipped(tmp_path)
    est = study.run()
    low, high = est.interval(0.95)
    assert low < sq.problems.wind_farm().truth < high and high - low < 0.005
    assert study.status().done == 200
    for row, truth in zip(study.distribution(est)["thrust"], TRUTHS, strict=True):
        assert row.low < truth < row.high
