"""The vector field u: a multilayer perceptron with its derivative along given directions."""

from collections.abc import Sequence
from dataclasses import dataclass

import equinox as eqx
import jax
import numpy as np

from steinquad.networks.activations import ACTIVATIONS
from steinquad.stein.divergence import divergence
from steinquad.stein.inputs import NetworkFrame, SteinInputs

__all__ = ["MLP", "Layers", "hidden"]


@dataclass(frozen=True, kw_only=True)
class Layers:
    """The size of a field and what is in it: all that its first weights depend on but the seed.

    Attributes:
        dim: d, coordinates of the points.
        outputs: k, integrands that share all layers but the last.
        width: units a layer.
        depth: activation layers.
        activation: of every unit, by name.
    """

    dim: int
    outputs: int = 1
    width: int
    depth: int = 2
    activation: str


def hidden(
    weights: Sequence[jax.Array], biases: Sequence[jax.Array], activation: str, z: jax.Array
) -> tuple[list[jax.Array], list[jax.Array]]:
    """Activations and their derivatives in every layer, at one point `(d,)`.

    What a field and its divergence are made of.

    Args:
        weights: matrices of the activation layers, without the last, linear one.
        biases: one for each.
        activation: a key of `ACTIVATIONS`.
        z: the point.
    """
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
        """Number of activation layers.

        The last, linear layer is not counted. It decides how the divergence is computed: by a
        trace for one or two, by tangents for more.
        """
        return len(self.weights) - 1

    def hidden(self, z: jax.Array) -> tuple[list[jax.Array], list[jax.Array]]:
        """Activations and their derivatives in every activation layer, at one point `(d,)`.

        Two lists of `depth` arrays: the last values times the last weights are the field, the
        slopes make its divergence.
        """
        return hidden(self.weights[:-1], self.biases[:-1], self.activation, z)

    def __call__(self, z: jax.Array) -> jax.Array:
        """u at one point, (d,) -> (k, d)."""
        values, _ = self.hidden(z)
        return self.weights[-1] @ values[-1] + self.biases[-1]

    def image(self, inputs: SteinInputs, frame: NetworkFrame) -> jax.Array:
        """S_m[u] at one point, (k,).

        Drift times field plus divergence, exact, without automatic differentiation; its mean under
        the measure is zero for any weights.

        Args:
            inputs: the point with its drift and multipliers.
            frame: what all points share.
        """
        values, slopes = self.hidden(inputs.z)
        u = self.weights[-1] @ values[-1] + self.biases[-1]
        return u @ inputs.drift + divergence(self.weights, slopes, inputs, frame)

    @classmethod
    def initialize(cls, seed: int, layers: Layers, *, aligned: bool = False) -> "MLP":
        """Weights and biases uniform on +-1/sqrt(fan in), as in the paper's experiments.

        With `aligned`, every unit of the first layer sees one coordinate to begin with, all
        coordinates in turn, by a weight of size 1/2 to 1 and a bias up to 1/2: in many dimensions
        a random direction is almost blind for what happens along any one of them.

        >>> MLP.initialize(0, Layers(dim=2, width=4, activation="tanh")).weights[0].shape
        (4, 2)
        """
        dim, width, depth = layers.dim, layers.width, layers.depth
        # Not JAX's draws, nor its `asarray`: nothing to compile.
        rng = np.random.default_rng(seed)
        weights, biases = [], []
        for i, fan_in in enumerate([dim] + [width] * depth):
            rows = (layers.outputs, dim) if i == depth else (width,)
            for kind, shape in ((weights, (*rows, fan_in)), (biases, rows)):
                kind.append(jax.device_put(rng.uniform(-1.0, 1.0, shape) / np.sqrt(fan_in)))
        if aligned:
            first = np.zeros((width, dim))
            seen = np.resize(rng.permutation(dim), width)
            sizes = rng.choice([-1.0, 1.0], width) * rng.uniform(0.5, 1.0, width)
            first[np.arange(width), seen] = sizes
            weights[0] = jax.device_put(first)
            biases[0] = jax.device_put(rng.uniform(-0.5, 0.5, width))
        return cls(tuple(weights), tuple(biases), layers.activation)
