"""The Stein kernel against automatic differentiation, and that it integrates to zero."""

import itertools
from functools import cache, partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import quick, x64  # noqa: F401
from scipy.special import ndtr

from steinquad.kernels.stein_kernel import RadialMatern52, RadialRBF, stein_gram
from steinquad.points import Points
from steinquad.stein.multipliers import Boundary
from steinquad.support import Support

KERNELS = [RadialRBF(), RadialMatern52()]


def stein_points(x, support=None):
    """Coordinates, multiplier and drift of a standard normal, cut to the support."""
    points = Points(x, -x)
    if support is None:
        return x, np.ones_like(x), -x
    boundary = Boundary(support, np.full(x.shape[1], 0.5))
    value, slope = boundary(points)
    return x, value, value * points.score + slope


@cache
def by_autodiff(kernel):
    """The Stein operator applied to both arguments of `l_i^2 k`, coordinate by coordinate."""

    def k(x, y, lengthscales):
        return kernel(jnp.sum(((x - y) / lengthscales) ** 2))[0]

    def entry(lengthscales, x, m, e, y, p, g):
        dx, dy = jax.grad(k, (0, 1))(x, y, lengthscales)
        mixed = jnp.diag(jax.jacfwd(jax.grad(k, 1), 0)(x, y, lengthscales))
        terms = e * g * k(x, y, lengthscales) + e * p * dy + m * g * dx + m * p * mixed
        return jnp.sum(lengthscales**2 * terms)

    over_columns = jax.vmap(entry, in_axes=(None, None, None, None, 0, 0, 0))
    return quick(jax.vmap(over_columns, in_axes=(None, 0, 0, 0, None, None, None)))


@cache
def compiled(kernel):
    return quick(partial(stein_gram, kernel))


@pytest.mark.parametrize("kernel", KERNELS, ids=["rbf", "matern"])
@pytest.mark.parametrize("bounded", [False, True], ids=["open", "bounded"])
@pytest.mark.parametrize("d", [1, 2, 5])
def test_equals_the_operator_applied_by_autodiff(kernel, bounded, d):
    rng = np.random.default_rng(d)
    support = Support.box(-1.0, 1.5, d) if bounded else None
    rows = stein_points(rng.uniform(-1, 1.5, (6, d)), support)
    columns = stein_points(rng.uniform(-1, 1.5, (7, d)), support)
    lengthscales = np.linspace(0.6, 1.7, d)
    ours = compiled(kernel)(jnp.asarray(lengthscales), rows, columns)
    theirs = by_autodiff(kernel)(lengthscales, *rows, *columns)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-11 * np.abs(theirs).max())


@pytest.mark.parametrize("kernel", KERNELS, ids=["rbf", "matern"])
@pytest.mark.parametrize("d", [1, 2, 5])
def test_at_equal_points_it_is_finite_and_the_matrix_is_positive(kernel, d):
    x = np.random.default_rng(0).standard_normal((40, d))
    x[1] = x[0]
    points = stein_points(x)
    gram = np.asarray(compiled(kernel)(jnp.ones(1), points, points))
    assert np.isfinite(gram).all()
    np.testing.assert_allclose(gram, gram.T, atol=1e-12 * np.abs(gram).max())
    assert np.linalg.eigvalsh(gram).min() > -1e-12 * np.abs(gram).max()
    # phi(0) |drift|^2 - 2 phi'(0) d
    slope = float(kernel(jnp.zeros(()))[1])
    np.testing.assert_allclose(np.diag(gram), np.sum(x**2, axis=1) - 2 * slope * d, rtol=1e-12)
    gradient = quick(jax.grad(lambda scale, at: stein_gram(kernel, scale, at, at).sum()))
    gradient = gradient(jnp.ones(d), points)
    assert np.isfinite(gradient).all()


def grid(low, high, d):
    """Gauss-Legendre nodes and normalized weights of a standard normal between low and high.

    Panels end where the test points lie: Matern has a kink in its third derivative there.
    """
    edges = np.unique(np.concatenate([np.linspace(low, high, 21), [0.3, -0.4]]))
    nodes, weights = np.polynomial.legendre.leggauss(12)
    x = np.concatenate([(a + b) / 2 + (b - a) / 2 * nodes for a, b in itertools.pairwise(edges)])
    w = np.concatenate([(b - a) / 2 * weights for a, b in itertools.pairwise(edges)])
    w = w * np.exp(-0.5 * x**2) / np.sqrt(2 * np.pi) / (ndtr(high) - ndtr(low))
    mesh = np.stack(np.meshgrid(*[x] * d, indexing="ij"), axis=-1).reshape(-1, d)
    product = np.prod(np.meshgrid(*[w] * d, indexing="ij"), axis=0).reshape(-1)
    return mesh, product


@pytest.mark.parametrize("bounded", [False, True], ids=["normal", "truncated"])
@pytest.mark.parametrize(
    ("kernel", "d"),
    [(RadialRBF(), 1), (RadialMatern52(), 1), (RadialRBF(), 2)],
    ids=["rbf-1", "matern-1", "rbf-2"],
)
def test_integrates_to_zero_in_each_argument(kernel, d, bounded):
    support = Support.box(-0.5, 1.5, d) if bounded else None
    mesh, weights = grid(*((-0.5, 1.5) if bounded else (-9.0, 9.0)), d)
    there = stein_points(mesh, support)
    here = stein_points(np.array([[0.3] * d, [-0.4] * d]), support)
    scale = jnp.full(1, 0.7)
    first = np.asarray(compiled(kernel)(scale, there, here)).T @ weights
    second = np.asarray(compiled(kernel)(scale, here, there)) @ weights
    assert np.abs(first).max() < 1e-10 and np.abs(second).max() < 1e-10


def test_without_a_boundary_factor_a_truncated_normal_does_not():
    mesh, weights = grid(-0.5, 1.5, 1)
    gram = stein_gram(RadialRBF(), jnp.ones(1), stein_points(mesh), stein_points(np.zeros((1, 1))))
    assert abs(float(np.asarray(gram)[:, 0] @ weights)) > 1e-2


@pytest.mark.parametrize(("d", "zero"), [(1, True), (2, False)])
def test_the_trace_term_of_the_authors_fails_beyond_one_dimension(d, zero):
    """They have k / l^2 where the trace of the mixed derivative has d k / l^2."""
    mesh, weights = grid(-9.0, 9.0, d)
    here = np.full((1, d), 0.3)
    ours = stein_gram(RadialRBF(), jnp.ones(1), stein_points(mesh), stein_points(here))
    k = np.exp(-0.5 * np.sum((mesh - here) ** 2, axis=1))
    theirs = np.asarray(ours)[:, 0] - (d - 1) * k
    assert (abs(theirs @ weights) < 1e-10) == zero
