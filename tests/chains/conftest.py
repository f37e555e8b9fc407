"""A tree of draws with scores, and the answers about it."""

import pytest
from made_up_chains import skewed

import steinquad as sq


@pytest.fixture(scope="session")
def tree():
    xarray = pytest.importorskip("xarray")
    known = skewed(400, 2)
    theta = xarray.DataArray(known.draws, dims=("chain", "draw", "school"))
    theta = theta.assign_coords(school=["north", "south"])
    posterior = xarray.Dataset({"theta": theta, "first": theta[..., 0].drop_vars("school")})
    score = xarray.Dataset({"theta": theta.copy(data=known.score)})
    return xarray.DataTree.from_dict({"posterior": posterior, "score": score})


@pytest.fixture(scope="session")
def summary(tree):
    return sq.posterior_expectation(tree)
