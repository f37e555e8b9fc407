"""What several test modules share: closeness, 64-bit JAX, random networks and data."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from steinquad.measures.affine import Affine
from steinquad.networks.mlp import MLP
from steinquad.networks.stein_network import SteinNetwork
from steinquad.points import Points
from steinquad.stein.inputs import NetworkFrame, SteinInputs, stein_inputs
from steinquad.stein.multipliers import Constant
from steinquad.training.objective import Sizes, TrainingSet

RTOL = {"float64": 1e-10, "float32": 1e-5}


@pytest.fixture(autouse=True)
def x64():
    """64-bit JAX types for every test of a directory whose conftest imports this."""
    with jax.enable_x64(True):
        yield


def quick(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compiled with next to no optimization, which takes half the time: for what runs once."""
    return jax.jit(function, compiler_options={"xla_backend_optimization_level": 0})


def assert_close(actual: Any, desired: Any, rtol: float | None = None) -> None:
    """Equal up to `rtol` (by default that of the dtype) of the largest desired entry."""
    actual, desired = np.asarray(actual), np.asarray(desired)
    assert actual.shape == desired.shape, f"shape {actual.shape}, want {desired.shape}"
    assert actual.dtype == desired.dtype, f"dtype {actual.dtype}, want {desired.dtype}"
    if rtol is None:
        rtol = RTOL[str(desired.dtype)]
    scale = np.abs(desired).max(initial=0.0)
    np.testing.assert_allclose(actual, desired, rtol=0.0, atol=rtol * scale)


def random_network(
    seed: int,
    *,
    dim: int,
    outputs: int = 1,
    width: int = 6,
    depth: int = 2,
    activation: str = "tanh",
) -> SteinNetwork:
    """A network as training starts with (drawn by NumPy: nothing to compile), theta0 not zero."""
    rng = np.random.default_rng(seed)
    weights, biases = [], []
    for layer, fan_in in enumerate([dim] + [width] * depth):
        rows = (outputs, dim) if layer == depth else (width,)
        weights.append(jnp.asarray(rng.uniform(-1, 1, (*rows, fan_in)) / np.sqrt(fan_in)))
        biases.append(jnp.asarray(rng.uniform(-1, 1, rows) / np.sqrt(fan_in)))
    field = MLP(tuple(weights), tuple(biases), activation)
    return SteinNetwork(jnp.asarray(np.linspace(0.3, 0.9, outputs)), field)


@dataclass(frozen=True, eq=False)
class FrozenLayer:
    """Constants, compared by identity."""

    weights: np.ndarray  # (h, d)
    biases: np.ndarray  # (h,)


class FrozenNetwork(eqx.Module):
    """A Stein network of one layer that is linear in its weights: theta0 and the last layer."""

    theta0: jax.Array
    weights: jax.Array  # (k, d, h)
    biases: jax.Array  # (k, d)
    hidden: FrozenLayer = eqx.field(static=True)

    @property
    def field(self) -> MLP:
        first, bias = jnp.asarray(self.hidden.weights), jnp.asarray(self.hidden.biases)
        return MLP((first, self.weights), (bias, self.biases), "tanh")

    def __call__(self, inputs: SteinInputs, frame: NetworkFrame) -> jax.Array:
        return SteinNetwork(self.theta0, self.field)(inputs, frame)


def normal_data(
    seed: int,
    *,
    n: int,
    dim: int,
    outputs: int = 1,
    weights: np.ndarray | None = None,
    sizes: Sizes | None = None,
) -> TrainingSet:
    """Standard normal points and a smooth integrand with some noise."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, dim))
    shapes = np.arange(1, outputs + 1)
    y = np.cos(x.sum(axis=1, keepdims=True) + shapes) + 0.1 * shapes * rng.normal(
        size=(n, outputs)
    )
    affine = Affine(np.zeros(dim), np.eye(dim), np.eye(dim))
    inputs, frame = stein_inputs(Points(x, -x), Constant(), affine)
    weights = np.ones(n) if weights is None else weights
    return TrainingSet.build(inputs, frame, y, weights, sizes=sizes)
