"""The wind farm as a study: its file has the laws of the problem, and its answer is right."""

import shutil
from pathlib import Path

import numpy as np
import pytest

import steinquad as sq

PLACE = Path(__file__).parents[2] / "examples" / "wind_farm_study"


def test_the_file_has_the_laws_of_the_problem():
    study, problem = sq.Study.load(PLACE / "study.toml"), sq.problems.wind_farm()
    assert study.measure.names == problem.measure.names
    x = problem.measure.sample(200, seed=0)
    np.testing.assert_allclose(study.measure.cdf(x), problem.measure.cdf(x), atol=1e-9)
    np.testing.assert_allclose(study.measure.score(x), problem.measure.score(x), rtol=1e-6)


@pytest.mark.slow
def test_the_answer_is_within_its_interval(tmp_path):
    for file in ("study.toml", "farm.py"):
        shutil.copy(PLACE / file, tmp_path)
    study = sq.Study.load(tmp_path / "study.toml")
    low, high = study.run().interval(0.95)
    assert low < sq.problems.wind_farm().truth < high and high - low < 0.005
    assert study.status().done == 200
