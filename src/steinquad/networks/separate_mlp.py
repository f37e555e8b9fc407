"""The vector field u of units that see one coordinate each: for many dimensions."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from steinquad.networks.activations import ACTIVATIONS
from steinquad.networks.mlp import Layers
from steinquad.stein.inputs import NetworkFrame, SteinInputs, multipliers

__all__ = ["SeparateMLP", "first_width"]

FEWEST_FIRST = 40  # units in the first layer


def first_width(dim: int) -> int:
    """Units of the first layer for so many dimensions.

    At least two for every coordinate, so that each can be bent both ways.

    Never fewer than 40, so that few coordinates still get enough units.
    """
    return max(2 * dim, FEWEST_FIRST)


class SeparateMLP(eqx.Module):
    """`u(z) = W3 a(W2 a(w1 * z[seen] + b1) + b2) + b3`, outputs shaped (k, d).

    Unit l of the first layer is a function of the coordinate c = seen[l] alone, the second layer
    mixes them. Then

        sum_i m_i du_i/dz_i = sum_kl d2_k W2_kl W3_ck d1_l w1_l m_c,   d = a'(.),

    which costs O(h^2) a point although every coordinate has its own multiplier.
    """

    weights: tuple[jax.Array, jax.Array, jax.Array]  # (h1,), (h2, h1), (k, d, h2)
    biases: tuple[jax.Array, jax.Array, jax.Array]  # (h1,), (h2,), (k, d)
    activation: str = eqx.field(static=True)

    @property
    def seen(self) -> np.ndarray:
        """Coordinate of each unit: all in turn, so that networks of one shape share programs.

        An array (h1,) of indices that follows from the shapes alone and so is no parameter to be
        trained or stored.
        """
        return np.resize(np.arange(self.weights[2].shape[1]), self.weights[0].shape[0])

    def image(self, inputs: SteinInputs, frame: NetworkFrame) -> jax.Array:
        """S_m[u] at one point, (k,), by the formula above.

        The frame must be diagonal, as mixed coordinates are not seen one by one.

        Args:
            inputs: the point with its drift and multipliers.
            frame: what all points share.
        """
        act = ACTIVATIONS[self.activation]
        (w1, w2, w3), (b1, b2, b3) = self.weights, self.biases
        pick = np.equal.outer(self.seen, np.arange(w3.shape[1])).astype(w1.dtype)  # (h1, d)
        a1, d1 = act(w1 * (pick @ inputs.z) + b1)
        a2, d2 = act(w2 @ a1 + b2)
        mixed = w2 * jnp.swapaxes(pick @ w3, 1, 2)  # (k, h2, h1)
        slopes = d1 * w1 * (pick @ multipliers(inputs, frame))
        return (w3 @ a2 + b3) @ inputs.drift + (mixed @ slopes) @ d2

    @classmethod
    def initialize(cls, seed: int, layers: Layers) -> "SeparateMLP":
        """All coordinates in turn by a weight of size 1/2 to 1; later layers as in `MLP`.

        Of the layers, the width is that of the second, and there are two whatever `depth` says.
        """
        rng = np.random.default_rng(seed)
        dim, outputs, width = layers.dim, layers.outputs, layers.width
        first = first_width(dim)
        w1 = rng.choice([-1.0, 1.0], first) * rng.uniform(0.5, 1.0, first)
        b1 = rng.uniform(-0.5, 0.5, first)

        def uniform(*shape: int, fan_in: int) -> jax.Array:
            return jax.device_put(rng.uniform(-1.0, 1.0, shape) / np.sqrt(fan_in))

        weights = (
            jax.device_put(w1),
            uniform(width, first, fan_in=first),
            uniform(outputs, dim, width, fan_in=width),
        )
        biases = (
            jax.device_put(b1),
            uniform(width, fan_in=first),
            uniform(outputs, dim, fan_in=width),
        )
        return cls(weights, biases, layers.activation)
