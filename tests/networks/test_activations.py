"""Each activation against its textbook formula and its own derivative."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special
from helpers import assert_close, quick

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
FAR = np.array([-1000.0, 1000.0])
AWAY, STEP = np.linspace(-5, 5, 48), 1e-5  # from the kink of CELU


@cache
def everything(name):
    """Value, slope, and the derivatives of both by autodiff, at all points of these tests."""
    act = ACTIVATIONS[name]
    z = np.concatenate([GRID, FAR, AWAY, AWAY + STEP, AWAY - STEP])
    rows = quick(
        lambda z: (*act(z), *(jax.vmap(jax.grad(lambda z, i=i: act(z)[i]))(z) for i in (0, 1)))
    )(jnp.asarray(z))
    ends = np.cumsum([len(GRID), len(FAR), len(AWAY), len(AWAY)])
    return np.split(np.stack([np.asarray(row) for row in rows]), ends, axis=1)


def test_every_activation_has_a_formula():
    assert set(FORMULAS) == set(ACTIVATIONS)
    assert 0.0 in GRID


@pytest.mark.parametrize("name", FORMULAS)
def test_value_and_slope(name):
    value, slope, derivative, _ = everything(name)[0]
    assert_close(value, FORMULAS[name](GRID), rtol=1e-14)
    assert_close(slope, derivative, rtol=1e-14)


@pytest.mark.parametrize("name", FORMULAS)
def test_nothing_overflows(name):
    """Value, slope, and what training differentiates: both derivatives by autodiff."""
    far = everything(name)[1]
    assert np.isfinite(far).all()
    assert_close(far[0], FORMULAS[name](FAR))


@pytest.mark.parametrize("name", FORMULAS)
def test_second_derivative(name):
    """By a difference of slopes, away from the kink of CELU."""
    _, _, here, ahead, behind = everything(name)
    want = (ahead[1] - behind[1]) / (2 * STEP)
    np.testing.assert_allclose(here[3], want, atol=1e-9)  # rounding over step, and step^2
