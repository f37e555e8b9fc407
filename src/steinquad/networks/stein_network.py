"""The model of the integrand: `g(x) = theta0 + S_m[u](x)` (paper, eq. 4)."""

import equinox as eqx
import jax

from steinquad.networks.mlp import MLP
from steinquad.stein.divergence import divergence
from steinquad.stein.inputs import Frame, SteinInputs

__all__ = ["SteinNetwork", "evaluate"]


class SteinNetwork(eqx.Module):
    """A network whose integral is its parameter `theta0`, one entry for each of k integrands."""

    theta0: jax.Array  # (k,)
    field: MLP

    def __call__(self, inputs: SteinInputs, frame: Frame) -> jax.Array:
        """g at one point, (k,)."""
        values, slopes = self.field.hidden(inputs.z)
        w = self.field.weights[-1] @ values[-1] + self.field.biases[-1]
        div = divergence(self.field.weights, slopes, inputs, frame)
        return self.theta0 + w @ inputs.drift + div


def evaluate(network: SteinNetwork, inputs: SteinInputs, frame: Frame) -> jax.Array:
    """g at a batch of points, (n, k)."""
    return jax.vmap(network, in_axes=(0, None))(inputs, frame)
