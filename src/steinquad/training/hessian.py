"""The Hessian of the loss as a matrix and its condition: for some thousand weights."""

import jax
import jax.numpy as jnp
import numpy as np

from steinquad._compile import compiled
from steinquad._types import Array
from steinquad.networks.stein_network import SteinNetwork
from steinquad.training.objective import Penalty, TrainingSet, loss

__all__ = ["condition_number", "hessian"]

DIRECTIONS = 64  # at a time: their tangents share the products of matrices


@compiled
def hessian(
    vector: jax.Array, like: SteinNetwork, data: TrainingSet, penalty: Penalty
) -> jax.Array:
    """Second derivative of the loss by all weights, (p, p), a column for each direction.

    For some thousand weights, to look at its condition; training needs no Hessian.

    Directions are taken 64 at a time, so that memory stays bounded.

    Args:
        vector: all parameters, (p,).
        like: a network of these shapes.
        data: what to fit.
        penalty: lambda, and on what.
    """

    def column(direction: jax.Array) -> jax.Array:
        slope = jax.grad(loss)
        return jax.jvp(lambda v: slope(v, like, data, penalty), (vector,), (direction,))[1]

    return jax.lax.map(column, jnp.eye(vector.size), batch_size=DIRECTIONS)


def condition_number(matrix: Array) -> float:
    """Largest over smallest absolute eigenvalue of a symmetric matrix; it may be infinite.

    The matrix is made symmetric first, against rounding. Absolute values, because the Hessian of a
    network may be indefinite away from a minimum.

    >>> condition_number(np.diag([2.0, -8.0, 4.0]))
    4.0
    """
    sizes = np.abs(np.linalg.eigvalsh((matrix + matrix.T) / 2))
    return float(sizes.max() / sizes.min()) if sizes.min() > 0 else np.inf
