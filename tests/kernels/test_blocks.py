"""Covariances in NumPy against the same kernels in JAX."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import quick

from steinquad.kernels import RBF, Kernel, Matern
from steinquad.kernels.blocks import MOST_TOGETHER, SteinBlocks
from steinquad.kernels.stein_kernel import RadialKernel, RadialMatern52, RadialRBF
from steinquad.methods.bayesian_quadrature import KernelGram
from steinquad.methods.control_functional import SteinGram

GRAMS = (
    *(KernelGram(kernel) for kernel in (RBF(), Matern(0.5), Matern(1.5), Matern(2.5))),
    *(SteinGram(kernel) for kernel in (RadialRBF(), RadialMatern52())),
)
N, M = 9, 6


def points(gram, n: int, d: int, seed: int):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, d)) + 2.0
    stein = isinstance(gram, SteinGram)
    return (x, rng.uniform(0.5, 1.5, (n, d)), rng.standard_normal((n, d))) if stein else x


@pytest.mark.parametrize("shared", [False, True], ids=["separate", "shared"])
@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("gram", GRAMS, ids=str)
def test_equals_the_kernel_in_jax(gram, d, shared):
    rows, columns = points(gram, N, d, 0), points(gram, M, d, 1)
    logs = np.full(1, 0.3) if shared else np.linspace(-0.2, 0.4, d)
    cotangent = np.random.default_rng(2).standard_normal((N, M))

    def total(own):
        value = gram(own, rows, columns)
        return jnp.sum(cotangent * value), value

    with jax.enable_x64(True):
        gradient, value = quick(jax.grad(total, has_aux=True))(jnp.asarray(logs))
    blocks = gram.closed_form
    np.testing.assert_allclose(blocks.block(logs, rows, columns), value, rtol=1e-11, atol=1e-13)
    pulled = blocks.pull_back(logs, rows, columns, cotangent)
    np.testing.assert_allclose(pulled, gradient, rtol=1e-9, atol=1e-11)
    diagonal = np.diag(blocks.block(logs, rows, rows))
    # At distance zero the smallest square stands for it: 1e-8 of a Matern kernel.
    np.testing.assert_allclose(blocks.variances(logs, rows), diagonal, rtol=1e-7)


@pytest.mark.parametrize("kernel", [RadialRBF(), RadialMatern52()], ids=["rbf", "matern"])
def test_third_derivative(kernel):
    s, step = np.linspace(0.05, 4.0, 9), 1e-5
    slope = (kernel(s + step)[2] - kernel(s - step)[2]) / (2 * step)
    np.testing.assert_allclose(kernel.third(s), slope, rtol=1e-7)


@pytest.mark.parametrize("d", [MOST_TOGETHER, MOST_TOGETHER + 1, 2 * MOST_TOGETHER + 3])
def test_many_coordinates_far_apart_are_zero_and_near_ones_are_not(d):
    blocks = Matern(2.5).blocks
    x = np.random.default_rng(0).standard_normal((20, d))
    far = blocks.block(np.full(d, np.log(0.02)), 10 * x, 10 * x)
    np.testing.assert_array_equal(far, np.eye(20))
    near = blocks.block(np.full(d, np.log(50.0)), x, x)
    with jax.enable_x64(True):
        expected = np.asarray(Kernel.gram(Matern(2.5), x, x, np.full(d, 50.0)))
    np.testing.assert_allclose(near, expected, rtol=1e-12)


def test_a_kernel_without_closed_forms_is_left_to_jax():
    class Cauchy(Kernel):
        name = "cauchy"

        def profile(self, t):
            return 1 / (1 + t * t)

    class Multiquadric(RadialKernel):
        def __call__(self, s):
            root = 1 / (1 + s)
            return root, -(root**2), 2 * root**3

    assert KernelGram(Cauchy()).closed_form is None
    assert SteinGram(Multiquadric()).closed_form is None


def test_the_mean_variance_is_one_for_a_standard_normal():
    x = np.random.default_rng(0).standard_normal((200_000, 3))
    blocks = SteinBlocks(RadialRBF())
    for scale in (0.3, 3.0):
        values = blocks.variances(np.full(3, np.log(scale)), (x, np.ones_like(x), -x))
        assert abs(values.mean() - 1) < 5 * values.std() / np.sqrt(len(x))
