"""The vector field u: a multilayer perceptron with its derivative along given directions."""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from steinquad.networks.activations import ACTIVATIONS
from steinquad.stein.divergence import divergence
from steinquad.stein.inputs import NetworkFrame, SteinInputs

__all__ = ["MLP", "hidden"]


def hidden(
    weights: Sequence[jax.Array], biases: Sequence[jax.Array], activation: str, z: jax.Array
) -> tuple[list[jax.Array], list[jax.Array]]:
    """Activations and their derivatives in every layer, at one point `(d,)`."""
    act = ACTIVATIONS[activation]
    values, slopes = [], []
    for w, b in zip(weights, biases, strict=True):
        z, slope = act(w @ z + b)
        values.append(z)
        slopes.append(slope)
    return values, slopes


class MLP(eqx.Module):
    """`u(z) = W_L a(... a(W_1 z + b_1) ...) + b_L`, outputs shaped (k, d).

    One field of d components for each of the k integrands; they share all layers but the last.
    """

    weights: tuple[jax.Array, ...]  # (h, d), (h, h), ..., and last (k, d, h)
    biases: tuple[jax.Array, ...]  # (h,), ..., and last (k, d)
    activation: str = eqx.field(static=True)

    @property
    def depth(self) -> int:
        """Number of activation layers."""
        return len(self.weights) - 1

    def hidden(self, z: jax.Array) -> tuple[list[jax.Array], list[jax.Array]]:
        """Activations and their derivatives in every layer, at one point `(d,)`."""
        return hidden(self.weights[:-1], self.biases[:-1], self.activation, z)

    def __call__(self, z: jax.Array) -> jax.Array:
        """u at one point, (d,) -> (k, d)."""
        values, _ = self.hidden(z)
        return self.weights[-1] @ values[-1] + self.biases[-1]

    def image(self, inputs: SteinInputs, frame: NetworkFrame) -> jax.Array:
        """S_m[u] at one point, (k,)."""
        values, slopes = self.hidden(inputs.z)
        u = self.weights[-1] @ values[-1] + self.biases[-1]
        return u @ inputs.drift + divergence(self.weights, slopes, inputs, frame)

    @classmethod
    def initialize(
        cls,
        seed: int,
        *,
        dim: int,
        outputs: int,
        width: int,
        depth: int,
        activation: str,
        aligned: bool = False,
    ) -> "MLP":
        """Weights and biases uniform on +-1/sqrt(fan in), as in the paper's experiments.

        With `aligned`, every unit of the first layer sees one coordinate to begin with, all
        coordinates in turn, by a weight of size 1/2 to 1 and a bias up to 1/2: in many dimensions
        a random direction is almost blind for what happens along any one of them.
        """
        rng = np.random.default_rng(seed)  # not JAX's: nothing to compile
        weights, biases = [], []
        for i, fan_in in enumerate([dim] + [width] * depth):
            rows = (outputs, dim) if i == depth else (width,)
            for kind, shape in ((weights, (*rows, fan_in)), (biases, rows)):
                kind.append(jnp.asarray(rng.uniform(-1.0, 1.0, shape) / np.sqrt(fan_in)))
        if aligned:
            first = np.zeros((width, dim))
            seen = np.resize(rng.permutation(dim), width)
            sizes = rng.choice([-1.0, 1.0], width) * rng.uniform(0.5, 1.0, width)
            first[np.arange(width), seen] = sizes
            weights[0], biases[0] = jnp.asarray(first), jnp.asarray(rng.uniform(-0.5, 0.5, width))
        return cls(tuple(weights), tuple(biases), activation)
