"""Checks of arguments that every measure shares: names, probabilities, how many draws."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from steinquad._types import Array, as_count, as_points, as_seed
from steinquad.errors import InputError, shown

__all__ = ["as_draw_request", "as_names", "as_probabilities", "as_samples"]

MOST_COORDINATES = 1_000_000


def as_names(names: Sequence[str] | None, dim: int) -> tuple[str, ...]:
    """Coordinate names, `x0, x1, ...` where none are given; refused unless dim distinct words.

    Args:
        names: a sequence of strings, a single string for a scalar measure, or None.
        dim: number of coordinates of the measure.

    Returns:
        A tuple of `dim` strings; anything else raises `InputError`.
    """
    if dim > MOST_COORDINATES:  # before names and sides of all of them fill the memory
        raise InputError(
            f"the measure has dim {shown(dim)}; take at most {MOST_COORDINATES} coordinates."
        )
    if names is None:
        return tuple(f"x{i}" for i in range(dim))
    if isinstance(names, str):
        names = [names]
    try:
        given: tuple[Any, ...] = tuple(names)
    except TypeError:  # nothing that has parts
        given = (names,)
    words = all(isinstance(name, str) for name in given)
    if not words or not len(given) == len(set(given)) == dim:
        raise InputError(
            f"names is {shown(given)} but the measure has dim {dim}; give {dim} different strings."
        )
    return given


def as_probabilities(p: Any, dim: int) -> Array:
    """Probabilities as an (n, dim) float64 array, refused outside [0, 1].

    Args:
        p: what the user passed to `icdf`, (n, dim) or, for a scalar measure, (n,).
        dim: number of coordinates of the measure.

    Returns:
        The checked array; both ends, 0 and 1, are allowed.
    """
    array = as_points("p", p, dim)
    wrong = (array < 0) | (array > 1)
    if wrong.any():
        row = int(np.argwhere(wrong)[0][0])
        raise InputError(
            f"p has values outside [0, 1] (first in row {row}); pass probabilities to icdf."
        )
    return array


def as_draw_request(n: Any, seed: Any) -> tuple[int, int]:
    """The number of draws and the seed, as non-negative Python integers.

    NumPy integers are accepted, booleans and floats are not, so that a swapped or fractional
    argument raises `InputError` before a sampler runs.

    Args:
        n: number of draws, at least 1.
        seed: from 0 to below 2^63.
    """
    return as_count("n", n, 1), as_seed(seed)


def as_samples(values: Any, n: int, dim: int) -> Array:
    """What a sampler gave back, as (n, dim) float64; refused if it is of another shape.

    Samplers written by users may return one draw too few or a transposed array; that is an
    `InputError` here instead of a wrong integral later.
    """
    array = as_points("sample", values, dim)
    if len(array) != n:
        raise InputError(f"sample gave {len(array)} rows for n = {n}; give exactly n rows.")
    return array
