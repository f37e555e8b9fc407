"""The table in every form that it comes in."""

import json

import numpy as np
import pytest
from made_up_chains import skewed

import steinquad as sq

xarray = pytest.importorskip("xarray")
pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def tree():
    known = skewed(400, 2)
    theta = xarray.DataArray(known.draws, dims=("chain", "draw", "school"))
    theta = theta.assign_coords(school=["north", "south"])
    posterior = xarray.Dataset({"theta": theta, "first": theta[..., 0].drop_vars("school")})
    score = xarray.Dataset({"theta": theta.copy(data=known.score)})
    return xarray.DataTree.from_dict({"posterior": posterior, "score": score})


@pytest.fixture(scope="module")
def found(tree):
    return sq.posterior_expectation(tree)


def test_the_frame_has_a_row_for_everything(found):
    frame = found.to_dataframe()
    columns = ["name", "statistic", "plain", "mcse", "mean", "std", "low", "high"]
    assert list(frame.columns) == [*columns, "reduction", "method", "warnings"]
    assert list(frame.name.unique()) == ["theta[north]", "theta[south]", "first"]
    assert list(frame.statistic[:3]) == ["mean", "variance", frame.statistic[2]]
    assert frame.statistic[2].startswith("P[x <= ") and list(frame.statistic[3:4]) == ["5%"]
    np.testing.assert_allclose(frame.reduction, (frame.mcse / frame["std"]) ** 2)
    assert (frame.low <= frame["mean"]).all() and (frame["mean"] <= frame.high).all()


def test_the_summary_is_like_that_of_arviz(found):
    summary = found.summary()
    assert list(summary.index) == ["theta[north]", "theta[south]", "first"]
    assert {"mean", "sd", "5%", "95%", "mcse_mean", "mcse_sd", "ess_bulk", "r_hat"} <= set(summary)
    row = found["theta[north]", "variance"]
    assert summary.sd.iloc[0] == pytest.approx(np.sqrt(row.mean))
    assert summary.mcse_sd.iloc[0] == pytest.approx(row.std / (2 * np.sqrt(row.mean)))


def test_text_and_json(found):
    text = str(found)
    assert text.startswith("1000 draws of 4 chains") and "theta[south]" in text
    assert "order 3" in text and text.endswith("chose the method of every row")
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert plain["status"] == "converged" and len(plain["rows"]) == len(found.rows)


def test_the_tree_comes_back_with_a_group(tree, found, tmp_path):
    new = found.to_datatree()
    assert set(new.children) == {"posterior", "score", "posterior_expectation"}
    assert set(tree.children) == {"posterior", "score"}  # as it was
    group = new["posterior_expectation"]
    better = group["theta"].sel(statistic="mean", column="mean", school="south")
    assert float(better) == found["theta[south]"].mean
    assert (
        float(group["first"].sel(statistic="95%", column="plain")) == found["first", "95%"].plain
    )
    new.to_netcdf(tmp_path / "new.nc")
    with xarray.open_datatree(tmp_path / "new.nc") as again:
        xarray.testing.assert_equal(
            again["posterior_expectation"].to_dataset(), group.to_dataset()
        )


def test_arrays_and_functions_make_a_new_tree():
    known = skewed(401, 2)
    of_parameters = sq.posterior_expectation(known.draws, score=known.score).to_datatree()
    assert of_parameters["posterior"]["x"].shape == (4, 250, 2)
    assert of_parameters["posterior_expectation"]["x"].dims == ("statistic", "column", "x_dim_0")
    own = sq.posterior_expectation({"x": known.draws}, lambda v: v["x"], score=known.score)
    group = own.to_datatree()["posterior_expectation"]
    assert set(group.data_vars) == {"f[0]", "f[1]"}
    assert float(group["f[1]"].sel(statistic="mean", column="mean")) == own["f[1]"].mean


def test_what_is_not_there_is_said(found):
    with pytest.raises(sq.InputError, match="there is no mean of 'tau'; there are theta"):
        found["tau"]
    with pytest.raises(sq.InputError, match="there is no 7% of"):
        found["first", "7%"]
