"""What is stored of a study, read once: the points that an answer may use."""

from dataclasses import dataclass, replace

import numpy as np

from steinquad._types import Array
from steinquad.dataset import Dataset
from steinquad.errors import InputError
from steinquad.studies.adaptive import SCOUTS, is_choice
from steinquad.studies.database import damaged
from steinquad.studies.points import BLOCK, REPLICATES, replicate_order
from steinquad.studies.settings import Settings
from steinquad.studies.store import Evaluation, Store

__all__ = ["Gathered", "check_points", "gather"]

SAME = 1e-8  # of the largest coordinate: a difference that a library of another version may make


@dataclass(frozen=True, eq=False)
class Gathered:
    """The first `n` points of a study, all of which are done or failed.

    Only such a beginning is a sample: among points that happen to be finished, those with quick
    evaluations would be too many.

    Attributes:
        kind: of the points, such as `sobol`.
        n: how many there are, those that failed included.
        numbers: of those that are done.
        x: their coordinates, (done, d).
        fx: their outputs, (done, k).
        weights: by which they count in an average; ones but for adaptive points.
        lost: weight of those that failed.
        first_failed: one of those; None if all are done.
    """

    kind: str
    n: int
    numbers: np.ndarray
    x: Array
    fx: Array
    weights: Array
    lost: float = 0.0
    first_failed: Evaluation | None = None

    @property
    def failed(self) -> int:
        """How many of the first `n` points failed and are left out of the sample.

        By number of points; an answer is refused by `share_failed`, in which weights count.
        """
        return self.n - len(self.numbers)

    @property
    def share_failed(self) -> float:
        """Of the probability, that of the points that failed; by weights, not by numbers.

        Adaptive points crowd where f is hard to predict: counted by number, failures there would
        seem to take more of the distribution than they do.
        """
        return self.lost / max(self.lost + float(self.weights.sum()), 1.0)

    @property
    def replicates(self) -> np.ndarray | None:
        """The scrambling that each point belongs to, (done,); None for other than Sobol points.

        Points of one scrambling depend on each other, so only the averages of whole replicates
        give a standard error.
        """
        return self.numbers % REPLICATES if self.kind == "sobol" else None

    def independent(self) -> "Gathered":
        """Without adaptive points that were chosen: what is left is a sample without weights.

        For quantiles and chances, for the spread of an output, and for a mean while there are too
        few pairs to correct it. Other kinds of points come back as they are.
        """
        if self.kind != "adaptive":
            return self
        rows = np.flatnonzero(~is_choice(self.numbers))
        return replace(
            self,
            n=self.failed + len(rows),
            numbers=self.numbers[rows],
            x=self.x[rows],
            fx=self.fx[rows],
            weights=np.ones(len(rows)),
        )

    def dataset(self, names: tuple[str, ...]) -> Dataset:
        """What a method sees: the points in their order, or replicate by replicate.

        One output is a vector of values, several are a matrix; weights are given only where they
        differ, and groups only for Sobol points.

        Args:
            names: of the inputs, in the order of the columns.
        """
        groups = self.replicates
        order = np.arange(len(self.numbers)) if groups is None else replicate_order(self.numbers)
        fx = self.fx[order]
        return Dataset(
            self.x[order],
            fx[:, 0] if fx.shape[1] == 1 else fx,
            weights=self.weights if np.any(self.weights != 1.0) else None,
            names=names,
            groups=None if groups is None else groups[order],
        )


def gather(store: Store, settings: Settings, stop: int | None = None) -> Gathered:
    """Read the longest beginning without a gap, in one pass over the stored rows.

    Points that failed are no gap, but are left out of `x` and `fx` and add to `lost`.

    Args:
        store: of the study; refused if its points are not those of the settings.
        settings: of the study.
        stop: only points of lower numbers are read; all of them by default.
    """
    n, early, done, first_failed = 0, [], [], None
    for row in store.rows(stop):
        # Rows of the first block are read beyond a gap too: all of them can be compared with the
        # points of the settings.
        if row.number < BLOCK:
            early.append(row)
        elif row.number != n:
            break
        if row.number == n:
            n += 1
            done += [row] if row.outputs is not None else []
            first_failed = first_failed or (row if row.outputs is None else None)
    check_points(early, settings)
    numbers = np.array([row.number for row in done], dtype=np.int64)
    adaptive = settings.points == "adaptive"
    weight = {row.number: row.weight for row in store.choices(0, n)} if adaptive else {}
    for number in numbers.tolist():
        if adaptive and number >= SCOUTS and number not in weight:
            raise damaged(store.path, f"row {number}: how it was chosen is missing")
    weights = np.array([weight.get(number, 1.0) for number in numbers.tolist()])
    every = n + sum(each - 1.0 for each in weight.values())
    return Gathered(
        settings.points,
        n,
        numbers,
        np.array([row.input for row in done]).reshape(len(done), settings.measure.dim),
        np.array([row.outputs for row in done]).reshape(len(done), len(settings.outputs)),
        weights,
        lost=every - float(weights.sum()) if n > len(done) else 0.0,
        first_failed=first_failed,
    )


def check_points(rows: list[Evaluation], settings: Settings) -> None:
    """Refuse a store whose points were drawn from other distributions.

    Args:
        rows: stored evaluations of low numbers; choices of an adaptive study are passed over,
            since they depend on outputs too.
        settings: whose points they should be.
    """
    if settings.points == "adaptive":
        rows = [row for row in rows if not is_choice(np.array(row.number))]
    here = np.array([settings.numbered[row.number] for row in rows])
    for row, point in zip(rows, here, strict=True):
        stored = np.array(row.input)
        same = stored.shape == point.shape and np.all(
            np.abs(stored - point) <= SAME * np.abs(here).max(axis=0)
        )
        if not same:
            raise InputError(
                f"store {settings.store} belongs to another study: its point {row.number} is "
                f"{list(row.input)}, here it is {point.tolist()}; restore the inputs, or "
                "give another store."
            )
