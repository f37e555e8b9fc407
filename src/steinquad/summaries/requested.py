"""What is asked of the distribution of an output."""

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from steinquad.errors import InputError

__all__ = ["QUANTILES", "Requested"]

QUANTILES = (0.05, 0.5, 0.95)  # unless others are asked for


@dataclass(frozen=True)
class Requested:
    """Quantiles, by their probabilities, and limits of which the chances are requested.

    Checked when it is made: probabilities strictly between 0 and 1, limits finite.

    Attributes:
        quantiles: probabilities of the quantiles.
        above: limits; the chance that f exceeds each.
        below: limits; the chance that f stays below each.
    """

    quantiles: Sequence[float] = QUANTILES
    above: Sequence[float] = ()
    below: Sequence[float] = ()

    def __post_init__(self) -> None:
        for field in fields(self):
            name, given = field.name, getattr(self, field.name)
            chances = name == "quantiles"
            what = "numbers between 0 and 1" if chances else "finite numbers"
            if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray):
                raise InputError.about(name, f"is {given!r}; give a list of {what}")
            for value in given:
                if not _finite(value) or (chances and not 0 < value < 1):
                    huge = isinstance(value, int) and abs(value) > sys.float_info.max
                    shown = "a number too large" if huge else repr(value)
                    raise InputError.about(name, f"has {shown}; give {what}")

    @classmethod
    def parse(cls, name: str, given: Any) -> "Requested":
        """From a mapping of an output's settings, whose unknown keys are refused.

        Args:
            name: of the output, for messages.
            given: mapping with any of `quantiles`, `above` and `below`, as a study file has it;
                anything else is an `InputError` about `outputs`.
        """
        known = [field.name for field in fields(cls)]
        if not isinstance(given, Mapping):
            raise InputError.about("outputs", f"has {given!r} for {name!r}; give a mapping")
        for key in given:
            if key not in known:
                raise InputError.about(
                    "outputs", f"has {key!r} for {name!r}; known are {', '.join(known)}"
                )
        try:
            return cls(**given)
        except InputError as error:
            problem = f"of {name!r}: {error.argument} {error.problem}"
            raise InputError.about("outputs", problem) from None

    def asked(self) -> Iterator[tuple[str, float | None]]:
        """Kind and argument of every statistic, in the order in which they are reported.

        Yields:
            `("std", None)`, then quantiles with their probabilities, then chances above and below
            with their limits.
        """
        yield "std", None
        yield from (("quantile", float(p)) for p in self.quantiles)
        yield from (("above", float(limit)) for limit in self.above)
        yield from (("below", float(limit)) for limit in self.below)


def _finite(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer that no float holds
        return False
