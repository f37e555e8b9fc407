"""The generalized Gauss-Newton matrix `G = sum_i J_i^T J_i`, dense or as a product with a vector.

Rows are the weighted residuals of `training.objective` divided by the relative noise of their
output, so that one noise precision beta serves all outputs.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from steinquad._types import Array
from steinquad.networks.stein_network import SteinNetwork
from steinquad.training.objective import Block, TrainingSet, residuals, unflatten

__all__ = ["block_jacobian", "ggn", "ggn_product", "scaled_residuals"]


def _rows(vector: Any, like: SteinNetwork, block: Block, frame: Any, noise: Any) -> jax.Array:
    return residuals(unflatten(vector, like), block, frame) / noise


@jax.jit
def scaled_residuals(
    vector: jax.Array, like: SteinNetwork, block: Block, frame: Any, noise: jax.Array
) -> jax.Array:
    """Residuals over noise, (points, k)."""
    return _rows(vector, like, block, frame, noise)


@jax.jit
def block_jacobian(
    vector: jax.Array, like: SteinNetwork, block: Block, frame: Any, noise: jax.Array
) -> jax.Array:
    """Derivative of the rows of one block by all parameters, (points, k, p)."""

    def one(point: Block) -> jax.Array:
        single = jax.tree.map(lambda a: a[None], point)
        return jax.jacrev(lambda v: _rows(v, like, single, frame, noise)[0])(vector)

    return jax.vmap(one)(block)


@partial(jax.jit, donate_argnums=0)
def _add_gram(total: jax.Array, rows: jax.Array) -> jax.Array:
    return total + rows.T @ rows


def ggn(vector: jax.Array, like: SteinNetwork, data: TrainingSet, noise: jax.Array) -> Array:
    """Dense G, (p, p), one panel of Jacobian in memory at a time."""
    p = vector.size
    # BLAS on the host multiplies about twice as fast as XLA on a CPU; on an accelerator the rows
    # stay where they are.
    on_host = jax.default_backend() == "cpu"
    total = np.zeros((p, p)) if on_host else jnp.zeros((p, p))
    for block in data.panels():
        rows = block_jacobian(vector, like, block, data.frame, noise).reshape(-1, p)
        if on_host:
            host = np.asarray(rows)
            total += host.T @ host
        else:
            total = _add_gram(total, rows)
    return np.asarray(total)


@jax.jit
def ggn_product(
    vector: jax.Array,
    like: SteinNetwork,
    data: TrainingSet,
    noise: jax.Array,
    direction: jax.Array,
) -> jax.Array:
    """G times one direction (p,): a forward and a reverse pass over the data, no matrix."""

    def add(total: jax.Array, block: Block) -> tuple[jax.Array, None]:
        def rows(v: jax.Array) -> jax.Array:
            return _rows(v, like, block, data.frame, noise)

        _, along = jax.jvp(rows, (vector,), (direction,))
        _, pull = jax.vjp(rows, vector)
        return total + pull(along)[0], None

    return jax.lax.scan(add, jnp.zeros_like(vector), data.blocks)[0]
