"""From the stored evaluations of a study to its estimate."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from steinquad._types import Array, Progress, no_progress
from steinquad.api import estimate
from steinquad.dataset import Dataset
from steinquad.errors import InputError
from steinquad.estimate import Estimate
from steinquad.fit import Status
from steinquad.measures.base import Measure
from steinquad.methods.base import Method
from steinquad.methods.choose import Choose
from steinquad.studies.adaptive import SCOUTS, folds_of, is_choice
from steinquad.studies.corrected import corrected
from steinquad.studies.points import REPLICATES, replicate_order
from steinquad.studies.store import Store

__all__ = ["Gathered", "answer", "gather", "independent", "sample_of"]

MOST_FAILED = 0.01  # share of the evaluations that may fail without a word from the user


@dataclass(frozen=True, eq=False)
class Gathered:
    """The first `n` points of a study, all of which are done or failed.

    Only such a beginning is a sample: among points that happen to be finished, those with quick
    evaluations would be too many.
    """

    n: int
    numbers: np.ndarray  # of those that are done
    x: Array
    fx: Array
    weights: Array  # by which they count in an average; ones but for adaptive points
    lost: float = 0.0  # weight of those that failed

    @property
    def failed(self) -> int:
        """How many of them failed."""
        return self.n - len(self.numbers)

    @property
    def share_failed(self) -> float:
        """Of the probability, that of the points that failed."""
        return self.lost / max(self.lost + float(self.weights.sum()), 1.0)

    def take(self, rows: np.ndarray) -> "Gathered":
        """Some of them; those that failed are counted as before."""
        of = (each[rows] for each in (self.numbers, self.x, self.fx, self.weights))
        return Gathered(self.n - len(self.numbers) + len(rows), *of, lost=self.lost)


def gather(store: Store, stop: int | None, dim: int, outputs: int, kind: str) -> Gathered:
    """Read the longest beginning without a gap, up to the number `stop`."""
    n, numbers, x, fx = 0, [], [], []
    for row in store.rows(stop):
        if row.number != n:
            break
        n += 1
        if row.outputs is not None:
            numbers.append(row.number)
            x.append(np.array(row.input))
            fx.append(np.array(row.outputs))
    weight = {row.number: row.weight for row in store.choices(0, n)} if kind == "adaptive" else {}
    weights = np.array([weight.get(number, 1.0) for number in numbers])
    every = n + sum(each - 1.0 for number, each in weight.items() if number < n)
    return Gathered(
        n,
        np.array(numbers, dtype=np.int64),
        np.array(x).reshape(len(numbers), dim),
        np.array(fx).reshape(len(numbers), outputs),
        weights,
        lost=every - float(weights.sum()) if n > len(numbers) else 0.0,
    )


def independent(data: Gathered, kind: str) -> Gathered:
    """Without adaptive points that were chosen: what is left is a sample without weights."""
    if kind != "adaptive":
        return data
    rows = np.flatnonzero(~is_choice(data.numbers))
    return replace(data.take(rows), weights=np.ones(len(rows)))


def sample_of(data: Gathered, measure: Measure, kind: str) -> Dataset:
    """What a method sees: the points in their order, or replicate by replicate."""
    order = replicate_order(data.numbers) if kind == "sobol" else np.arange(len(data.numbers))
    fx = data.fx[order]
    return Dataset(
        data.x[order],
        fx[:, 0] if fx.shape[1] == 1 else fx,
        weights=data.weights if np.any(data.weights != 1.0) else None,
        names=measure.names,
        groups=data.numbers[order] % REPLICATES if kind == "sobol" else None,
    )


def answer(
    data: Gathered,
    measure: Measure,
    *,
    kind: str,
    method: Method | None,
    seed: int,
    ignore_failures: bool,
    versions: Sequence[str],
    progress: Progress | None = None,
) -> Estimate:
    """Estimate from the points in the order of their numbers; says what is missing."""
    share = data.share_failed
    left_out = (
        f"{data.failed} of {data.n} evaluations failed and are left out, "
        f"{100 * share:.3g} % of the probability"
    )
    if share > MOST_FAILED and not ignore_failures:
        raise InputError(
            f"{data.failed} of {data.n} evaluations failed ({100 * share:.3g} %, more than "
            f"{100 * MOST_FAILED:g} %); repair the integrand and run with --retry-failed, or set "
            'on_failure = "ignore".'
        )
    if len(data.numbers) < 2:
        raise InputError(
            f"store has {len(data.numbers)} usable evaluations at the beginning; run the study "
            "until there are at least 2."
        )
    est = _estimate(data, measure, kind, method or Choose(), seed, progress)
    est = replace(est, stats={**est.stats, "evaluations": data.n, "failed": data.failed})
    doubts, notes = [], []
    if data.failed:
        (doubts if share > MOST_FAILED else notes).append(left_out)
    if len(versions) > 1:
        doubts.append(f"the evaluations are by {len(versions)} versions of the integrand")
    code = "suspect" if doubts and est.status.code != "not_finite" else est.status.code
    return est.with_status(Status(code, "; ".join([*doubts, est.status.message, *notes])))


def _estimate(
    data: Gathered,
    measure: Measure,
    kind: str,
    method: Method,
    seed: int,
    progress: Progress | None,
) -> Estimate:
    correct = kind == "adaptive" and np.sum(data.numbers >= SCOUTS) >= SCOUTS
    data = data if correct else independent(data, kind)  # where too few could correct
    sample = sample_of(data, measure, kind)
    est = estimate(sample, measure=measure, method=method, seed=seed, progress=progress)
    if not correct:
        return est
    split, report = folds_of(data.numbers, seed), progress or no_progress
    return corrected(est, sample, split, measure, method=method, seed=seed, progress=report)
