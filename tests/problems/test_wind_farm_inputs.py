"""The distributions of the inputs, and the points that the model refuses."""

import numpy as np
import pytest
import scipy.integrate
from scipy.special import ndtr

import steinquad as sq
from steinquad.problems.wind_farm import wind_farm
from steinquad.problems.wind_farm_inputs import (
    MEANS,
    NAMES,
    NOMINAL,
    VARIANCES,
    WEIGHTS,
    as_inputs,
    direction_distribution,
)

VARIANTS = [("whole", "paper"), ("components", "paper"), ("whole", "code")]


@pytest.mark.parametrize(("truncation", "turbulence"), VARIANTS)
def test_score_against_finite_differences(truncation, turbulence):
    measure = wind_farm(direction_truncation=truncation, turbulence=turbulence).measure
    x = measure.sample(20, seed=3)
    score = measure.score(x)
    for j in range(7):
        step = np.zeros(7)
        step[j] = 1e-4 * x[:, j].std()
        slope = (measure.log_density(x + step) - measure.log_density(x - step)) / (2 * step[j])
        np.testing.assert_allclose(slope, score[:, j], rtol=1e-5, atol=1e-6 / x[:, j].std())


@pytest.mark.parametrize("truncation", ["whole", "components"])
def test_the_direction_is_normalized_and_cut_where_it_says(truncation):
    distribution = direction_distribution(truncation)

    def density(t):
        return np.exp(distribution.log_density(np.array([[t]])))[0]

    total, _ = scipy.integrate.quad(density, 0.0, 45.0, epsabs=1e-12)
    assert total == pytest.approx(1.0, abs=1e-10)
    assert np.isinf(distribution.log_density(np.array([[-0.1], [45.1]]))).all()
    # The density by hand: one cut of the sum, or a cut of each of its parts.
    t, scale = 17.0, np.sqrt(VARIANCES)
    parts = np.exp(-((t - np.array(MEANS)) ** 2) / (2 * scale**2)) / (scale * np.sqrt(2 * np.pi))
    masses = ndtr((45 - np.array(MEANS)) / scale) - ndtr(-np.array(MEANS) / scale)
    weights = np.array(WEIGHTS) / sum(WEIGHTS)
    whole = weights @ parts / (weights @ masses)
    want = whole if truncation == "whole" else weights @ (parts / masses)
    assert density(t) == pytest.approx(want, rel=1e-12)


def test_effective_weights_of_the_mixture():
    law = direction_distribution("whole").factors()
    assert law is not None
    np.testing.assert_allclose(law.weights, [0.2273, 0.5681, 0.2046], atol=5e-5)


POINT = [1.33, 0.38, 4e-3, 0.1, 20.0, 100.0, 100.0]


def changed(**values):
    return [[values.get(name, v) for name, v in zip(NAMES, POINT, strict=True)]]


@pytest.mark.parametrize(
    ("x", "words"),
    [
        (
            changed(direction=50.0),
            r"direction = 50 in row 0, outside its physical range \[0, 45\]",
        ),
        (changed(ct_prime=0.0), r"ct_prime = 0 in row 0, outside its physical range \(0, 4\)"),
        (changed(ct_prime=4.0), "ct_prime = 4"),
        (changed(turbulence=-0.01), "turbulence = -0.01"),
        (changed(w1=-1e-9), "w1 = -1e-09"),
        (changed(hub_height=60.0, diameter=150.0), "rotor touches the ground"),
        (changed(turbulence=np.nan), "x contains NaN"),
        (changed(diameter=np.inf), "x contains inf"),
        ([POINT[:6]], r"x has shape \(1, 6\); pass points of shape \(n, 7\)"),
        (POINT, r"x has shape \(7,\); pass points of shape \(n, 7\)"),
        ([["a"] * 7], "x is not numeric"),
    ],
)
def test_wrong_points(x, words):
    with pytest.raises(sq.InputError, match=words):
        wind_farm().integrand(x)


def test_inputs_that_are_not_given_are_nominal():
    points = as_inputs([10.0, 30.0], ("direction",))
    np.testing.assert_array_equal(points[:, 4], [10.0, 30.0])
    others = [0, 1, 2, 3, 5, 6]
    np.testing.assert_array_equal(points[:, others], np.tile(NOMINAL[others], (2, 1)))
    swapped = as_inputs([[100.0, 1.0, 9.0]], ("diameter", "ct_prime", "direction"))
    assert swapped[0, [6, 0, 4]].tolist() == [100.0, 1.0, 9.0]
