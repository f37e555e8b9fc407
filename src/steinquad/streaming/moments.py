"""Sums over rows that can be added up in parts: count, mean and central powers of each column.

Parts are merged by the formulas of Chan, Golub and LeVeque (1983) and, for higher powers, Pebay
(2008), which subtract no large numbers from each other. Rows fall into consecutive blocks by
their number among all rows, whatever parts they come in, so that the spread of the averages of
blocks is a standard error for rows that depend on their neighbors.
"""

from dataclasses import dataclass
from functools import reduce
from math import isqrt

import numpy as np

from steinquad._types import Array
from steinquad.checking.standard_error import freedom_left, spread_of_sums

__all__ = ["Moments", "blocks_of"]

MOST_BLOCKS = 100


def blocks_of(rows: int) -> int:
    """Number of blocks of so many rows: at most a hundred, and no more than rows in each.

    >>> blocks_of(400), blocks_of(10**7)
    (20, 100)
    """
    return min(isqrt(rows), MOST_BLOCKS)


@dataclass(frozen=True, eq=False)
class Moments:
    """Those of every column in every block.

    Attributes:
        n: rows of each block, (blocks, 1).
        mean: averages, (blocks, m); zero where there are no rows yet.
        second: sums of squares around these, (blocks, m).
        third: sums of third powers.
        fourth: sums of fourth powers.
    """

    n: Array
    mean: Array
    second: Array
    third: Array
    fourth: Array

    @classmethod
    def nothing(cls, blocks: int, columns: int) -> "Moments":
        """Those of no rows, to begin with."""
        return cls(np.zeros((blocks, 1)), *np.zeros((4, blocks, columns)))

    @classmethod
    def of(cls, values: Array, labels: np.ndarray, blocks: int) -> "Moments":
        """Those of some rows.

        Args:
            values: (n, m).
            labels: the block of each row, (n,), in ascending order.
            blocks: number of all blocks.
        """
        found = cls.nothing(blocks, values.shape[1])
        present, begins = np.unique(labels, return_index=True)
        for block, own in zip(present, np.split(values, begins[1:]), strict=True):
            rough = own.mean(axis=0)
            mean = rough + (own - rough).mean(axis=0)  # without the rounding of a long sum
            left = own - mean
            squares = left**2
            found.n[block], found.mean[block] = len(own), mean
            found.second[block] = squares.sum(axis=0)
            found.third[block] = np.sum(squares * left, axis=0)
            found.fourth[block] = np.sum(squares**2, axis=0)
        return found

    def merged(self, other: "Moments") -> "Moments":
        """Those of both, block by block.

        Args:
            other: of other rows, with the same columns and as many blocks.
        """
        n = self.n + other.n
        safe = np.maximum(n, 1.0)
        p, q = self.n / safe, other.n / safe  # shares of the rows
        gap = other.mean - self.mean
        return Moments(
            n=n,
            mean=np.where(self.n == 0, other.mean, self.mean + gap * q),
            second=self.second + other.second + n * p * q * gap**2,
            third=self.third
            + other.third
            + n * p * q * (p - q) * gap**3
            + 3 * gap * (p * other.second - q * self.second),
            fourth=self.fourth
            + other.fourth
            + n * p * q * (p**2 - p * q + q**2) * gap**4
            + 6 * gap**2 * (p**2 * other.second + q**2 * self.second)
            + 4 * gap * (p * other.third - q * self.third),
        )

    @property
    def total(self) -> "Moments":
        """Those of all rows, as one block; blocks are merged in their order."""
        return reduce(Moments.merged, (self._block(b) for b in range(len(self.n))))

    def _block(self, b: int) -> "Moments":
        return Moments(*(part[b : b + 1] for part in vars(self).values()))

    @property
    def standard_error(self) -> Array:
        """Standard errors of the averages over all rows, (m,).

        The larger of that for independent rows and that by the averages of blocks, as
        `robust_standard_error` has it: rows of chains are seen to depend on each other, as long as
        blocks are longer than the chains remember.
        """
        total = self.total
        return np.maximum(self._independent(total), self._between(total))

    def freedom(self, columns: np.ndarray) -> float:
        """Degrees of freedom of the standard errors of some columns: the least of them.

        As many as there are blocks less one, or what tails leave where that is less; at least 1.

        Args:
            columns: their numbers.
        """
        total = self.total
        square, fourth = total.second[0, columns], total.fourth[0, columns]
        share = np.divide(fourth, square**2, out=np.zeros_like(square), where=square > 0)
        most = float(np.min(freedom_left(share, int(total.n[0, 0])), initial=np.inf))
        return max(min(len(self.n) - 1.0, most), 1.0)

    @property
    def dependence(self) -> Array:
        """Ratio of the standard error by blocks to that of independent rows, (m,); 1 of constants.

        Of independent rows it is about 1, with a standard deviation of 1 / sqrt(2 * blocks).
        """
        total = self.total
        independent = self._independent(total)
        ones = np.ones_like(independent)
        return np.divide(self._between(total), independent, out=ones, where=independent > 0)

    def _independent(self, total: "Moments") -> Array:
        n = float(total.n[0, 0])
        return np.sqrt(total.second[0] / (n - 1) / n)

    def _between(self, total: "Moments") -> Array:
        return spread_of_sums(self.n / total.n * (self.mean - total.mean))
