"""Randomized quasi-Monte Carlo points."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from steinquad._types import Array, Progress, as_count
from steinquad.designs.base import FIRST_ROUND, Design, Sample, split_evenly
from steinquad.designs.quantiles import from_uniform
from steinquad.measures.base import Measure
from steinquad.measures.checks import as_draw_request

__all__ = ["Scrambled", "Sobol"]

LEAST = 16  # points of a replicate
BITS = 50  # of a coordinate; the middle of a cell is then exact in float64 and never 0 or 1


@dataclass(frozen=True)
class Sobol(Design):
    """Scrambled Sobol points through the inverse distribution functions.

    Each point by itself is a draw of the measure, together they fill the space evenly. The error
    of an average is seen from independently scrambled replicates only. The points of a replicate
    come in random order: consecutive ones of the sequence lie in opposite parts of the space, and
    whatever looks for a Markov chain in the order of the values would find one.

    Args:
        replicates: n is split evenly among so many scramblings; n / replicates is best a power
            of two, for other numbers the points are the first ones of a longer sequence.

    >>> import scipy.stats
    >>> from steinquad.measures import as_measure
    >>> points = Sobol(replicates=2).draw(as_measure(scipy.stats.norm()), 8, seed=0)
    >>> points.groups
    array([0, 0, 0, 0, 1, 1, 1, 1])
    """

    replicates: int = 1
    nested: ClassVar[bool] = True

    def __post_init__(self) -> None:
        as_count("replicates", self.replicates, 1)

    @property
    def block(self) -> int:
        """One point for each replicate."""
        return self.replicates

    def first_round(self, max_n: int) -> int:
        """A power of two for each replicate, because sequences are even there: 256 in all."""
        each = 1 << max((FIRST_ROUND - 1) // self.replicates, LEAST - 1).bit_length()
        return min(self.replicates * each, max_n)

    def draw(
        self, measure: Measure, n: int, *, seed: int, progress: Progress | None = None
    ) -> Sample:
        """Draw all replicates, one after the other; see `Design.draw`. n is split evenly.

        More points of the same seed are the same ones and others, in another order.
        """
        n, seed = as_draw_request(n, seed)
        each = split_evenly(n, self.replicates, "replicates")
        *children, last = np.random.SeedSequence(seed).spawn(self.replicates + 1)
        whole = 1 << (each - 1).bit_length()  # SciPy begins with a power of two only
        parts = [Scrambled(measure.dim, child).next(whole)[:each] for child in children]
        shuffled = map(np.random.default_rng(last).permutation, parts)
        groups = np.repeat(np.arange(self.replicates), each) if self.replicates > 1 else None
        return Sample(from_uniform(measure, np.concatenate([*shuffled])), groups=groups)


class Scrambled:
    """A scrambled Sobol sequence in the unit cube, taken point after point.

    Each point lies in the middle of its cell of 2^-BITS, so that no coordinate is 0 or 1, where
    quantiles are infinite.

    Args:
        dim: number of coordinates.
        seed: of the scrambling; other seeds give independent sequences.
    """

    def __init__(self, dim: int, seed: np.random.SeedSequence) -> None:
        from scipy.stats import qmc  # a second of import time

        self._engine = qmc.Sobol(dim, scramble=True, bits=BITS, rng=np.random.default_rng(seed))

    def next(self, n: int) -> Array:
        """The next n points (n, d); the first time n must be a power of two, as SciPy wants it."""
        return self._engine.random(n) + 2.0 ** -(BITS + 1)
