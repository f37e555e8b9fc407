"""Matrices by tiles against matrices at once."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import quick

from steinquad.kernels import RBF, Matern
from steinquad.kernels.base import Kernel
from steinquad.kernels.stein_kernel import RadialMatern52
from steinquad.methods.bayesian_quadrature import KernelGram
from steinquad.methods.control_functional import SteinGram
from steinquad.posterior import gram as tiled

N, M = 2 * tiled.TILE_CPU + 37, tiled.TILE_CPU + 1  # three tiles and two, the last not full
GRAMS = (KernelGram(Matern(2.5)), KernelGram(RBF()), SteinGram(RadialMatern52()))


def points(gram, n: int, d: int, seed: int):
    x = np.random.default_rng(seed).standard_normal((n, d))
    return (x, np.ones_like(x), -x) if isinstance(gram, SteinGram) else x


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("gram", GRAMS, ids=str)
def test_tiles_make_up_the_matrix(gram, d):
    rows, columns = points(gram, N, d, 0), points(gram, M, d, 1)
    logs = np.linspace(-0.2, 0.4, d)
    with jax.enable_x64(True):
        # One program for the whole matrix may round otherwise: 1e-13.
        whole = quick(gram)
        own, cross = whole(jnp.asarray(logs), rows, rows), whole(jnp.asarray(logs), rows, columns)
        np.testing.assert_allclose(tiled.own_gram(gram, logs, rows), own, atol=1e-13 * d)
        np.testing.assert_allclose(
            tiled.cross_gram(gram, logs, rows, columns), cross, atol=1e-13 * d
        )
        np.testing.assert_allclose(tiled.variances(gram, logs, rows), np.diag(own), atol=1e-13 * d)


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("gram", GRAMS, ids=str)
def test_pull_back_is_the_derivative(gram, d):
    rows, logs = points(gram, N, d, 0), np.linspace(-0.2, 0.4, d)
    half = np.random.default_rng(2).standard_normal((N, N))
    cotangent = half + half.T
    with jax.enable_x64(True):
        total = jax.grad(lambda own, rows: jnp.sum(cotangent * gram(own, rows, rows)))
        whole = quick(total)(jnp.asarray(logs), rows)
        found = tiled.pull_back(gram, logs, rows, cotangent)
    np.testing.assert_allclose(found, whole, rtol=1e-9, atol=1e-9 * N)  # sums of 300,000 terms


def test_one_program_whatever_the_number_of_points():
    gram, traced = KernelGram(Matern(1.5)), []
    with jax.enable_x64(True):
        for n in (3, 100, N):
            tiled.own_gram(gram, np.zeros(2), points(gram, n, 2, 0))
            traced.append(tiled._block._cache_size())
    assert len(set(traced)) == 1


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5])
def test_one_exponential_for_all_coordinates(nu):
    x, y, lengthscales = points(None, 7, 5, 0), points(None, 4, 5, 1), np.linspace(0.3, 2.0, 5)
    with jax.enable_x64(True):
        one, each = (kind.gram(x, y, lengthscales) for kind in (Matern(nu), Product(nu)))
        np.testing.assert_allclose(one, each, rtol=1e-13)


def test_many_coordinates_far_apart_are_zero():
    x = 10.0 * points(None, 20, 100, 0)
    with jax.enable_x64(True):
        assert np.array_equal(Matern(2.5).gram(x, x, np.full(100, 0.02)), np.eye(20))


class Product(Matern):
    """Marginal by coordinate."""

    gram = Kernel.gram


def test_tiles_of_wide_points_are_no_larger_than_needed():
    """Fifty points of 200 coordinates were filled up to 256 and took a minute."""
    assert (
        tiled._tile({"x": np.zeros((50, 50))})
        == tiled._tile({"x": np.zeros((3, 1))})
        == tiled.TILE_CPU
    )
    sizes = [tiled._tile({"x": np.zeros((n, 200))}) for n in (3, 50, 65, 128, 1000)]
    assert sizes == [64, 64, 128, 128, tiled.TILE_CPU]
