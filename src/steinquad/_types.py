"""Array aliases and the checks that every public entry point shares."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steinquad.errors import InputError

__all__ = [
    "Array",
    "ArrayLike",
    "Progress",
    "Watch",
    "as_count",
    "as_finite",
    "as_points",
    "as_positive",
    "is_count",
    "no_progress",
    "no_watch",
]

Array: TypeAlias = NDArray[np.float64]


# Called with (step, total, loss) after every training step.
Progress: TypeAlias = Callable[[int, int, float], None]


def no_progress(step: int, total: int, loss: float) -> None:
    """Report nothing: the `Progress` of callers that did not ask for any."""
    del step, total, loss


# Called with (step, weights) after every training step.
Watch: TypeAlias = Callable[[int, Array], None]


def no_watch(step: int, weights: Array) -> None:
    """Look at nothing: the `Watch` of trainings that nobody observes."""
    del step, weights


def as_finite(name: str, values: ArrayLike, ndim: tuple[int, ...] = (1, 2)) -> Array:
    """`values` as a float64 array, refused if not numeric or not finite.

    Args:
        name: of the argument, for the message.
        values: array, list or data frame.
        ndim: allowed numbers of axes.
    """
    try:
        if np.iscomplexobj(values):
            raise TypeError
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(
            f"{name} is not numeric (got {type(values).__name__}); pass an array of numbers."
        ) from None
    if array.ndim not in ndim:
        allowed = " or ".join(f"{k}-d" for k in ndim)
        raise InputError(f"{name} has shape {array.shape}; pass a {allowed} array.")
    bad = ~np.isfinite(array)
    if bad.any():
        row = int(np.argwhere(bad)[0][0]) if array.ndim else 0
        kind = "NaN" if np.isnan(array).any() else "inf"
        raise InputError(
            f"{name} contains {kind} ({int(bad.sum())} entries, first in row {row}); "
            "remove or repair those rows."
        )
    return array


def as_points(name: str, values: ArrayLike, dim: int | None = None) -> Array:
    """Points as an (n, d) float64 array, checked by `as_finite`; shape (n,) means d = 1.

    Args:
        name: of the argument, for the message.
        values: the points.
        dim: the measure's, which d has to be; None for any.
    """
    array = as_finite(name, values)
    if array.ndim == 1:
        array = array[:, None]
    if dim is not None and array.shape[1] != dim:
        raise InputError(
            f"{name} has shape {array.shape} but the measure has dim {dim}; "
            f"pass points of shape (n, {dim})."
        )
    return array


def as_count(name: str, value: Any, least: int) -> int:
    """An option that counts something, as a Python integer of at least `least`.

    Raises `InputError` with the `name` of the option for anything else, bool included.

    Args:
        name: of the option, for the message.
        value: what the user gave.
        least: smallest number allowed.
    """
    if not is_count(value, least):
        raise InputError(f"{name} is {value!r}; give an integer of at least {least}.")
    return int(value)


def as_positive(name: str, value: Any, *, or_zero: bool = False) -> float:
    """An option that measures something, as a finite Python float above zero, or from zero on.

    Booleans and strings raise `InputError` like negative numbers, infinities and NaN.
    """
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not (number and (0 < value < np.inf or (or_zero and value == 0))):
        what = "a number >= 0" if or_zero else "a positive number"
        raise InputError(f"{name} is {value!r}; give {what}.")
    return float(value)


def is_count(value: Any, least: int) -> bool:
    """Whether an option is an integer of at least `least`; for options with their own message.

    NumPy's integers count, but no bool, which Python takes for an integer too.
    """
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return whole and bool(value >= least)
