"""The answers beside the draws, in the tree that they came in or in a new one."""

import numpy as np
import pytest
from made_up_chains import independent, skewed

import steinquad as sq

xarray = pytest.importorskip("xarray")


def test_the_tree_comes_back_with_a_group(tree, summary, tmp_path):
    new = summary.to_datatree()
    assert set(new.children) == {"posterior", "score", "posterior_expectation"}
    assert set(tree.children) == {"posterior", "score"}  # as it was
    group = new["posterior_expectation"]
    better = group["theta"].sel(statistic="mean", column="mean", school="south")
    assert float(better) == summary["theta[south]"].mean
    assert (
        float(group["first"].sel(statistic="95%", column="plain")) == summary["first", "95%"].plain
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


def test_every_group_of_an_inference_data_comes_back():
    arviz = pytest.importorskip("arviz")
    x = independent(4, 100, 1)[..., 0]
    data = arviz.from_dict(posterior={"a": x}, observed_data={"y": np.arange(3.0)})
    tree = sq.posterior_expectation(data, score={"a": -x}).to_datatree()
    assert {"posterior", "observed_data", "posterior_expectation"} <= set(tree.children)


def test_names_that_a_tree_cannot_hold():
    x = independent(4, 100, 2)
    slashed = sq.posterior_expectation({"a/b": x}, score={"a/b": -x})
    with pytest.raises(sq.InputError, match="'a/b' has a /"):
        slashed.to_datatree()
    dataset = xarray.Dataset({"a": (("chain", "draw", "column"), x)})
    clash = sq.posterior_expectation(dataset, score={"a": -x})
    with pytest.raises(sq.InputError, match="dimension 'column'"):
        clash.to_datatree()
