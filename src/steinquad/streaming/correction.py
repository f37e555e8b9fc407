"""What the pass over all rows does with each of them, and what it keeps: sums and counts."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce

import numpy as np

from steinquad._float64 import float64
from steinquad._types import Array
from steinquad.checking.held_out import corrected_values
from steinquad.checking.tally import Tally
from steinquad.errors import InputError, shown_point
from steinquad.fit import Fit
from steinquad.measures.base import Measure
from steinquad.points import Points
from steinquad.streaming.moments import Moments
from steinquad.streaming.source import Batch, Columns, Piece, batches
from steinquad.support import Support

__all__ = ["Correction", "Passed"]


@dataclass(frozen=True, eq=False)
class Passed:
    """What is known of rows that a pass has gone over.

    Attributes:
        moments: of the columns v = theta0 + f - g, f, its absolute value, and x.
        tally: of f.
    """

    moments: Moments
    tally: Tally

    def merged(self, other: "Passed") -> "Passed":
        """That of both.

        Args:
            other: of other rows.
        """
        return Passed(self.moments.merged(other.moments), self.tally.merged(other.tally))

    @property
    def places(self) -> tuple[slice, slice, slice, slice]:
        """Where the columns of v, f, its absolute value and x are."""
        k = len(self.tally.low)
        return slice(k), slice(k, 2 * k), slice(2 * k, 3 * k), slice(3 * k, None)

    @property
    def left(self) -> float:
        """Standard deviation of what the fit leaves, of the output with the largest."""
        total = self.moments.total
        return float(np.sqrt(total.second[0, self.places[0]].max() / self.tally.n))


@dataclass(frozen=True, eq=False)
class Correction:
    """A fit, and how rows correct it: all that a process needs that goes over some of them.

    Attributes:
        fit: theta0 and the model.
        measure: what a model may ask for scores, when known.
        support: where points must lie, when known.
        columns: of the files.
        rows: number of all rows.
        blocks: into which they fall, see `Moments`.
        fitted: numbers of the rows that the fit has seen, in order, (m,).
        held_out: `theta0 + f - g` of these under fits that have not seen them, (m, k).
    """

    fit: Fit
    measure: Measure | None
    support: Support | None
    columns: Columns
    rows: int
    blocks: int
    fitted: np.ndarray
    held_out: Array

    @float64
    def of_piece(self, piece: Piece, report: Callable[[Passed], None] | None = None) -> Passed:
        """Go over the rows of a piece.

        Args:
            piece: of the source.
            report: called with what is known of every batch of rows.
        """

        def of_batch(batch: Batch) -> Passed:
            passed = self._of_batch(batch, piece)
            if report is not None:
                report(passed)
            return passed

        return reduce(Passed.merged, map(of_batch, batches(piece, self.columns, self.support)))

    def _of_batch(self, batch: Batch, piece: Piece) -> Passed:
        points = Points(batch.x, batch.score, measure=self.measure)
        with np.errstate(over="ignore", invalid="ignore"):
            values = corrected_values(self.fit, points, batch.fx)
        numbers = batch.first + np.arange(len(values))
        seen = slice(*np.searchsorted(self.fitted, (batch.first, batch.first + len(values))))
        values[self.fitted[seen] - batch.first] = self.held_out[seen]
        wrong = np.flatnonzero(~np.isfinite(values).all(axis=1))
        if len(wrong):
            row = int(wrong[0])
            raise InputError(
                f"file {piece.path} has at row {piece.row(batch.first + row)} the point "
                f"{shown_point(batch.x[row].tolist())}, where the fit or the score is not finite; "
                "remove points on the boundary of the support, or take another method."
            )
        columns = np.concatenate([values, batch.fx, np.abs(batch.fx), batch.x], axis=1)
        labels = numbers * self.blocks // self.rows
        return Passed(Moments.of(columns, labels, self.blocks), Tally.of(batch.fx))
