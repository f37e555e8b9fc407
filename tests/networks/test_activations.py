"""Each activation against its textbook formula and its own derivative."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special
from helpers import assert_close

from steinquad.networks.activations import ACTIVATIONS

FORMULAS = {
    "celu": lambda z: np.where(z > 0, z, np.expm1(np.minimum(z, 0))),
    "tanh": np.tanh,
    "gauss": lambda z: np.exp(-(z**2)),
    "sigmoid": scipy.special.expit,
    "tanhshrink": lambda z: z - np.tanh(z),
    "softplus": lambda z: np.logaddexp(0, z),
    "sine": np.sin,
    "relu": lambda z: np.maximum(z, 0.0),
}
GRID = np.concatenate([np.linspace(-6, 6, 49), [-30.0, 30.0, -1e-9, 1e-9]])  # 0 is in the middle


def test_every_activation_has_a_formula():
    assert set(FORMULAS) == set(ACTIVATIONS)
    assert 0.0 in GRID


@pytest.mark.parametrize("name", FORMULAS)
def test_value_and_slope(name):
    act = ACTIVATIONS[name]
    value, slope = act(jnp.asarray(GRID))
    derivative = jax.vmap(jax.grad(lambda z: act(z)[0]))(jnp.asarray(GRID))
    assert_close(np.asarray(value), FORMULAS[name](GRID), rtol=1e-14)
    assert_close(np.asarray(slope), np.asarray(derivative), rtol=1e-14)


@pytest.mark.parametrize("name", FORMULAS)
def test_nothing_overflows(name):
    """Value, slope, and what training differentiates: both derivatives by autodiff."""
    act = ACTIVATIONS[name]
    z = jnp.asarray([-1000.0, 1000.0])
    value, slope = act(z)
    derivative = jax.vmap(jax.grad(lambda z: act(z)[0]))(z)
    second = jax.vmap(jax.grad(lambda z: act(z)[1]))(z)
    for array in (value, slope, derivative, second):
        assert np.isfinite(array).all()
    assert_close(np.asarray(value), FORMULAS[name](np.array([-1000.0, 1000.0])))


@pytest.mark.parametrize("name", FORMULAS)
def test_second_derivative(name):
    """By a difference of slopes, away from the kink of CELU."""
    act, step = ACTIVATIONS[name], 1e-5
    z = np.linspace(-5, 5, 48)
    second = jax.vmap(jax.grad(lambda z: act(z)[1]))(jnp.asarray(z))
    ahead, behind = act(jnp.asarray(z + step))[1], act(jnp.asarray(z - step))[1]
    want = (np.asarray(ahead) - np.asarray(behind)) / (2 * step)
    np.testing.assert_allclose(second, want, atol=1e-9)  # rounding over step, and step^2
