"""Standardized data: the same Stein identity in other coordinates, and obstacles in words."""

import jax
import numpy as np
import numpyro.distributions as dist
import pytest

import steinquad as sq
from steinquad.dataset import still_obstacle
from steinquad.fitting.standard_frame import StandardFrame, score_obstacle
from steinquad.measures import as_measure
from steinquad.points import Points
from steinquad.stein.multipliers import Boundary, Constant


@pytest.fixture(autouse=True)
def x64():
    with jax.enable_x64(True):
        yield


def fitted(data, measure=None, standardize="diagonal"):
    return StandardFrame.fit(
        data, measure, multiplier=Constant(), boundary=Boundary(), standardize=standardize
    )


def dataset(d, n=40):
    """Correlated draws of a normal distribution."""
    root = np.triu(np.ones((d, d)))
    x = np.random.default_rng(d).standard_normal((n, d)) @ root
    return sq.Dataset(x, np.cos(x.sum(axis=1)), -x @ np.linalg.inv(root.T @ root))


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("kind", ["diagonal", "whiten", "none"])
def test_new_points_are_seen_as_those_of_the_data_are(d, kind):
    data = dataset(d)
    frame = fitted(data, standardize=kind)
    for each in (frame, frame.in_cube):
        ours, again = each.at_all(), each.at(Points.of(data, None))
        parts = (jax.tree.leaves(part.blocks.inputs) for part in (ours, again))
        for a, b in zip(*parts, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)
    assert frame.dim == d and frame.separate == (kind != "whiten" or d == 1)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_draws_of_another_measure_are_a_violation(d):
    data = dataset(d, n=1000)
    wrong = sq.Dataset(data.x, data.fx[:, 0], 3 * data.score)
    assert fitted(data).violation is None
    assert "E[(x - E[x]) score] = -1" in fitted(wrong).violation
    grid = sq.Dataset(data.x, data.fx[:, 0], 3 * data.score, sampled=False)
    assert fitted(grid).violation is None


def test_a_bounded_support_has_a_factor_that_vanishes_on_its_faces():
    measure = as_measure(sq.Product({"a": dist.Uniform(0.0, 1.0), "b": dist.Normal(0.0, 1.0)}))
    x = measure.sample(50, seed=0)
    frame = fitted(sq.Dataset(x, x[:, 0], support=measure.support), measure)
    faces = np.array([[1e-12, 0.3], [1 - 1e-12, -0.2]])
    value, _ = frame.multiplier(Points(faces, measure=measure))
    inside, _ = frame.multiplier(Points(np.array([[0.5, 0.3]]), measure=measure))
    assert np.all(np.abs(value[:, 0]) < 1e-9) and inside[0, 0] > 1e-3


def test_obstacles_name_what_is_missing():
    x = np.column_stack([np.arange(5.0), np.full(5, 2.0)])
    data = sq.Dataset(x, x[:, 0], names=["a", "b"])
    assert "score is missing" in score_obstacle(data, None)
    still = "x does not vary in coordinate b; leave that coordinate out."
    assert still_obstacle(data) == still
    assert score_obstacle(sq.Dataset(x, x[:, 0], -x, names=["a", "b"]), None) == still
    assert score_obstacle(sq.Dataset(x[:, 0], x[:, 0], -x[:, 0]), None) is None
