"""The change of coordinates: scores by the chain rule, unit covariance, there and back."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import assert_close, x64

from steinquad.measures.affine import Affine

__all__ = ["x64"]  # JAX in float64, as inside the library

KINDS = ["none", "diagonal", "whiten"]


def draws(dim: int) -> tuple[np.ndarray, np.ndarray]:
    """Correlated points far from the origin in unequal units, with unequal weights."""
    rng = np.random.default_rng(dim)
    x = 30.0 + rng.normal(size=(50, dim)) @ rng.normal(size=(dim, dim)) * np.geomspace(1, 1e3, dim)
    return x, rng.uniform(0.2, 2.0, size=50)


@pytest.mark.parametrize("dim", [1, 2, 5])
@pytest.mark.parametrize("kind", KINDS)
def test_scores_are_the_gradient_of_the_transformed_density(dim, kind):
    x, weights = draws(dim)
    units = np.geomspace(1, 1e3, dim)

    def log_density(x):
        return -jnp.sum(jnp.log(1 + ((x - 20.0) / units) ** 2)) + jnp.prod(jnp.sin(x / units))

    affine = Affine.fit(x, kind, weights)
    of_z = jax.vmap(jax.grad(lambda z: log_density(affine.shift + affine.matrix @ z)))
    of_x = np.asarray(jax.vmap(jax.grad(log_density))(x))
    # z = L^-1 (x - mu) loses digits to the cancellation, L to the condition of the covariance
    assert_close(affine.score(of_x), np.asarray(of_z(affine.points(x))), rtol=1e-9)


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_standardized_points_have_unit_moments(dim):
    x, weights = draws(dim)
    for kind in ("diagonal", "whiten"):
        z = Affine.fit(x, kind, weights).points(x)
        np.testing.assert_allclose(weights @ z, 0.0, atol=1e-9)
        covariance = (weights / weights.sum() * z.T) @ z
        if kind == "whiten":
            # The floor that keeps a singular covariance factorable is 1e-12 of the mean variance,
            # which is up to 1e6 times the smallest one here.
            np.testing.assert_allclose(covariance, np.eye(dim), atol=1e-4)
        else:
            np.testing.assert_allclose(np.diag(covariance), 1.0, rtol=1e-12)


def test_whitening_is_exact_where_the_units_agree():
    x = np.random.default_rng(1).normal(size=(100, 5)) @ np.tril(np.ones((5, 5)))
    z = Affine.fit(x, "whiten", np.ones(100)).points(x)
    np.testing.assert_allclose(z.T @ z / 100, np.eye(5), atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_matrix_and_inverse_belong_together(kind):
    x, weights = draws(5)
    affine = Affine.fit(x, kind, weights)
    back = affine.shift + affine.points(x) @ affine.matrix.T
    assert_close(back, x, rtol=1e-12)


def test_none_changes_nothing():
    x, weights = draws(2)
    affine = Affine.fit(x, "none", weights)
    assert np.array_equal(affine.points(x), x) and np.array_equal(affine.score(x), x)
