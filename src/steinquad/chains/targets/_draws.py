"""Draws as every target reads them: complete, of the model's shapes, inside the support."""

from collections.abc import Callable, Mapping
from typing import Any

import jax
import numpy as np

from steinquad._types import Array, as_finite, as_numbers, as_points
from steinquad.errors import InputError

__all__ = ["as_coordinates", "as_draws", "check_support", "in_pieces", "side_by_side"]

# Draws are often stored in float32 or with six digits: a simplex then sums to one within 1e-5.
STORED_DIGITS = 1e-4
PIECE = 256  # draws at a time: a program holds the model's intermediate arrays so many times


def as_draws(draws: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Array]:
    """The variables that a model samples, complete and in float64.

    Args:
        draws: by name, other variables among them.
        shapes: of one draw of each variable of the model, by name.

    Returns:
        The variables that `shapes` names, in its order, (n, *shape) each.

    Raises:
        InputError: if one is missing, or has another shape or number of draws than the others.
    """
    if not isinstance(draws, Mapping):
        raise InputError(
            f"draws is a {type(draws).__name__}; pass a mapping from variable name to (n, *shape)."
        )
    missing = [name for name in shapes if name not in draws]
    if missing:
        raise InputError(
            f"draws has no variable {missing[0]!r}, which the model samples; it has "
            f"{', '.join(map(repr, draws)) or 'none'}, so pass draws of every sampled variable."
        )
    arrays = {}
    for name, shape in shapes.items():
        array = as_numbers(f"draws of {name!r}", draws[name])
        if array.ndim == 0 or array.shape[1:] != shape:
            raise InputError(
                f"draws of {name!r} have shape {array.shape} but the model's variable has shape "
                f"{shape}; pass one draw a row, {_written(shape)}."
            )
        arrays[name] = as_finite(f"draws of {name!r}", array, ndim=(array.ndim,))
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) > 1 or 0 in lengths.values():
        raise InputError(f"draws have the lengths {lengths}; pass as many of each, at least one.")
    return arrays


def side_by_side(draws: Mapping[str, Array]) -> Array:
    """All entries of all variables as columns, (n, d), variable after variable in C order."""
    return np.concatenate([a.reshape(len(a), -1) for a in draws.values()], axis=1)


def as_coordinates(points: Any, dim: int) -> Array:
    """Points at which a target is asked for scores, as (n, dim) float64.

    Raises:
        InputError: if they are not of the target's dimension.
    """
    points = as_points("points", points)
    if points.shape[1] != dim:
        raise InputError(
            f"points has shape {points.shape} but the model has {dim} unconstrained coordinates; "
            "pass what unconstrain gave."
        )
    return points


def check_support(draws: Mapping[str, Array], points: Array, back: Mapping[str, Any]) -> None:
    """Refuse draws that did not survive the way to R^d and back.

    They are not in the support, or on its edge, where unconstrained coordinates are infinite.

    Args:
        draws: (n, *shape) each, by name.
        points: where the model's transforms take them, (n, d).
        back: where the inverse transforms take those, by the names of `draws`.

    Raises:
        InputError: with the name of the variable and the first such draw.
    """
    for name, values in draws.items():
        returned = np.asarray(back[name])
        lost = ~(np.abs(returned - values) <= STORED_DIGITS * np.maximum(1.0, np.abs(values)))
        if lost.any():
            row = int(np.argwhere(lost)[0][0])
            raise InputError(
                f"draws of {name!r} leave the support of the model (first in draw {row}: "
                f"{np.array2string(values[row], precision=4, threshold=6)}); check that they come "
                "from this model."
            )
    infinite = ~np.isfinite(points).all(axis=1)
    if infinite.any():
        raise InputError(
            f"draws lie on the edge of the support of the model ({int(infinite.sum())} of them, "
            f"first draw {int(np.argmax(infinite))}), where there is no score; leave those out, "
            "or sample in float64."
        )


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


def _written(shape: tuple[int, ...]) -> str:
    return f"(n, {', '.join(map(str, shape))})" if shape else "(n,)"
