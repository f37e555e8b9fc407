"""What is asked of a posterior: outputs to be averaged, and rows made of their averages."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from scipy.special import stdtrit

from steinquad._types import Array, as_finite
from steinquad.chains.improve import Answers
from steinquad.chains.layout import ChainDraws, entry_labels
from steinquad.chains.result import SummaryRow
from steinquad.errors import InputError

__all__ = ["Moments", "OwnFunction", "Wish"]

QUANTILES = (0.05, 0.5, 0.95)
TAIL = 0.975  # of the intervals


class Wish(Protocol):
    """Outputs and what becomes of them."""

    @property
    def values(self) -> Array:
        """Of every output at every draw, (n, k)."""
        ...

    def rows(self, answers: Answers) -> list[SummaryRow]:
        """The table, from the answers for all outputs."""
        ...


@dataclass(frozen=True, eq=False)
class OwnFunction:
    """The mean of every output of a user's function."""

    values: Array
    labels: Sequence[str]

    @classmethod
    def evaluate(cls, function: Callable[[Any], Any], sample: ChainDraws) -> "OwnFunction":
        """Call it once for all draws.

        Returns:
            Outputs by name where it returns a dict, else f, or f[0], f[1], ...
        """
        found = function(sample.for_function())
        by_name = found if isinstance(found, Mapping) else {"f": found}
        parts: list[Array] = []
        labels: list[str] = []
        for name, given in by_name.items():
            try:
                array = np.asarray(given)
            except ValueError:
                raise InputError(f"f returned a ragged {name!r}; return an array.") from None
            if array.dtype.kind not in "fiub" or array.shape[:1] != (sample.n,):
                raise InputError(
                    f"f returned {array.dtype} of shape {array.shape} as {name!r} for "
                    f"{sample.n} draws; return numbers of shape ({sample.n},) or "
                    f"({sample.n}, ...)."
                )
            parts.append(as_finite(f"f, output {name!r},", array.reshape(sample.n, -1)))
            labels += entry_labels(name, [list(map(str, range(k))) for k in array.shape[1:]])
        if not labels:
            raise InputError("f returned nothing; return an array or a dict of arrays.")
        return cls(np.concatenate(parts, axis=1), labels)

    def rows(self, answers: Answers) -> list[SummaryRow]:
        """One for each output."""
        return [_mean(label, "mean", answers, j) for j, label in enumerate(self.labels)]


@dataclass(frozen=True, eq=False)
class Moments:
    """Mean, variance and quantiles of every parameter.

    The variance is the mean square distance from the plain mean less the square distance of the
    better mean. A quantile comes from P[x <= q] at the plain quantile q: where that is found to
    be more than it should be, the plain quantile of so much less takes its place.
    """

    columns: Array
    labels: Sequence[str]
    weights: Array  # (n,), adding up to 1

    @property
    def values(self) -> Array:
        """Parameters, their squares, and whether they are below each quantile."""
        x = self.columns
        center = np.where(np.ptp(x, axis=0) > 0, self.weights @ x, x[0])
        parts = [x, (x - center) ** 2]
        parts += [(x <= q).astype(np.float64) for q in self.quantiles]
        return np.concatenate(parts, axis=1)

    def rows(self, answers: Answers) -> list[SummaryRow]:
        """For each parameter the mean, the variance, then chance and quantile of each level."""
        found = []
        d = len(self.labels)
        for i, label in enumerate(self.labels):
            found += [_mean(label, "mean", answers, i), _variance(label, answers, i, d + i)]
            for m, p in enumerate(QUANTILES):
                j = (2 + m) * d + i
                chance = _mean(label, f"P[x <= {self.quantiles[m, i]:.6g}]", answers, j)
                found.append(_clipped(chance))
                found.append(self._quantile(label, p, answers, i, j))
        return found

    @cached_property
    def order(self) -> np.ndarray:
        """What sorts every column, (n, d)."""
        return np.argsort(self.columns, axis=0, kind="stable")

    @cached_property
    def quantiles(self) -> Array:
        """Plain quantiles of every column, (levels, d)."""
        columns = [self._plain_quantile(i, QUANTILES) for i in range(len(self.labels))]
        return np.stack(columns, axis=1)

    def _plain_quantile(self, i: int, p: Any) -> Any:
        """Of a column, by linear interpolation between the middles of the weights."""
        weights = self.weights[self.order[:, i]]
        middles = np.cumsum(weights) - weights / 2
        return np.interp(p, middles, self.columns[self.order[:, i], i])

    def _quantile(self, label: str, p: float, answers: Answers, i: int, j: int) -> SummaryRow:
        def at(level: float) -> float:
            return float(self._plain_quantile(i, np.clip(level, 0.0, 1.0)))

        def ends(level: float, half: float) -> tuple[float, float]:
            return at(level - half), at(level + half)

        shift = float(answers.plain[j] - answers.mean[j])
        shifted = p + shift
        # The draws between the two quantiles are as random as any.
        between = abs(shift) * float(answers.mcse[j]) ** 2 / (p * (1 - p))
        std = float(np.sqrt(answers.std[j] ** 2 + between))
        half = float(stdtrit(answers.dof[j], TAIL)) * std
        around = ends(shifted, std)
        before = ends(p, float(answers.mcse[j]))
        low, high = ends(shifted, half)
        return SummaryRow(
            label,
            f"{100 * p:g}%",
            plain=at(p),
            mcse=(before[1] - before[0]) / 2,
            mean=at(shifted),
            std=(around[1] - around[0]) / 2,
            low=low,
            high=high,
            method=answers.method[j],
        )


def _mean(label: str, statistic: str, answers: Answers, j: int) -> SummaryRow:
    mean, std = float(answers.mean[j]), float(answers.std[j])
    half = float(stdtrit(answers.dof[j], TAIL)) * std if std > 0 else 0.0
    return SummaryRow(
        label,
        statistic,
        plain=float(answers.plain[j]),
        mcse=float(answers.mcse[j]),
        mean=mean,
        std=std,
        low=mean - half,
        high=mean + half,
        method=answers.method[j],
    )


def _variance(label: str, answers: Answers, i: int, j: int) -> SummaryRow:
    second = _mean(label, "variance", answers, j)
    moved = float(answers.mean[i] - answers.plain[i])
    variance = second.mean - moved**2
    if variance <= 0:  # noise; a constant has no variance either way
        return second
    # The two errors may go together.
    std = second.std + 2 * abs(moved) * float(answers.std[i])
    # On a log scale, so that the interval stays positive.
    factor = np.exp(float(stdtrit(answers.dof[j], TAIL)) * std / variance)
    return second.replaced(mean=variance, std=std, low=variance / factor, high=variance * factor)


def _clipped(row: SummaryRow) -> SummaryRow:
    """A probability."""
    mean, low, high = (float(np.clip(v, 0.0, 1.0)) for v in (row.mean, row.low, row.high))
    return row.replaced(mean=mean, low=low, high=high)
