"""Matrices of a covariance function, tile by tile.

Tiles stay in a core's cache, and of a symmetric matrix half of them are enough. Those of a
covariance that only JAX has are of one size, whatever the number of points is, so that one program
is compiled for it.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from steinquad._types import Array
from steinquad.kernels.blocks import Blocks

__all__ = ["Gram", "KernelPoints", "cross_gram", "own_gram", "pull_back", "variances"]

TILE_CPU, TILE_ACCELERATOR = 256, 2048  # points
WIDE, SMALLEST_TILE = 50, 64  # coordinates from which on tiles are as small as this

KernelPoints: TypeAlias = Any  # a pytree of arrays (n, ...)


class Gram(ABC):
    """A covariance function of unit amplitude, in JAX; hashable, so that it is compiled once."""

    @abstractmethod
    def __call__(
        self, log_lengthscales: jax.Array, rows: KernelPoints, columns: KernelPoints
    ) -> jax.Array:
        """Covariances (n, m) between n rows and m columns."""

    @property
    def closed_form(self) -> Blocks | None:
        """The same in NumPy; None where there is only the function itself."""
        return None

    @property
    def blocks(self) -> Blocks:
        """The closed form or, without one, compiled programs."""
        return self.closed_form or CompiledBlocks(self)


def own_gram(gram: Gram, logs: Array, points: KernelPoints) -> Array:
    """Covariances of all points with each other, (n, n), in Fortran order.

    That is how LAPACK takes a matrix that it factors in place.

    Args:
        gram: the covariance function.
        logs: logarithms of its lengthscales.
        points: a pytree of arrays (n, ...).
    """
    n, tiles = _tiles(points)
    matrix, blocks = np.empty((n, n), order="F"), gram.blocks
    for i, (rows, one) in enumerate(tiles):
        for columns, other in tiles[: i + 1]:
            part = blocks.block(logs, one, other)
            matrix[rows, columns] = part
            if rows != columns:
                matrix[columns, rows] = part.T
    return matrix


def cross_gram(gram: Gram, logs: Array, rows: KernelPoints, columns: KernelPoints) -> Array:
    """Covariances between two sets of points, (n, m); arguments as those of `own_gram`."""
    (n, tiles), (m, others) = _tiles(rows), _tiles(columns)
    matrix, blocks = np.empty((n, m)), gram.blocks
    for at, one in tiles:
        for to, other in others:
            matrix[at, to] = blocks.block(logs, one, other)
    return matrix


def pull_back(gram: Gram, logs: Array, points: KernelPoints, cotangent: Array) -> Array:
    """Derivative of `sum(cotangent * own_gram)` by the log lengthscales.

    Gradients of a likelihood without a matrix for each lengthscale. The cotangent (n, n) must be
    symmetric.
    """
    _, tiles = _tiles(points)
    total, blocks = np.zeros(len(logs)), gram.blocks
    for i, (rows, one) in enumerate(tiles):
        for j, (columns, other) in enumerate(tiles[: i + 1]):
            part = blocks.pull_back(logs, one, other, cotangent[rows, columns])
            total += (1 if i == j else 2) * part
    return total


def variances(gram: Gram, logs: Array, points: KernelPoints) -> Array:
    """Covariance of every point with itself, (n,): the diagonal of `own_gram` without the rest."""
    return np.concatenate([gram.blocks.variances(logs, one) for _, one in _tiles(points)[1]])


def _tiles(points: KernelPoints) -> tuple[int, list[tuple[slice, KernelPoints]]]:
    """How many points, and their tiles with the rows that each is about."""
    n, size = _length(points), _most()
    rows = [slice(start, min(start + size, n)) for start in range(0, n, size)]
    return n, [(own, jax.tree.map(lambda a, own=own: np.asarray(a)[own], points)) for own in rows]


def _length(points: KernelPoints) -> int:
    return len(jax.tree.leaves(points)[0])


def _most() -> int:
    return TILE_CPU if jax.default_backend() == "cpu" else TILE_ACCELERATOR


@dataclass(frozen=True)
class CompiledBlocks(Blocks):
    """Of points that are filled up to a few sizes, each of which has its program.

    Attributes:
        gram: the covariance function.
    """

    gram: Gram

    def block(self, logs: Array, rows: KernelPoints, columns: KernelPoints) -> Array:
        """Of filled tiles, without what they were filled with."""
        whole = np.asarray(_block(self.gram, logs, _filled(rows), _filled(columns)))
        return whole[: _length(rows), : _length(columns)]

    def pull_back(
        self, logs: Array, rows: KernelPoints, columns: KernelPoints, cotangent: Array
    ) -> Array:
        """By reverse differentiation; what tiles are filled with has weight zero."""
        one, other = _filled(rows), _filled(columns)
        part = np.zeros((_length(one), _length(other)))
        part[: len(cotangent), : cotangent.shape[1]] = cotangent
        return np.asarray(_pull_back(self.gram, logs, one, other, part))

    def variances(self, logs: Array, points: KernelPoints) -> Array:
        """One point at a time."""
        return np.asarray(_variances(self.gram, logs, _filled(points)))[: _length(points)]


def _tile(points: KernelPoints) -> int:
    """To how many points they are filled up: one size, so that one program serves any number.

    In many dimensions rows that only fill a tile up cost more than another program.
    """
    most = _most()
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(points)]
    n = len(leaves[0])
    if max(leaf.size for leaf in leaves) <= WIDE * n:
        return most
    return min(most, max(SMALLEST_TILE, 1 << (n - 1).bit_length()))


def _filled(points: KernelPoints) -> KernelPoints:
    """With copies of the last point, which is one like any other."""
    rows = np.minimum(np.arange(_tile(points)), _length(points) - 1)
    return jax.tree.map(lambda a: np.asarray(a)[rows], points)


@partial(jax.jit, static_argnums=0)
def _block(gram: Gram, logs: Any, rows: KernelPoints, columns: KernelPoints) -> jax.Array:
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
