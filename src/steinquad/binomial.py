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

    Where weights differ, the lower limit takes events for as many draws as their weights are
    worth. The upper one counts one event more, as that of Clopper and Pearson does, of the largest
    weight that there is: an event that was not seen may be anywhere (Fay and Feuer, 1997, for sums
    of Poisson counts, here with the binomial's quantiles). With equal weights both are Clopper and
    Pearson's.

    Attributes:
        applies: for which outputs, (k,); the other entries mean nothing.
        low: the lower of the two values, (k,).
        high: the higher one, (k,).
        share: of the weight of all points, that with the higher value, (k,).
        size: number of draws, as the weights of the rarer value have it, (k,).
        heaviest: share of all weight that one independent draw has at most, (k,); 1 / size where
            all have the same.
    """

    applies: np.ndarray
    low: Array
    high: Array
    share: Array
    size: Array
    heaviest: Array

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
        rare = np.minimum(self.share, 1 - self.share)
        least, _ = clopper_pearson(rare * self.size, self.size, level)
        more = np.minimum(rare + self.heaviest, 1.0)
        size = more / (rare / self.size + self.heaviest**2)
        _, most = clopper_pearson(more * size - 1, size, level)
        mirrored = self.share > 0.5
        low, high = np.where(mirrored, 1 - most, least), np.where(mirrored, 1 - least, most)
        width = self.high - self.low
        return self.low + width * low, self.low + width * high
