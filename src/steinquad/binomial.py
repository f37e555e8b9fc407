"""Outputs that take two values, one of them seldom: intervals by Clopper and Pearson.

Few events say little of how few they may be, and none at all is no exact answer. This interval
covers at least as often as it says, whatever the chance of the event is.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv

from steinquad._types import Array

__all__ = ["Binomial", "clopper_pearson"]

LEVEL, QUANTILE = 0.95, 1.959963984540054  # the std is half of this interval over the quantile


def clopper_pearson(events: Array, n: Array, level: float = LEVEL) -> tuple[Array, Array]:
    """Two-sided limits of chances, each side with half of what the level leaves.

    Args:
        events: how often each happened; of effective draws not whole numbers.
        n: number of draws.
        level: probability that an interval covers.

    >>> low, high = clopper_pearson(np.array([0.0]), np.array([100.0]))
    >>> low.round(4).item(), high.round(4).item()
    (0.0, 0.0362)
    """
    tail = (1 - level) / 2
    # The incomplete beta function has no parameter of zero.
    low = betaincinv(np.maximum(events, 1e-300), n - events + 1, tail)
    high = betaincinv(events + 1, np.maximum(n - events, 1e-300), 1 - tail)
    return np.where(events > 0, low, 0.0), np.where(events < n, high, 1.0)


@dataclass(frozen=True, eq=False)
class Binomial:
    """Which outputs are binomial with few events, and what their values say.

    Attributes:
        applies: for which outputs, (k,); the other entries mean nothing.
        low: the lower of the two values, (k,).
        high: the higher one, (k,).
        share: of the points with the higher value, (k,).
        size: effective number of draws, (k,).
    """

    applies: np.ndarray
    low: Array
    high: Array
    share: Array
    size: Array

    @property
    def mean(self) -> Array:
        """The average of the values, (k,)."""
        return self.low + (self.high - self.low) * self.share

    @property
    def std(self) -> Array:
        """Half the width of the 95 % interval over the normal's quantile, (k,)."""
        low, high = self.limits(LEVEL)
        return (high - low) / (2 * QUANTILE)

    def limits(self, level: float) -> tuple[Array, Array]:
        """Ends of the interval in the units of f, each (k,).

        Args:
            level: probability that it should cover the expectation.
        """
        low, high = clopper_pearson(self.share * self.size, self.size, level)
        width = self.high - self.low
        return self.low + width * low, self.low + width * high

    def __str__(self) -> str:
        """What a status says of the first of these outputs."""
        j = int(np.flatnonzero(self.applies)[0])
        rare = self.low[j] if self.share[j] > 0.5 else self.high[j]
        events = min(self.share[j], 1 - self.share[j]) * self.size[j]
        where = "" if len(self.applies) == 1 else f"output {j} of "
        return (
            f"{where}f takes two values and is {rare:g} at {events:.3g} of {self.size[j]:.4g} "
            "points: the limits are Clopper and Pearson's; for narrower ones add points, or "
            "integrate what is behind the threshold"
        )
