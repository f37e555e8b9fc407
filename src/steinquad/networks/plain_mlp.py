"""What a plain regression network adds to its last bias: no Stein operator, no known integral."""

import equinox as eqx
import jax
import jax.numpy as jnp

from steinquad.networks.mlp import MLP, hidden
from steinquad.stein.inputs import NetworkFrame, SteinInputs

__all__ = ["PlainMLP"]


class PlainMLP(eqx.Module):
    """`W_L a(... a(W_1 z + b_1) ...)`, k outputs, without the last bias.

    In the place of a field it makes `theta0 + image` an ordinary network with theta0 as its last
    bias, not as an integral: what a Stein network is compared with, trained by the same programs
    on the same data.
    """

    weights: tuple[jax.Array, ...]  # (h, d), (h, h), ..., and last (k, h)
    biases: tuple[jax.Array, ...]  # (h,), ..., without that of the last layer
    activation: str = eqx.field(static=True)

    def image(self, inputs: SteinInputs, frame: NetworkFrame) -> jax.Array:
        """The network at one point without its last bias, (k,).

        Of the inputs it reads the coordinates only, and of the frame nothing.

        Same signature as that of a field, so that `SteinNetwork` needs no case distinction.
        """
        values, _ = hidden(self.weights[:-1], self.biases, self.activation, inputs.z)
        return self.weights[-1] @ values[-1]

    @classmethod
    def like(cls, field: MLP) -> "PlainMLP":
        """The same layers as those of a field, with one output instead of d components.

        Its last weights are the mean of theirs: where a comparison with that Stein network starts.
        """
        last = jnp.mean(field.weights[-1], axis=1)
        return cls((*field.weights[:-1], last), field.biases[:-1], field.activation)
