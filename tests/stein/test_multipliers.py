"""Multipliers: slopes are derivatives of values, factors vanish on faces, and fits are fixed."""

import numpy as np
import pytest

import steinquad as sq
from steinquad.points import Points
from steinquad.stein.multipliers import (
    Boundary,
    Constant,
    Coordinate,
    Density,
    InverseQuadratic,
    InverseRoot,
    PaperBoundary,
    ProductOf,
)
from steinquad.support import Support

DIM = 3
BOX = Support(np.array([0.0, -np.inf, -1.0]), np.array([2.0, np.inf, np.inf]))
X = np.random.default_rng(0).uniform(0.2, 1.5, (6, DIM))
STEP = 1e-5


def at(x):
    """Standard normal, which has a density too."""
    return Points(x, -x, -0.5 * np.sum(x**2, axis=1))


EVERY = {
    "constant": Constant(2.0),
    "std": Constant("std"),
    "quadratic": InverseQuadratic(),
    "root": InverseRoot(),
    "density": Density(),
    "coordinate": Coordinate(),
    "boundary": Boundary(),
    "paper": PaperBoundary(),
    "product": ProductOf((InverseRoot(), Coordinate(), Boundary())),
}


@pytest.mark.parametrize("name", EVERY)
def test_the_slope_is_the_derivative_of_the_value_along_its_own_coordinate(name):
    multiplier = EVERY[name].fit(at(X), BOX)
    value, slope = multiplier(at(X))
    assert value.shape == slope.shape == X.shape
    for i in range(DIM):
        step = STEP * np.eye(DIM)[i]
        ahead, behind = (multiplier(at(X + sign * step))[0][:, i] for sign in (1, -1))
        np.testing.assert_allclose(slope[:, i], (ahead - behind) / (2 * STEP), atol=1e-9)


@pytest.mark.parametrize("name", EVERY)
def test_coordinates_that_do_not_vary_by_themselves_share_a_value(name):
    multiplier = EVERY[name].fit(at(X), BOX)
    value, _ = multiplier(at(X))
    own = range(DIM) if multiplier.varying is None else multiplier.varying
    shared = np.delete(value, list(own), axis=1)
    assert np.all(shared == shared[:, :1])


@pytest.mark.parametrize("boundary", [Boundary(), PaperBoundary()])
def test_boundary_factors_vanish_on_faces_and_nowhere_else(boundary):
    fitted = boundary.fit(at(X), BOX)
    for i, side in ((0, 0.0), (0, 2.0), (2, -1.0)):
        face = X.copy()
        face[:, i] = side
        value, slope = fitted(at(face))
        assert np.all(value[:, i] == 0.0) and np.all(slope[:, i] != 0.0)
    assert np.all(fitted(at(X))[0] > 0.0)


def test_open_coordinates_have_the_factor_one_and_several_varying_ones_unite():
    fitted = Boundary().fit(at(X), BOX)
    value, slope = fitted(at(X))
    assert np.all(value[:, 1] == 1.0) and np.all(slope[:, 1] == 0.0)
    assert fitted.varying == (0, 2)
    other = Boundary().fit(at(X), Support(np.array([-np.inf, 0.0, -np.inf]), np.full(3, np.inf)))
    assert ProductOf((fitted, other)).varying == (0, 1, 2)
    assert ProductOf((fitted, Coordinate())).varying is None
    assert ProductOf((InverseRoot(), Constant())).varying == ()


def test_a_named_constant_is_taken_from_the_scores_once():
    points = at(X)
    for name, c in (("std", X.std()), ("max", np.abs(X).max())):
        fitted = Constant(name).fit(points, BOX)
        assert fitted == Constant(c)
        np.testing.assert_array_equal(fitted(at(X + 1))[0], 1.0 / c)  # not of the new points
    with pytest.raises(sq.InputError, match="c is 'std', which needs data; call fit first"):
        Constant("std")(points)
    given = Constant(3.0)
    assert given.fit(points, BOX) is given


@pytest.mark.parametrize("c", [0.0, -1.0, np.inf, np.nan, "mean"])
def test_constants_are_checked(c):
    with pytest.raises(sq.InputError, match="give a positive number, 'std' or 'max'"):
        Constant(c)


def test_a_density_that_is_not_known_is_refused():
    with pytest.raises(sq.InputError, match=r"Density\(\) needs the log density"):
        Density()(Points(X, -X))
