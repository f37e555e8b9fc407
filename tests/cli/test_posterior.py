"""`steinquad posterior`: a file of draws in, a table out."""

import json

import numpy as np
import pandas as pd
import pytest
from made_up_chains import normal

xarray = pytest.importorskip("xarray")
DIMS = ("chain", "draw", "i")
MODEL = """
import numpy as np
from steinquad.chains.targets.base import Target


class Normal(Target):
    def unconstrain(self, draws):
        return draws["x"]

    def score(self, points):
        return -(points - {mean})


model = Normal()
number = 3
"""


@pytest.fixture
def files(tmp_path):
    known = normal(500, 1, draws=200)
    posterior = xarray.Dataset({"x": (DIMS, known.draws)})
    score = xarray.Dataset({"x": (DIMS, known.score)})
    groups = {"posterior": posterior, "score": score}
    xarray.DataTree.from_dict(groups).to_netcdf(tmp_path / "with.nc")
    xarray.DataTree.from_dict({"posterior": posterior}).to_netcdf(tmp_path / "without.nc")
    score.to_netcdf(tmp_path / "scores.nc")
    (tmp_path / "model.py").write_text(MODEL.format(mean=known.mean[0]))
    (tmp_path / "broken.py").write_text("1 / 0")
    (tmp_path / "text.nc").write_text("no draws")
    return tmp_path, known


def test_scores_from_the_file_another_file_or_a_model(command, files):
    folder, known = files
    answers = []
    for arguments in (
        ("with.nc",),
        ("without.nc", "--scores", folder / "scores.nc"),
        ("without.nc", "--scores", folder / "with.nc"),
        ("without.nc", "--model", f"{folder / 'model.py'}:model"),
    ):
        code, out = command("posterior", folder / arguments[0], *arguments[1:], "--json")
        assert code == 0
        answers.append(json.loads(out.out)["rows"][0])
    for answer in answers:
        assert answer["name"] == "x[0]" and abs(answer["mean"] - known.mean[0]) < 1e-10


def test_the_table_and_files_of_it(command, files):
    folder, known = files
    code, out = command(
        "posterior", folder / "with.nc", "--var-names", "x", "--path", folder / "table.csv"
    )
    assert code == 0 and "800 draws of 4 chains" in out.out and "x[0]" in out.out
    frame = pd.read_csv(folder / "table.csv")
    assert abs(frame["mean"][0] - known.mean[0]) < 1e-10 and frame.statistic[1] == "variance"
    code, _ = command("posterior", folder / "with.nc", "--path", folder / "again.nc")
    with xarray.open_datatree(folder / "again.nc") as tree:
        better = tree["posterior_expectation"]["x"].sel(statistic="mean", column="mean")
        np.testing.assert_allclose(better, known.mean, rtol=1e-10)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("nowhere.nc",), "does not exist"),
        (("text.nc",), "cannot be read as NetCDF"),
        (("without.nc",), "score is missing"),
        (("without.nc", "--model", "model"), "give module:name"),
        (("without.nc", "--model", "no_such_module:model"), "cannot be loaded"),
        (("without.nc", "--model", "broken.py:model"), "ZeroDivisionError"),
        (("without.nc", "--model", "model.py:number"), "model is a int"),
        (("with.nc", "--model", "model.py:model", "--scores", "scores.nc"), "both given"),
        (("with.nc", "--var-names", "y"), "var_names has 'y'"),
        (("with.nc", "--path", "table.txt"), "cannot be written"),
        (("with.nc", "--path", "./with.nc"), "is the file of the draws"),
        (("without.nc", "--scores", "scores.nc", "--path", "scores.nc"), "file of the scores"),
        (("with.nc", "--path", "directory.csv"), "cannot be written"),
        (("without.nc", "--model", "leaves.py:model"), "SystemExit"),
    ],
)
def test_bad_input_exits_with_two(command, files, monkeypatch, arguments, words):
    monkeypatch.chdir(files[0])
    (files[0] / "directory.csv").mkdir(exist_ok=True)
    (files[0] / "leaves.py").write_text("raise SystemExit(3)\n")
    code, out = command("posterior", *arguments)
    assert code == 2 and words in out.err and out.err.count("\n") == 1
