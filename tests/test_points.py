"""Points ask the measure only for what a model needs; a space refuses points of another one."""

import numpy as np
import numpyro.distributions as dist
import pytest

import steinquad as sq
from steinquad.measures import as_measure
from steinquad.points import Points, Space

X = np.array([[0.5, -1.0], [2.0, 0.0], [1.0, 3.0]])


class Asked:
    """A standard normal in two dimensions that counts what it is asked for."""

    def __init__(self, *provides):
        self.provides, self.calls = frozenset(provides), []

    def score(self, x):
        self.calls.append("score")
        return -x

    def log_density(self, x):
        self.calls.append("log_density")
        return -0.5 * np.sum(x**2, axis=1)


def test_the_measure_is_asked_once_and_only_for_what_is_needed():
    measure = Asked("log_density")
    points = Points(X, measure=measure)
    assert measure.calls == []
    for _ in range(2):
        np.testing.assert_array_equal(points.score, -X)
        np.testing.assert_array_equal(points.known_score, -X)
        np.testing.assert_array_equal(points.log_density, [-0.625, -2.0, -5.0])
    assert measure.calls == ["score", "log_density"]


def test_what_is_given_is_not_asked_for():
    measure = Asked("log_density")
    points = Points(X, 7 * X, np.arange(3.0), measure=measure)
    np.testing.assert_array_equal(points.score, 7 * X)
    np.testing.assert_array_equal(points.log_density, [0.0, 1.0, 2.0])
    data = sq.Dataset(X, X[:, 0], 5 * X)
    np.testing.assert_array_equal(Points.of(data, measure).score, 5 * X)
    assert measure.calls == []


def test_some_of_them_keep_what_belongs_to_them():
    rows, measure = np.array([2, 0]), Asked()
    some = Points(X, 7 * X, np.arange(3.0)).take(rows)
    np.testing.assert_array_equal(some.x, X[rows])
    np.testing.assert_array_equal(some.score, 7 * X[rows])
    np.testing.assert_array_equal(some.log_density, [2.0, 0.0])
    lazy = Points(X, measure=measure).take(rows)
    assert measure.calls == []
    np.testing.assert_array_equal(lazy.score, -X[rows])


def test_what_nobody_knows():
    assert Points(X, measure=Asked()).log_density is None
    alone = Points(X)
    assert alone.known_score is None and alone.log_density is None
    with pytest.raises(sq.InputError, match="score is missing .*; pass score= with the gradient"):
        _ = alone.score


def test_a_space_refuses_points_of_another_one():
    data = sq.Dataset(X, X[:, 0], support={0: (0, None)})
    space = Space(data, None)
    with pytest.raises(sq.InputError, match=r"x has shape \(3, 1\); pass points of shape \(n, 2"):
        space.points(X[:, :1])
    with pytest.raises(sq.InputError, match="x has 1 points outside the support .*row 1"):
        space.points(X * [[1.0], [-1.0], [1.0]])
    with pytest.raises(sq.InputError, match=r"score has shape \(2, 2\) but x has shape \(3, 2\)"):
        space.points(X, X[:2])
    np.testing.assert_array_equal(space.points(X, 3 * X).score, 3 * X)
    assert space.points(X).known_score is None


def test_a_space_completes_points_from_its_measure():
    measure = as_measure(dist.Normal(0, 1).expand([2]).to_event(1))
    points = Space(sq.Dataset(-X, X[:, 0]), measure).points(-X)  # no support: all of R^2
    np.testing.assert_allclose(points.score, X)
    np.testing.assert_allclose(np.diff(points.log_density), np.diff([-0.625, -2.0, -5.0]))
