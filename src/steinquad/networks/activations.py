"""Activation functions as pairs `z -> (a(z), a'(z))`.

The Stein operator needs the derivative of every activation anyway, and value and derivative share
their exponential, so each activation is one function that gives both.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from steinquad._types import Array

__all__ = [
    "ACTIVATIONS",
    "NUMPY_ACTIVATIONS",
    "SMOOTH",
    "Activation",
    "ActivationName",
    "NumpyActivation",
]

Activation: TypeAlias = Callable[[jax.Array], tuple[jax.Array, jax.Array]]
NumpyActivation: TypeAlias = Callable[[Array], tuple[Array, Array, Array]]
ActivationName: TypeAlias = Literal[
    "celu", "tanh", "gauss", "sigmoid", "tanhshrink", "softplus", "sine"
]


def celu(z: jax.Array) -> tuple[jax.Array, jax.Array]:
    """`max(0, z) + min(0, exp(z) - 1)`: continuously differentiable, with a kinked derivative.

    The paper's activation, and ours for rough integrands and many dimensions.

    Linear for positive arguments, so fields grow linearly there.
    """
    # The clamp keeps exp from overflowing in the branch that `where` throws away.
    e = jnp.exp(jnp.where(z > 0, 0.0, z))  # not minimum, whose derivative at a tie is 1/2
    return jnp.where(z > 0, z, e - 1.0), jnp.where(z > 0, 1.0, e)


def tanh(z: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Hyperbolic tangent, with `1 - tanh^2` for its slope.

    Smooth, the first choice for smooth integrands in few dimensions.

    Bounded and odd; far from zero units saturate, so coordinates should be standardized.
    """
    a = jnp.tanh(z)
    return a, 1.0 - a * a


def gauss(z: jax.Array) -> tuple[jax.Array, jax.Array]:
    """`exp(-z^2)` and its slope: a bump, so that units act locally.

    One of the paper's activations. Far from its center a unit contributes nothing, and its slope
    vanishes too.
    """
    a = jnp.exp(-z * z)
    return a, -2.0 * z * a


def sigmoid(z: jax.Array) -> tuple[jax.Array, jax.Array]:
    """`1 / (1 + exp(-z))` and its slope: a shifted and scaled tanh.

    One of the paper's activations. Its values are positive, so hidden layers are not centered at
    zero as with tanh.
    """
    a = jax.nn.sigmoid(z)
    return a, a * (1.0 - a)


def tanhshrink(z: jax.Array) -> tuple[jax.Array, jax.Array]:
    """`z - tanh(z)` and its slope `tanh^2`: flat at zero, linear far out.

    One of the paper's activations. Unbounded and odd; its slope vanishes at zero, so a network
    with small weights is nearly constant.
    """
    t = jnp.tanh(z)
    return z - t, t * t


def softplus(z: jax.Array) -> tuple[jax.Array, jax.Array]:
    """`log(1 + exp(z))` and its slope, a sigmoid: a rounded ReLU.

    Smooth everywhere, unlike `celu` and `relu`, and linear for large arguments; computed without
    overflow by `jax.nn`.
    """
    return jax.nn.softplus(z), jax.nn.sigmoid(z)


def sine(z: jax.Array) -> tuple[jax.Array, jax.Array]:
    """`sin(z)` and its slope: for integrands that oscillate.

    Periodic, so a network with large first weights may alias between points. Value and slope are
    both bounded by one.
    """
    return jnp.sin(z), jnp.cos(z)


def relu(z: jax.Array) -> tuple[jax.Array, jax.Array]:
    """`max(0, z)`, whose derivative jumps: for plain networks only.

    The image of a Stein network would jump as its weights move.

    It is not among `SMOOTH`, from which Stein networks choose.
    """
    return jnp.where(z > 0, z, 0.0), jnp.where(z > 0, 1.0, 0.0)


ACTIVATIONS: Mapping[str, Activation] = MappingProxyType(
    {f.__name__: f for f in (celu, tanh, gauss, sigmoid, tanhshrink, softplus, sine, relu)}
)
# Those of a continuous derivative, without which `theta0 + S[u]` jumps.
SMOOTH = tuple(name for name in ACTIVATIONS if name != "relu")


def _numpy_celu(z: Array) -> tuple[Array, Array, Array]:
    e = np.exp(np.minimum(z, 0.0))
    positive = z > 0
    return np.where(positive, z, e - 1.0), e, np.where(positive, 0.0, e)


def _numpy_tanh(z: Array) -> tuple[Array, Array, Array]:
    half = 1.0 / (1.0 + np.exp(2.0 * np.minimum(z, 300.0)))  # twice as fast as np.tanh
    a = 1.0 - 2.0 * half
    slope = 4.0 * half * (1.0 - half)
    return a, slope, -2.0 * a * slope


# z -> (a, a', a'') in NumPy, for `networks.numpy_backend`; others train through compiled programs.
NUMPY_ACTIVATIONS: Mapping[str, NumpyActivation] = MappingProxyType(
    {"celu": _numpy_celu, "tanh": _numpy_tanh}
)
