"""The protocol that every design follows, and the value it answers with."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np

from steinquad._types import Array, Progress
from steinquad.errors import InputError
from steinquad.measures.base import Measure

__all__ = ["Design", "Sample", "as_count", "split_evenly"]


@dataclass(frozen=True, eq=False)
class Sample:
    """The points of a design with what is known of them.

    Attributes:
        x: points, (n, d).
        score: gradient of the log density there, (n, d), where the design found it on its way.
        weights: importance weights, (n,); None for equal ones.
        groups: the chain or replicate of each point, (n,), contiguous; None for independent draws.
        sampled: False for points that are not a sample of the measure, such as a grid.
        notes: trouble, each a sentence without its period; makes an estimate suspect.
        stats: what the design has to report.
    """

    x: Array
    score: Array | None = None
    weights: Array | None = None
    groups: np.ndarray | None = None
    sampled: bool = True
    notes: tuple[str, ...] = ()
    stats: Mapping[str, Any] = field(default_factory=dict)


@runtime_checkable
class Design(Protocol):
    """A way to place points; a new one is a class with these two members."""

    @property
    def name(self) -> str:
        """Short name for tables."""
        ...

    def draw(self, measure: Measure, n: int, *, seed: int, progress: Progress) -> Sample:
        """`n` points of the measure.

        Args:
            measure: where the points go.
            n: how many.
            seed: of everything random; the same seed gives the same points.
            progress: called with (step, total, loss) by designs that take their time.
        """
        ...


def as_count(name: str, value: Any, least: int) -> int:
    """An option that counts something, as a Python integer."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise InputError(f"{name} is {value!r}; give an integer of at least {least}.")
    return int(value)


def split_evenly(n: int, parts: int, name: str) -> int:
    """n / parts, refused with the nearest n that can be split."""
    if n % parts:
        nearest = max(parts, round(n / parts) * parts)
        raise InputError(f"n is {n} but {name} is {parts}; give a multiple such as n={nearest}.")
    return n // parts
