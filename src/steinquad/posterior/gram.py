"""Matrices of a covariance function, tile by tile.

Tiles have one shape, whatever the number of points is, so one program is compiled for each
covariance function; on a CPU their arrays stay in a core's cache; and of a symmetric matrix half
the tiles are enough.
"""

from functools import partial
from typing import Any, Protocol, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from steinquad._types import Array

__all__ = ["Gram", "KernelPoints", "cross_gram", "own_gram", "pull_back", "variances"]

TILE_CPU, TILE_ACCELERATOR = 256, 2048  # points
WIDE, SMALLEST_TILE = 50, 64  # coordinates from which on tiles are as small as this

KernelPoints: TypeAlias = Any  # a pytree of arrays (n, ...)


class Gram(Protocol):
    """A covariance function of unit amplitude, in JAX; hashable, so that it is compiled once."""

    def __call__(
        self, log_lengthscales: jax.Array, rows: KernelPoints, columns: KernelPoints
    ) -> jax.Array:
        """Covariances (n, m) between n rows and m columns."""
        ...


def own_gram(gram: Gram, logs: Array, points: KernelPoints) -> Array:
    """Covariances of all points with each other, (n, n), in Fortran order.

    That is how LAPACK takes a matrix that it factors in place.

    Args:
        gram: the covariance function.
        logs: logarithms of its lengthscales.
        points: a pytree of arrays (n, ...).
    """
    n, tiles = _tiles(points)
    matrix = np.empty((n, n), order="F")
    for i, (rows, one) in enumerate(tiles):
        for columns, other in tiles[: i + 1]:
            part = np.asarray(_gram(gram, logs, one, other))[: _length(rows), : _length(columns)]
            matrix[rows, columns] = part
            matrix[columns, rows] = part.T
    return matrix


def cross_gram(gram: Gram, logs: Array, rows: KernelPoints, columns: KernelPoints) -> Array:
    """Covariances between two sets of points, (n, m); arguments as those of `own_gram`."""
    (n, tiles), (m, others) = _tiles(rows), _tiles(columns)
    matrix = np.empty((n, m))
    for at, one in tiles:
        for to, other in others:
            part = np.asarray(_gram(gram, logs, one, other))
            matrix[at, to] = part[: _length(at), : _length(to)]
    return matrix


def pull_back(gram: Gram, logs: Array, points: KernelPoints, cotangent: Array) -> Array:
    """Derivative of `sum(cotangent * own_gram)` by the log lengthscales.

    Gradients of a likelihood without a matrix for each lengthscale. The cotangent (n, n) must be
    symmetric.
    """
    _, tiles = _tiles(points)
    size = _tile(points)
    total = np.zeros(len(logs))
    for i, (rows, one) in enumerate(tiles):
        for j, (columns, other) in enumerate(tiles[: i + 1]):
            part = np.zeros((size, size))
            part[: _length(rows), : _length(columns)] = cotangent[rows, columns]
            total += (1 if i == j else 2) * np.asarray(_pull_back(gram, logs, one, other, part))
    return total


def variances(gram: Gram, logs: Array, points: KernelPoints) -> Array:
    """Covariance of every point with itself, (n,): the diagonal of `own_gram` without the rest."""
    _, tiles = _tiles(points)
    return np.concatenate(
        [np.asarray(_variances(gram, logs, one))[: _length(rows)] for rows, one in tiles]
    )


def _tile(points: KernelPoints) -> int:
    most = TILE_CPU if jax.default_backend() == "cpu" else TILE_ACCELERATOR
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(points)]
    n = len(leaves[0])
    if max(leaf.size for leaf in leaves) <= WIDE * n:
        return most
    # In many dimensions rows that only fill a tile up cost more than another program.
    return min(most, max(SMALLEST_TILE, 1 << (n - 1).bit_length()))


def _tiles(points: KernelPoints) -> tuple[int, list[tuple[slice, KernelPoints]]]:
    """How many points, and their tiles with the rows that each is about."""
    n, size = len(jax.tree.leaves(points)[0]), _tile(points)
    tiles = []
    for start in range(0, n, size):
        # The last tile is filled up with copies of the last point, which is one like any other.
        rows = np.minimum(np.arange(start, start + size), n - 1)
        tile = jax.tree.map(lambda a, rows=rows: np.asarray(a)[rows], points)
        tiles.append((slice(start, min(start + size, n)), tile))
    return n, tiles


def _length(rows: slice) -> int:
    return rows.stop - rows.start


@partial(jax.jit, static_argnums=0)
def _gram(gram: Gram, logs: Any, rows: KernelPoints, columns: KernelPoints) -> jax.Array:
    return gram(jnp.asarray(logs), rows, columns)


@partial(jax.jit, static_argnums=0)
def _pull_back(
    gram: Gram, logs: Any, rows: KernelPoints, columns: KernelPoints, cotangent: Any
) -> jax.Array:
    return jax.vjp(lambda own: gram(own, rows, columns), jnp.asarray(logs))[1](cotangent)[0]


@partial(jax.jit, static_argnums=0)
def _variances(gram: Gram, logs: Any, points: KernelPoints) -> jax.Array:
    def one(point: KernelPoints) -> jax.Array:
        single = jax.tree.map(lambda a: a[None], point)
        return gram(jnp.asarray(logs), single, single)[0, 0]

    return jax.vmap(one)(points)
