"""What the Stein operator sees of points: the operator is the same in any coordinates."""

import numpy as np
import pytest
from scipy.stats import norm

from steinquad.measures.affine import Affine
from steinquad.points import Points
from steinquad.stein.inputs import NetworkFrame, SteinInputs, multipliers, stein_inputs, to_cube
from steinquad.stein.multipliers import Boundary, Constant, Coordinate, InverseRoot
from steinquad.support import Support

RNG = np.random.default_rng(4)


def affine(dim: int) -> Affine:
    matrix = np.eye(dim) + 0.3 * RNG.normal(size=(dim, dim))
    return Affine(RNG.normal(size=dim), matrix, np.linalg.inv(matrix))


@pytest.mark.parametrize("dim", [1, 2, 5])
@pytest.mark.parametrize("multiplier", [Constant(2.0), InverseRoot(), Coordinate()])
def test_a_linear_field_has_the_same_image_in_both_coordinates(dim, multiplier):
    """m u . score + div(m u) for u = L A z, by hand in x and by the inputs in z."""
    points = Points(RNG.normal(size=(7, dim)), RNG.normal(size=(7, dim)))
    frame_of = affine(dim)
    a = RNG.normal(size=(dim, dim))
    value, slope = multiplier(points)
    z = frame_of.points(points.x)
    u = z @ a.T @ frame_of.matrix.T
    gradient = np.diag(frame_of.matrix @ a @ frame_of.inverse)
    by_hand = np.sum(u * (value * points.score + slope) + value * gradient, axis=1)
    inputs, frame = stein_inputs(points, multiplier, frame_of)
    np.testing.assert_allclose(inputs.z, z)
    for i in range(7):
        one = SteinInputs(*(part[i] for part in vars(inputs).values()))
        trace = np.asarray(multipliers(one, frame)) @ gradient
        image = np.asarray(one.drift) @ (a @ z[i]) + trace
        np.testing.assert_allclose(image, by_hand[i], rtol=1e-12)


def test_every_multiplier_goes_to_its_coordinate():
    inf = np.inf
    box = Support(np.array([-inf, -9.0, -inf, -inf]), np.array([inf, inf, inf, 9.0]))
    points = Points(RNG.normal(size=(3, 4)), np.zeros((3, 4)))
    boundary = Boundary().fit(points, box)
    inputs, frame = stein_inputs(points, boundary, Affine.identity(4))
    assert frame.varying == (1, 3) and frame.shared == (0, 2)
    value, _ = boundary(points)
    for i in range(3):
        one = SteinInputs(*(part[i] for part in vars(inputs).values()))
        np.testing.assert_array_equal(multipliers(one, frame), value[i])


def test_without_shared_coordinates_the_scale_is_not_read():
    point = SteinInputs(np.zeros(2), np.zeros(2), np.array(np.nan), np.array([2.0, 3.0]))
    own = NetworkFrame(np.eye(2), np.eye(2), (0, 1))
    np.testing.assert_array_equal(multipliers(point, own), [2.0, 3.0])
    shared = NetworkFrame(np.eye(2), np.eye(2), ())
    np.testing.assert_array_equal(
        multipliers(SteinInputs(np.zeros(2), np.zeros(2), np.array(5.0), np.zeros(0)), shared), 5.0
    )


def test_bent_coordinates_follow_the_formula_and_others_stay():
    x = RNG.normal(size=(6, 2))
    before, frame = stein_inputs(Points(x, -x), Constant(2.0), Affine.identity(2))
    after, bent = to_cube(before, frame, np.array([True, False]))
    z, p, below = x[:, 0], norm.pdf(x[:, 0]), norm.cdf(x[:, 0])
    factor = 4 * below * (1 - below) / p
    slope = 4 * (1 - 2 * below) + z * factor  # of the factor by z
    np.testing.assert_allclose(after.z[:, 0], np.sqrt(12) * (below - 0.5), rtol=1e-12)
    np.testing.assert_allclose(
        after.drift[:, 0], (-z * factor + slope) / 2, rtol=1e-10, atol=1e-12
    )
    np.testing.assert_allclose(after.factors[:, 0], factor * np.sqrt(12) * p / 2, rtol=1e-12)
    np.testing.assert_array_equal(after.z[:, 1], before.z[:, 1])
    np.testing.assert_array_equal(after.drift[:, 1], before.drift[:, 1])
    np.testing.assert_array_equal(after.factors[:, 1], 0.5)
    assert bent.varying == (0, 1) and frame.varying == ()
    ahead, behind = (4 * norm.cdf(t) * norm.sf(t) / norm.pdf(t) for t in (z + 1e-6, z - 1e-6))
    np.testing.assert_allclose(slope, (ahead - behind) / 2e-6, atol=1e-8)
