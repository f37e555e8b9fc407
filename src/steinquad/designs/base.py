"""The base class of every design, and the value it answers with."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from steinquad._types import Array, Progress
from steinquad.dataset import Dataset
from steinquad.errors import InputError
from steinquad.measures.base import Measure

__all__ = ["Design", "Sample", "split_evenly"]

FIRST_ROUND = 200  # points, about, of an integral to a tolerance


@dataclass(frozen=True, eq=False)
class Sample:
    """The points of a design with what is known of them: what `Design.draw` returns.

    Attributes:
        x: points, (n, d).
        score: gradient of the log density there, (n, d), where the design computed it on its way.
        weights: importance weights, (n,); None for equal ones.
        groups: the chain or replicate of each point, (n,), contiguous; None for independent draws.
        sampled: False for points that are not a sample of the measure, such as a grid.
        notes: trouble, each a sentence without its period; makes an estimate suspect.
        stats: what the design has to report, such as acceptance rates.
    """

    x: Array
    score: Array | None = None
    weights: Array | None = None
    groups: np.ndarray | None = None
    sampled: bool = True
    notes: tuple[str, ...] = ()
    stats: Mapping[str, Any] = field(default_factory=dict)

    def dataset(self, fx: Array) -> Dataset:
        """The points with values of f there, (n,) or (n, k), as a method takes them."""
        return Dataset(
            self.x,
            fx,
            self.score,
            weights=self.weights,
            groups=self.groups,
            sampled=self.sampled,
        )

    @classmethod
    def joined(cls, samples: Sequence["Sample"]) -> "Sample":
        """Several of one design as one; chains or replicates of different ones are other groups.

        Notes and stats are those of the last: the first may be too short to tell of chains.
        """
        if len(samples) == 1:
            return samples[0]

        rows: dict[str, Any] = {}
        for name in ("x", "score", "weights", "groups"):
            parts: list[Any] = [getattr(each, name) for each in samples]
            known = all(part is not None for part in parts)
            if known and name == "groups":
                # Every sample counts its own from 0.
                firsts = np.cumsum([0, *(part.max() + 1 for part in parts[:-1])])
                parts = [part + first for part, first in zip(parts, firsts, strict=True)]
            rows[name] = np.concatenate(parts) if known else None
        return replace(samples[-1], **rows)


class Design(ABC):
    """A way to place points. A new one is a subclass with `draw`.

    Attributes:
        nested: whether more points of the same seed contain those of fewer, in any order, so that
            an integral that needs more of them goes on with the same sequence; otherwise further
            points are drawn with another seed and added.

    >>> class Middle(Design):
    ...     def draw(self, measure, n, *, seed, progress=None):
    ...         return Sample(np.full((n, measure.dim), 0.5), sampled=False)
    >>> Middle().name, Middle().block, Middle().first_round(10_000)
    ('Middle', 1, 200)
    """

    nested: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """Short name for tables and messages; that of the class by default."""
        return type(self).__name__

    @property
    def block(self) -> int:
        """How many points must be added together, such as one for each of several chains."""
        return 1

    def first_round(self, max_n: int) -> int:
        """How many points to begin with where a tolerance and not n is given.

        Args:
            max_n: the most that are allowed.

        Returns:
            A number of points that `draw` accepts, about 200, unless `max_n` is smaller.
        """
        return min(self.block * -(-FIRST_ROUND // self.block), max_n)

    @abstractmethod
    def draw(
        self, measure: Measure, n: int, *, seed: int, progress: Progress | None = None
    ) -> Sample:
        """Place `n` points for an integral under a measure.

        Args:
            measure: where the points go.
            n: how many; a multiple of `block`.
            seed: of everything random; the same seed gives the same points.
            progress: called with (step, total, loss) by designs that take their time.

        Returns:
            The points with scores, groups and diagnostics where the design has them.
        """


def split_evenly(n: int, parts: int, name: str) -> int:
    """How many of n points each of so many chains or replicates gets.

    Raises `InputError` with the nearest n that can be split where n is no multiple of `parts`;
    `name` is what the parts are called.
    """
    if n % parts:
        nearest = max(parts, round(n / parts) * parts)
        raise InputError(f"n is {n} but {name} is {parts}; give a multiple such as n={nearest}.")
    return n // parts
