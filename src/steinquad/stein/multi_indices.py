"""Products of polynomials in single coordinates: which there are, and their values."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import TypeAlias

import numpy as np

from steinquad._types import Array

__all__ = ["HYPERBOLIC_FROM", "hyperbolic", "index_set", "products"]

HYPERBOLIC_FROM = 6  # dimensions from which on `index_set` keeps interactions to low orders
HYPERBOLIC_NORM = 0.75

Powers: TypeAlias = tuple[tuple[int, int], ...]  # pairs (coordinate, power) that are not zero


@lru_cache(maxsize=64)
def hyperbolic(
    weights: tuple[float, ...], order: int, norm: float, most: int
) -> np.ndarray | None:
    """Multi-indices with `0 < sum_i (w_i k_i)^norm <= order^norm`, (S, d).

    With weights of 1 norm 1 has all of total degree `order`; the smaller it is, the fewer products
    are among them beside the powers of single coordinates. Coordinates of larger weight have lower
    degrees; weights are at least 1.

    Returns:
        The indices, or None for more than `most`.
    """
    powers = [each for each, _ in islice(_enumerated(weights, order, norm), most + 1)]
    if len(powers) > most:
        return None
    indices = _table(powers, len(weights))
    return indices[np.lexsort(indices.T[::-1])]


@lru_cache(maxsize=64)
def index_set(dim: int, order: int) -> np.ndarray:
    """Multi-indices of degree 1 to `order`, (size, dim), nested in the order.

    Total degree up to five dimensions. Beyond, hyperbolic with norm 3/4, which keeps high powers
    of one coordinate and low ones of products.
    """
    norm = 1.0 if dim < HYPERBOLIC_FROM else HYPERBOLIC_NORM
    # Sums of roots differ by rounding where they should be the same.
    ordered = sorted(_enumerated((1.0,) * dim, order, norm), key=lambda each: round(each[1], 9))
    return _table([powers for powers, _ in ordered], dim)


def products(tables: Sequence[Array], indices: np.ndarray) -> Array:
    """Values of products of polynomials at n points, (n, len(indices)).

    Args:
        tables: of each coordinate, its polynomials at the points, (n, degrees) from 0 on.
        indices: degree in each coordinate of each product, (S, d).
    """
    values = np.ones((len(tables[0]), len(indices)))
    for i, table in enumerate(tables):
        used = np.flatnonzero(indices[:, i])
        values[:, used] *= table[:, indices[used, i]]
    return values


def _enumerated(
    weights: Sequence[float], order: int, norm: float
) -> Iterator[tuple[Powers, float]]:
    """One by one, so that too many are noticed early; each with its own order."""
    # The powers are sums of roots: rounding must not drop indices on the edge.
    limit = order**norm + 1e-9

    def extended(first: int, head: Powers, spent: float) -> Iterator[tuple[Powers, float]]:
        for i in range(first, len(weights)):
            for power in range(1, order + 1):
                total = spent + (weights[i] * power) ** norm
                if total > limit:
                    break
                yield (*head, (i, power)), total ** (1 / norm)
                if total + 1 <= limit:
                    yield from extended(i + 1, (*head, (i, power)), total)

    return extended(0, (), 0.0)


def _table(indices: Sequence[Powers], dim: int) -> np.ndarray:
    table = np.zeros((len(indices), dim), dtype=int)
    for row, powers in enumerate(indices):
        for i, power in powers:
            table[row, i] = power
    return table
