"""Chains in coordinates in which the measure is nearly a standard normal."""

import jax.numpy as jnp
import numpy as np
import pytest

from steinquad.designs import MALA, Design, Whitened, laplace
from steinquad.errors import InputError
from steinquad.measures import LogDensity
from steinquad.measures.affine import Affine

BENT = LogDensity(lambda x: -x @ x / 2 - (x[0] - x[1]) ** 4, 2)


def test_laplace_of_a_normal_is_the_normal():
    for d in (1, 2, 5):
        mean, factor = np.arange(1.0, d + 1), np.tril(np.full((d, d), 0.3)) + np.eye(d)
        precision = np.linalg.inv(factor @ factor.T)
        measure = LogDensity(lambda x, m=mean, p=precision: -(x - m) @ p @ (x - m) / 2, d)
        affine = laplace(measure, np.zeros(d))
        np.testing.assert_allclose(affine.shift, mean, atol=1e-6)
        np.testing.assert_allclose(affine.matrix, factor, atol=1e-6)
        np.testing.assert_allclose(affine.matrix @ affine.inverse, np.eye(d), atol=1e-9)


def test_whitened_draws_come_back_in_the_users_coordinates():
    measure = BENT
    affine = Affine(np.ones(2), np.array([[2.0, 0.0], [1.0, 3.0]]), np.zeros((2, 2)))
    affine = Affine(affine.shift, affine.matrix, np.linalg.inv(affine.matrix))
    design = Whitened(MALA(chains=2, warmup=50), affine)
    sample = design.draw(measure, 40, seed=0)
    assert isinstance(design, Design) and design.name == "whitened MALA"
    np.testing.assert_allclose(sample.score, measure.score(sample.x), rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(sample.groups, np.repeat([0, 1], 20))


def test_whitening_refuses_what_it_cannot_do():
    positive = LogDensity(lambda x: -jnp.sum(x), 1, support={0: (0, None)})
    unit = Affine(np.zeros(1), np.eye(1), np.eye(1))
    with pytest.raises(InputError, match="all of R"):
        Whitened(MALA(), unit).draw(positive, 8, seed=0)
    with pytest.raises(InputError, match="not concave"):
        laplace(LogDensity(lambda x: x @ x / 2, 1), [1.0])


def test_the_design_within_says_how_many_points():
    design = Whitened(MALA(chains=7), Affine(np.zeros(2), np.eye(2), np.eye(2)))
    assert design.block == 7 and design.first_round(10_000) == 203
    with pytest.raises(InputError, match="chains is 7; give a multiple"):
        design.draw(BENT, 8, seed=0)
