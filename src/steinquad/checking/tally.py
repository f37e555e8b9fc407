"""The least and the largest value of every output, and how often each was seen."""

from dataclasses import dataclass

import numpy as np

from steinquad._types import Array

__all__ = ["Tally"]


@dataclass(frozen=True, eq=False)
class Tally:
    """Counts that say which outputs do not vary and which take two values; they can be merged.

    Attributes:
        n: number of values of each output.
        low: least value, (k,).
        high: largest value, (k,).
        at_low: how many are the least, (k,).
        at_high: how many are the largest, (k,).
    """

    n: int
    low: Array
    high: Array
    at_low: np.ndarray
    at_high: np.ndarray

    @classmethod
    def of(cls, values: Array) -> "Tally":
        """That of values (n, k), of at least one point."""
        low, high = values.min(axis=0), values.max(axis=0)
        at_low, at_high = (np.sum(values == each, axis=0) for each in (low, high))
        return cls(len(values), low, high, at_low, at_high)

    def merged(self, other: "Tally") -> "Tally":
        """That of both, in whatever order.

        Args:
            other: of other values of the same outputs.
        """
        low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        at_low = sum(np.where(each.low == low, each.at_low, 0) for each in (self, other))
        at_high = sum(np.where(each.high == high, each.at_high, 0) for each in (self, other))
        return Tally(self.n + other.n, low, high, np.asarray(at_low), np.asarray(at_high))

    @property
    def constant(self) -> np.ndarray:
        """Which outputs have one value only, (k,)."""
        return self.low == self.high

    @property
    def indicator(self) -> np.ndarray:
        """Which outputs have no other values than 0 and 1, (k,)."""
        ends = np.isin(self.low, (0.0, 1.0)) & np.isin(self.high, (0.0, 1.0))
        return ends & (self.constant | (self.at_low + self.at_high == self.n))

    @property
    def two_values(self) -> np.ndarray:
        """Which outputs are of two values, (k,): indicators, also where all are the same.

        Of other values one has to repeat, or both where one is zero: a single value among zeros
        may be any size that a rare loss can have.
        """
        counts = np.sort([self.at_low, self.at_high], axis=0)
        repeat = np.where((self.low == 0) | (self.high == 0), counts[0], counts[1]) > 1
        two = ~self.constant & (self.at_low + self.at_high == self.n) & repeat
        return two | self.indicator

    @property
    def levels(self) -> tuple[Array, Array]:
        """The lower and the higher of two values, each (k,): 0 and 1 of an indicator."""
        both = self.indicator
        return np.where(both, 0.0, self.low), np.where(both, 1.0, self.high)

    @property
    def higher(self) -> np.ndarray:
        """How many have the higher of two values, (k,)."""
        return np.where(self.high == self.levels[1], self.at_high, 0)
