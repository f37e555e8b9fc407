"""One property of the distribution of f, with its 95 % interval."""

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

__all__ = ["LEVEL", "Statistic", "better"]

LEVEL = 0.95  # of every interval
CLEARLY = 0.8  # times the plain interval, below which one with the model takes its place


@dataclass(frozen=True)
class Statistic:
    """A value with its 95 % interval.

    Attributes:
        kind: `std`, `quantile`, `above` or `below`.
        at: the probability of a quantile, the limit of a chance, None for the std.
        value: the estimate.
        low: lower end of the interval; -inf where the sample is too small to have one.
        high: upper end, or inf.
        uses_model: whether a fitted model of f made the interval shorter, or the simulated values
            speak alone.
    """

    kind: str
    at: float | None
    value: float
    low: float
    high: float
    uses_model: bool = False

    @property
    def width(self) -> float:
        """Length of the interval, infinite where an end is; `better` compares by it."""
        return self.high - self.low

    def label(self, output: str) -> str:
        """What it is, e.g. `P[power > 1.2]`.

        >>> Statistic("quantile", 0.05, 1.0, 0.9, 1.1).label("power")
        '5 % quantile of power'
        """
        if self.kind == "std":
            return f"std of {output}"
        if self.kind == "quantile":
            return f"{100 * (self.at or 0.0):.6g} % quantile of {output}"
        return f"P[{output} {'>' if self.kind == 'above' else '<'} {self.at:.6g}]"

    def describe(self, output: str) -> str:
        """Label, value, interval and whether a model was used, in one line.

        Numbers have as many digits as the interval is worth. Of values that are all the same the
        std has no upper end, which is said.
        """
        half = self.width / 2
        known = 0 < half < np.inf and self.value != 0
        digits = int(np.clip(np.log10(abs(self.value) / half) + 3, 3, 15)) if known else 4
        # + 0.0: no minus before a zero
        value, low, high = (each + 0.0 for each in (self.value, self.low, self.high))
        source = "   with the model" if self.uses_model else ""
        if self.kind == "std" and value == 0 and high == np.inf:
            source = "   all values are equal, which proves little"
        ends = f"[{low:.{digits}g}, {high:.{digits}g}]"
        return f"{self.label(output)} = {value:.{digits}g}   95 %: {ends}{source}"

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, ready for JSON; None for an end that is not finite.

        JSON has no infinity, and a small sample may not bound a quantile.
        """
        plain = asdict(self)
        ends = {key: plain[key] if np.isfinite(plain[key]) else None for key in ("low", "high")}
        return plain | ends


def better(plain: Statistic, corrected: Statistic) -> Statistic:
    """The corrected one where its interval is clearly shorter, marked as using the model.

    Clearly is by a fifth or more: choosing the shorter of two intervals by chance would cost
    cover, and statistics of the values alone presume less.

    Args:
        plain: from the simulated values alone.
        corrected: the same statistic through a model.
    """
    if not np.isfinite([corrected.value, corrected.width]).all():
        return plain
    if corrected.width < CLEARLY * plain.width:
        return replace(corrected, uses_model=True)
    return plain
