"""A program over many rows, in pieces that fit in memory."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

__all__ = ["in_pieces"]

# A piece holds the model's intermediate arrays this many times.
PIECE = 256


def in_pieces(program: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Make a program take any number of rows, by calling it for some of them at a time.

    Args:
        program: of a pytree of arrays with a row for each draw; returns such a pytree.

    Returns:
        The same function of arrays (n, ...), with answers in NumPy. The last piece is filled up
        with its last row, so that a compiled program sees one shape.
    """

    def run(rows: Any) -> Any:
        n = len(jax.tree.leaves(rows)[0])
        size = min(n, PIECE)
        pieces = []
        for start in range(0, n, size):
            chosen = np.minimum(np.arange(start, start + size), n - 1)
            pieces.append(program(jax.tree.map(lambda a, i=chosen: a[i], rows)))
        return jax.tree.map(lambda *parts: np.concatenate(parts)[:n], *pieces)

    return run
