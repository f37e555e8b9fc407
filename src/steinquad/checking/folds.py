"""Which points are held out together."""

import numpy as np

from steinquad.dataset import Dataset
from steinquad.errors import InputError

__all__ = ["evenly_spaced", "folds_of", "others"]


def folds_of(data: Dataset, folds: int, seed: int) -> list[np.ndarray]:
    """Rows of each fold: random for independent draws, else consecutive, whole groups if many.

    Draws of a Markov chain are neighbors of each other: a fold of consecutive ones leaves few of
    them on both sides of a cut.

    Args:
        data: its `groups` say which points depend on each other.
        folds: number of parts, from 2 to half the number of points.
        seed: of the permutation of independent draws.

    Returns:
        Sorted rows of each fold; every row is in exactly one.
    """
    if not 2 <= folds <= data.n // 2:
        raise InputError(f"folds is {folds} for {data.n} points; give 2 to {data.n // 2}.")
    if data.groups is None:
        order = np.random.default_rng(seed).permutation(data.n)
        return [np.sort(part) for part in np.array_split(order, folds)]
    labels = np.unique(data.groups)
    whole = [np.flatnonzero(np.isin(data.groups, p)) for p in np.array_split(labels, folds)]
    if min(len(part) for part in whole) < data.n / (2 * folds):  # too few groups, or unequal ones
        return np.array_split(np.arange(data.n), folds)
    return whole


def others(n: int, rows: np.ndarray) -> np.ndarray:
    """All rows but these, in order: what is left to fit to when a fold is held out.

    Args:
        n: number of points.
        rows: to be left out.
    """
    return np.setdiff1d(np.arange(n), rows)


def evenly_spaced(rows: np.ndarray, most: int) -> np.ndarray:
    """At most so many of these rows, the first and the last among them.

    Thins draws of a chain, or an ordered design, without favoring any part of it, and needs no
    random numbers.

    Args:
        rows: to choose from, in order.
        most: how many to keep; all of them where there are not more.
    """
    return rows[np.linspace(0, len(rows) - 1, min(most, len(rows))).round().astype(int)]
