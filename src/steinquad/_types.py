"""Array aliases and the checks that every public entry point shares."""

import math
import numbers
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steinquad.errors import InputError, shown, shown_point

__all__ = [
    "Array",
    "ArrayLike",
    "Progress",
    "ProgressOption",
    "Watch",
    "as_count",
    "as_finite",
    "as_flag",
    "as_fraction",
    "as_numbers",
    "as_path",
    "as_points",
    "as_positive",
    "as_seed",
    "finite_number",
    "is_count",
    "is_missing",
    "is_positive",
    "is_word",
    "no_progress",
    "no_watch",
    "unmasked",
]

LARGEST_COUNT = 10**9  # of points, steps or folds: no memory holds more
SEEDS = 2**63  # the seeds that JAX takes
MISSING = ("NAType", "NaTType")  # pandas' marks for a value that is not there
NO_NUMBERS = "cSUMm"  # kinds of arrays: complex, text, dates

Array: TypeAlias = NDArray[np.float64]


# Called with (step, total, loss) after every training step.
Progress: TypeAlias = Callable[[int, int, float], None]

# What users may ask for: a bar, their own function, or nothing.
ProgressOption: TypeAlias = Progress | bool | None


def no_progress(step: int, total: int, loss: float) -> None:
    """Report nothing: the `Progress` of callers that did not ask for any."""
    del step, total, loss


# Called with (step, weights) after every training step.
Watch: TypeAlias = Callable[[int, Array], None]


def no_watch(step: int, weights: Array) -> None:
    """Look at nothing: the `Watch` of trainings that nobody observes."""
    del step, weights


def as_finite(
    name: str, values: Any, ndim: tuple[int, ...] = (1, 2), *, at: Array | None = None
) -> Array:
    """`values` as a float64 array, refused if not numeric, not finite or missing.

    Args:
        name: of the argument, for the message.
        values: array, list or data frame.
        ndim: allowed numbers of axes.
        at: points (n, d) that the values are of, so that the message shows the first wrong one's.
    """
    array = as_numbers(name, values)
    if array.ndim not in ndim:
        allowed = " or ".join(f"{k}-d" for k in ndim)
        raise InputError(f"{name} has shape {array.shape}; pass a {allowed} array.")
    bad = ~np.isfinite(array)
    if bad.any():
        row = int(np.argwhere(bad)[0][0]) if array.ndim else 0
        kind = "NaN" if np.isnan(array).any() else "inf"
        where = f", at {shown_point(at[row])}" if at is not None and row < len(at) else ""
        raise InputError(
            f"{name} contains {kind} ({int(bad.sum())} entries, first in row {row}{where}); "
            "remove or repair those rows."
        )
    return array


def as_numbers(name: str, values: Any) -> Array:
    """`values` as a float64 array of any shape: the one way by which numbers enter.

    Args:
        name: of the argument, for the message.
        values: array, masked array, list, data frame or what NumPy makes an array of; objects
            that are numbers count as such, text, dates and complex numbers do not.

    Returns:
        NaN where a value is missing: masked, None, or pandas' NA.
    """
    try:
        array = unmasked(values)
        if array.dtype.kind == "O":
            flat = [_number(value) for value in array.ravel()]
            return np.array(flat, dtype=np.float64).reshape(array.shape)
        if array.dtype.kind == "c":
            raise InputError(
                f"{name} is not numeric but complex; pass its real and imaginary parts."
            )
        if array.dtype.kind in NO_NUMBERS:
            raise TypeError
        with np.errstate(over="ignore"):  # a longer float becomes infinite, which is refused
            return array.astype(np.float64, copy=False)
    except InputError:
        raise
    except OverflowError:
        raise InputError(
            f"{name} has an integer beyond what float64 holds; scale it down."
        ) from None
    except (TypeError, ValueError, RecursionError):
        raise InputError(
            f"{name} is not numeric (got {type(values).__name__}); pass an array of numbers."
        ) from None


def unmasked(values: Any) -> np.ndarray:
    """What NumPy makes of `values`, with NaN for what is masked and never the number below it.

    Args:
        values: an array, or lists of numbers and masked arrays.
    """
    if isinstance(values, np.ma.MaskedArray):
        if not np.ma.is_masked(values):
            return np.asarray(values.data)
        if values.dtype.kind in NO_NUMBERS:
            raise TypeError
        return np.asarray(np.ma.filled(values.astype(np.float64), np.nan))
    if isinstance(values, list | tuple):
        wrapped = list | tuple | np.ma.MaskedArray
        return np.asarray([unmasked(v) if isinstance(v, wrapped) else v for v in values])
    return np.asarray(values)


def is_missing(value: Any) -> bool:
    """Whether a value stands for one that is not there: None, or pandas' NA and NaT."""
    return value is None or type(value).__name__ in MISSING


def _number(value: Any) -> float:
    """An entry of an array of objects as a float, NaN where it is missing."""
    if getattr(value, "ndim", None) == 0:  # a scalar of NumPy or JAX
        value = unmasked(value).item()
    if is_missing(value):
        return float("nan")
    if not isinstance(value, numbers.Number) or isinstance(value, complex):
        raise TypeError
    return float(value)  # pyright: ignore[reportArgumentType]


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

    Raises `InputError` with the `name` of the option for anything else, bool included, and for
    more than a billion.

    Args:
        name: of the option, for the message.
        value: what the user gave.
        least: smallest number allowed.
    """
    if not is_count(value, least):
        raise InputError(f"{name} is {shown(value)}; give an integer of at least {least}.")
    if value > LARGEST_COUNT:
        raise InputError(f"{name} is {shown(value)}; give at most {LARGEST_COUNT}.")
    return int(value)


def as_positive(name: str, value: Any, *, or_zero: bool = False) -> float:
    """An option that measures something, as a finite Python float above zero, or from zero on.

    Booleans and strings raise `InputError` like negative numbers, infinities and NaN.
    """
    if not is_positive(value, or_zero=or_zero):
        what = "a number >= 0" if or_zero else "a positive number"
        raise InputError(f"{name} is {shown(value)}; give {what}.")
    return float(value)


def finite_number(value: Any) -> float | None:
    """An option that is a finite real number, as a float; None for anything else.

    Args:
        value: what the user gave; no bool, no text, and no integer beyond floats.
    """
    real = isinstance(value, int | float | np.integer | np.floating)
    try:
        number = float(value) if real and not isinstance(value, bool) else math.inf
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def is_word(value: Any, *words: str) -> bool:
    """Whether an option is one of some words; whatever is no text, an array too, is none.

    Args:
        value: what the user gave.
        *words: those that the option may be.
    """
    return isinstance(value, str) and value in words


def is_positive(value: Any, *, or_zero: bool = False) -> bool:
    """Whether an option is a finite number above zero; for options with their own message.

    NumPy's numbers count, but no bool, which Python takes for a number too.
    """
    number = finite_number(value)
    return number is not None and (number > 0 or (or_zero and number == 0))


def is_count(value: Any, least: int) -> bool:
    """Whether an option is an integer of at least `least`; for options with their own message.

    NumPy's integers count, but no bool, which Python takes for an integer too.
    """
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return whole and bool(value >= least)


def as_seed(value: Any) -> int:
    """A seed as a Python integer, refused unless every generator takes it.

    Args:
        value: what the user gave.
    """
    if not is_count(value, 0) or value >= SEEDS:
        raise InputError(f"seed is {shown(value)}; give an integer >= 0 and below 2^63.")
    return int(value)


def as_flag(name: str, value: Any) -> bool:
    """An option that is on or off, refused unless it is True or False.

    Text and arrays are refused: `"no"` would be true, and of an array nobody knows.

    Args:
        name: of the option, for the message.
        value: what the user gave; NumPy's booleans count.
    """
    if not isinstance(value, bool | np.bool_):
        raise InputError(f"{name} is {shown(value)}; give True or False.")
    return bool(value)


def as_path(name: str, value: Any) -> Path:
    """A path that somebody gave as a text or as an object, refused if no file can have it.

    Args:
        name: of the argument, for the message.
        value: what the user gave.
    """
    if not isinstance(value, str | os.PathLike) or "\x00" in os.fsdecode(value):
        raise InputError(f"{name} is {shown(value)}; give the path of a file.")
    return Path(os.fsdecode(value))


def as_fraction(name: str, value: Any) -> float:
    """An option between 0 and 1, both excluded, such as a probability or a tolerance.

    Args:
        name: of the option, for the message.
        value: what the user gave.
    """
    real = isinstance(value, int | float | np.integer | np.floating)
    if not real or isinstance(value, bool) or not 0 < value < 1:
        raise InputError(f"{name} is {shown(value)}; give a number between 0 and 1.")
    return float(value)
