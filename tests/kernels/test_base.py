"""Kernels: the plain definition, positive semidefinite, finite gradients."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from steinquad._float64 import float64
from steinquad.kernels import RBF, Kernel, Matern

KERNELS = [RBF(), Matern(0.5), Matern(1.5), Matern(2.5)]
PLAIN = {
    RBF(): lambda t: np.exp(-(t**2) / 2),
    Matern(0.5): lambda t: np.exp(-t),
    Matern(1.5): lambda t: (1 + 3**0.5 * t) * np.exp(-(3**0.5) * t),
    Matern(2.5): lambda t: (1 + 5**0.5 * t + 5 * t**2 / 3) * np.exp(-(5**0.5) * t),
}


def points(d: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(d)
    x = rng.normal(size=(30, d)) + 100.0  # far from the origin
    return x, np.concatenate([x[:5], rng.normal(size=(8, d)) + 100.0]), 0.5 + np.arange(d)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("d", [1, 2, 5])
def test_gram_is_the_definition(kernel, d):
    x, y, scales = points(d)
    got = np.asarray(float64(kernel.gram)(x, y, scales))
    want = np.prod(PLAIN[kernel](np.abs(x[:, None] - y[None]) / scales), axis=2)
    assert got.shape == (30, 13) and got.dtype == np.float64
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-15)
    own = np.asarray(float64(kernel.gram)(x, x, scales))
    np.testing.assert_allclose(np.diag(own), 1.0, rtol=1e-14)
    assert np.linalg.eigvalsh(own).min() > -1e-13


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("d", [1, 2, 5])
def test_gradients_are_finite_and_right(kernel, d):
    x, _, scales = points(d)

    @float64
    def check():
        def total(s):
            return jnp.sum(jnp.sin(kernel.gram(x, x, s)))  # pairs of equal points among them

        gradient = np.asarray(jax.grad(total)(jnp.asarray(scales)))
        step = 1e-6 * np.eye(d)
        numerical = [(total(scales + e) - total(scales - e)) / 2e-6 for e in step]
        assert np.isfinite(gradient).all()
        np.testing.assert_allclose(gradient, np.asarray(numerical), rtol=1e-6, atol=1e-7)
        assert np.isfinite(jax.grad(kernel.profile)(0.0))

    check()


def test_a_kernel_of_ones_own():
    @dataclass(frozen=True)
    class RationalQuadratic(Kernel):
        name = "rational quadratic"
        alpha: float = 2.0

        def profile(self, t):
            return (1 + t * t / (2 * self.alpha)) ** -self.alpha

    x, y, scales = points(2)
    got = float64(RationalQuadratic().gram)(x, y, scales)
    want = np.prod((1 + ((x[:, None] - y[None]) / scales) ** 2 / 4) ** -2.0, axis=2)
    np.testing.assert_allclose(np.asarray(got), want, rtol=1e-13)
    assert RationalQuadratic.smooth and not Matern.smooth


@pytest.mark.parametrize("d", [16, 17, 200])
def test_the_program_does_not_grow_with_many_coordinates(d):
    """A line for each of 200 coordinates was compiled for minutes."""

    @dataclass(frozen=True)
    class Cauchy(Kernel):
        name = "Cauchy"

        def profile(self, t):
            return 1 / (1 + t**2)

    x, y, scales = points(d)
    got = np.asarray(float64(Cauchy().gram)(x, y, 10 * scales))
    want = np.prod(1 / (1 + ((x[:, None] - y[None]) / (10 * scales)) ** 2), axis=2)
    np.testing.assert_allclose(got, want, rtol=1e-11)
    program = jax.make_jaxpr(lambda own: Cauchy().gram(x, y, own))(scales)
    (scan,) = [each for each in program.eqns if each.primitive.name == "scan"]
    assert scan.params["unroll"] <= 16 and scan.params["length"] == d


def test_a_closed_form_is_not_that_of_a_class_above():
    """A subclass with a profile of its own takes the compiled road."""

    class Half(RBF):
        def profile(self, t):
            return super().profile(t) ** 2

    assert all(kernel.closed_form is not None for kernel in KERNELS)
    assert Half().blocks is not None and Half().closed_form is None
