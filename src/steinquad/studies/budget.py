"""How far a study goes, and where on the way it looks at its answer."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np

from steinquad._types import is_count, is_positive
from steinquad.errors import InputError, shown

__all__ = ["TARGETS", "Budget"]

TARGETS = ("std", "relative_std")
PATIENCE = 1000  # points after which a study without `runs` must have an estimate
FIRST = {"iid": 100, "sobol": 128, "adaptive": 200}  # points before the first look
GROWTH = {"iid": 1.5, "sobol": 2.0, "adaptive": 1.5}  # to the next; Sobol points are even at 2^k


@dataclass(frozen=True)
class Budget:
    """Most evaluations, the std at which to stop before, and how often to look.

    Args:
        runs: most evaluations; None for as many as the target takes.
        until: `{"std": ...}` or `{"relative_std": ...}`, for every output; None to use up `runs`.
        every: evaluations between two looks at the estimate; by default ever more of them, and
            without a target only one look, at the end.
    """

    runs: int | None
    until: Mapping[str, float] | None = None
    every: int | None = None

    def __post_init__(self) -> None:
        if self.runs is None and self.until is None:
            raise InputError.about(
                "runs", "is None and so is until; give a number, a target, or both"
            )
        for name, value, least in (("runs", self.runs, 2), ("every", self.every, 2)):
            if value is not None and not is_count(value, least):
                raise InputError.about(
                    name, f"is {shown(value)}; give an integer of at least {least}"
                )
        if self.until is not None and not _are_targets(self.until):
            raise InputError.about(
                "until",
                f"is {shown(self.until)}; give a positive number for {' or '.join(TARGETS)}",
            )

    def looks(self, kind: str) -> Iterator[int]:
        """Numbers of points at which there is an estimate, rising, the last one `runs`.

        Args:
            kind: of the points, since Sobol points are best looked at in powers of two.
        """
        for n in self._endless(kind):
            if self.runs is not None and n >= self.runs:
                yield self.runs
                return
            yield n

    def goes_on(self, n: int) -> bool:
        """Whether there is another look after n points, so that no estimate yet is no error.

        Early looks may have too few points, or too many failures. Without `runs`, which would be
        an end by itself, this is tolerated up to 1000 points.

        Args:
            n: points so far.
        """
        return n < (PATIENCE if self.runs is None else self.runs)

    def ends(self, n: int, record: Mapping[str, Any]) -> bool:
        """Whether to stop at an estimate from n points, before `runs` are used up.

        An output that is the same at all points so far has an std that proves little, zero or that
        of an event which was not seen: it ends a study no sooner than no estimate would.

        Args:
            n: points that the estimate is from.
            record: the estimate as `Estimate.to_dict` gives it.
        """
        # Records of former versions do not say which outputs are constant.
        still = record["status"] == "constant" or np.any(record.get("constant", False))
        unseen = still or np.any(np.asarray(record["std"]) == 0)
        return self.reached(record) and not (unseen and self.goes_on(n))

    def reached(self, record: Mapping[str, Any]) -> bool:
        """Whether an estimate has the std that was asked for; always false without a target.

        Args:
            record: the estimate as `Estimate.to_dict` gives it. Every output has to be within
                every target; a relative one is a share of the absolute value of the mean.
        """
        if self.until is None:
            return False
        mean, std = np.atleast_1d(record["mean"]), np.atleast_1d(record["std"])
        limits = {"std": 1.0, "relative_std": np.abs(mean)}
        return all(bool(np.all(std <= self.until[key] * limits[key])) for key in self.until)

    def _endless(self, kind: str) -> Iterator[int]:
        if self.every is not None:
            yield from count(self.every, self.every)
        elif self.until is None and self.runs is not None:
            yield self.runs
        n = float(FIRST[kind])
        while True:
            yield round(n)
            n *= GROWTH[kind]


def _are_targets(until: Any) -> bool:
    if not isinstance(until, Mapping) or not until or not set(until) <= set(TARGETS):
        return False
    return all(map(is_positive, until.values()))
