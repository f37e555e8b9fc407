"""The model of the integrand: `g(x) = theta0 + S_m[u](x)` (paper, eq. 4)."""

import equinox as eqx
import jax

from steinquad.networks.mlp import MLP
from steinquad.networks.plain_mlp import PlainMLP
from steinquad.networks.separate_mlp import SeparateMLP
from steinquad.stein.inputs import NetworkFrame, SteinInputs

__all__ = ["SteinNetwork", "evaluate"]


class SteinNetwork(eqx.Module):
    """A network whose integral is its parameter `theta0`, one entry for each of k integrands.

    The rest, the Stein image of `field`, has mean zero whatever its weights are. With a `PlainMLP`
    for a field it is an ordinary network and theta0 its last bias.
    """

    theta0: jax.Array  # (k,)
    field: MLP | SeparateMLP | PlainMLP

    def __call__(self, inputs: SteinInputs, frame: NetworkFrame) -> jax.Array:
        """g at one point, (k,)."""
        return self.theta0 + self.field.image(inputs, frame)


def evaluate(network: SteinNetwork, inputs: SteinInputs, frame: NetworkFrame) -> jax.Array:
    """g at a batch of points, (n, k), in JAX.

    To be compiled or differentiated by others; `training.objective.predict` is the fast way to
    values alone.

    Args:
        network: theta0 and the field.
        inputs: a batch.
        frame: what its points share.
    """
    return jax.vmap(network, in_axes=(0, None))(inputs, frame)
