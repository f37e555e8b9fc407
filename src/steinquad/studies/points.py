"""The points of a study, by number: point i depends on the seed and on i only.

So a study can be stopped, resumed and extended, and its points are the same as if it had not been.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Protocol

import numpy as np

from steinquad._types import Array
from steinquad.designs.quantiles import from_uniform
from steinquad.designs.sobol import Scrambled
from steinquad.errors import InputError
from steinquad.measures.base import Measure

__all__ = [
    "BLOCK",
    "KINDS",
    "REPLICATES",
    "Numbered",
    "NumberedPoints",
    "default_kind",
    "replicate_order",
]

BLOCK = 256  # points that are drawn together
REPLICATES = 16  # independent scramblings; point i belongs to number i % REPLICATES


class Numbered(Protocol):
    """Whatever has the coordinates of a point by its number, from 0 on.

    `NumberedPoints` computes them from a seed; `adaptive.Chosen` reads some from the store. The
    driver needs no more than this of either.
    """

    def __getitem__(self, number: int) -> tuple[float, ...]: ...


class NumberedPoints:
    """Numbered points of a measure, drawn in blocks when they are asked for.

    How many there will be need not be known before. Points in ascending order are cheap; going
    back in a Sobol sequence starts it from its beginning.

    Args:
        measure: what they are drawn from.
        kind: `iid` for independent draws, `sobol` for scrambled Sobol points, or `adaptive` for
            independent draws of which `adaptive.Chosen` replaces some.
        seed: of all of them.

    >>> import scipy.stats
    >>> from steinquad.measures import as_measure
    >>> points = NumberedPoints(as_measure(scipy.stats.norm()), "iid", seed=0)
    >>> points[1000] == points[1000]
    True
    """

    def __init__(self, measure: Measure, kind: str, *, seed: int) -> None:
        if kind not in KINDS:
            raise InputError.about("points", f"is {kind!r}; choose one of {', '.join(KINDS)}")
        self.measure, self.kind, self.seed = measure, kind, seed
        self._block = lru_cache(maxsize=8)(KINDS[kind](measure, seed).block)

    def __getitem__(self, number: int) -> tuple[float, ...]:
        """The coordinates of a point."""
        return tuple(self._block(number // BLOCK)[number % BLOCK].tolist())


def default_kind(measure: Measure) -> str:
    """The kind of points that `auto` stands for.

    Args:
        measure: of the inputs.

    Returns:
        `sobol`, which errs least (docs/studies.md), or `iid` where the measure has no inverse
        distribution functions.
    """
    try:
        from_uniform(measure, np.full((1, measure.dim), 0.5))
    except InputError:
        return "iid"
    return "sobol"


def replicate_order(numbers: np.ndarray) -> np.ndarray:
    """The order that puts the points of each replicate together, by number in it.

    Numbers take turns among replicates, so that any beginning has the same share of each, up to
    one point; a dataset holds them replicate by replicate.

    Args:
        numbers: of Sobol points, with or without gaps.

    Returns:
        Positions in `numbers`, as `np.argsort` gives them.
    """
    return np.lexsort((numbers, numbers % REPLICATES))


class _Blocks(Protocol):
    """Points by blocks of BLOCK."""

    def block(self, i: int) -> Array: ...


class _Independent:
    def __init__(self, measure: Measure, seed: int) -> None:
        if "sample" not in measure.provides:
            raise InputError(
                f"measure {type(measure).__name__} has no sampler, which a study needs; draw from "
                "a distribution that has one."
            )
        self.measure, self.seed = measure, seed

    def block(self, i: int) -> Array:
        own = np.random.SeedSequence([self.seed, i]).generate_state(1, np.uint64)[0]
        return self.measure.sample(BLOCK, seed=int(own >> 1))  # 63 bits, which all samplers take


class _Sobol:
    """Remembers where in its sequences it is: mostly the next block is asked for."""

    def __init__(self, measure: Measure, seed: int) -> None:
        self.measure, self.seed = measure, seed
        self._restart()

    def block(self, i: int) -> Array:
        if i < self.at:
            self._restart()
        each = BLOCK // REPLICATES
        parts: list[Array] = []
        while self.at <= i:  # SciPy cannot skip points of so many bits
            parts = [sequence.next(each) for sequence in self.sequences]
            self.at += 1
        uniform = np.stack(parts, axis=1).reshape(BLOCK, self.measure.dim)  # replicates in turn
        return from_uniform(self.measure, uniform)

    def _restart(self) -> None:
        children = np.random.SeedSequence(self.seed).spawn(REPLICATES)
        self.sequences = [Scrambled(self.measure.dim, child) for child in children]
        self.at = 0


KINDS: dict[str, Callable[[Measure, int], _Blocks]] = {
    "iid": _Independent,
    "sobol": _Sobol,
    "adaptive": _Independent,
}
