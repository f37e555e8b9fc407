"""What is asked of a posterior: outputs to be averaged, and rows made of their averages."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import stdtrit

from steinquad._types import Array, as_finite, unmasked
from steinquad.chains.improve import PLAIN, Expectation, Expectations
from steinquad.chains.layout import ChainDraws, numbered_labels
from steinquad.chains.row import SummaryRow
from steinquad.errors import InputError

__all__ = ["Moments", "OwnFunction"]

QUANTILES = (0.05, 0.5, 0.95)
TAIL = 0.975  # of the intervals


@dataclass(frozen=True, eq=False)
class OwnFunction:
    """The mean of every output of a user's function.

    Attributes:
        values: the outputs at the draws, (n, k).
        labels: their names in the table, k of them.
    """

    values: Array
    labels: Sequence[str]

    @classmethod
    def evaluate(cls, function: Callable[[Any], Any], sample: ChainDraws) -> "OwnFunction":
        """Call a function once for all draws.

        Args:
            function: of a dict of arrays (n, *shape), or of one array (n, d) where the draws have
                no names; returns an array (n, ...) or a dict of such.
            sample: the draws.

        Returns:
            Outputs by name where it returns a dict, else f, or f[0], f[1], ...

        Raises:
            InputError: if it is no function, or returns no finite numbers, a row for each draw.
        """
        if not callable(function):
            kind = type(function).__name__
            raise InputError(f"f is a {kind}; pass a function of the draws, or None.")
        returned = function(sample.for_function())
        by_name = returned if isinstance(returned, Mapping) else {"f": returned}
        parts: list[Array] = []
        labels: list[str] = []
        for name, given in by_name.items():
            try:
                array = unmasked(given)
            except (TypeError, ValueError):
                raise InputError(f"f returned a ragged {name!r}; return an array.") from None
            if array.dtype.kind not in "fiubO" or array.shape[:1] != (sample.n,):
                raise InputError(
                    f"f returned {array.dtype} of shape {array.shape} as {name!r} for "
                    f"{sample.n} draws; return numbers of shape ({sample.n},) or "
                    f"({sample.n}, ...)."
                )
            parts.append(as_finite(f"f, output {name!r},", array.reshape(sample.n, -1)))
            labels += numbered_labels(name, array.shape[1:])
        if not labels:
            raise InputError("f returned nothing; return an array or a dict of arrays.")
        return cls(np.concatenate(parts, axis=1), labels)

    def rows(self, expectations: Expectations) -> list[SummaryRow]:
        """The lines of the table: one, the mean, for each output.

        Args:
            expectations: of all outputs, in their order.
        """
        pairs = zip(self.labels, expectations.each(), strict=True)
        return [_mean(label, "mean", output) for label, output in pairs]


@dataclass(frozen=True, eq=False)
class Moments:
    """Mean, variance and quantiles of every parameter.

    The variance is the mean square distance from the plain mean less the square distance of the
    better mean. A quantile comes from P[x <= q] at the plain quantile q: where that turns out to
    be more than it should be, the plain quantile of so much less takes its place.

    Attributes:
        columns: the parameters, (n, d).
        labels: their names, d of them.
        weights: of the draws, (n,), adding up to 1.
    """

    columns: Array
    labels: Sequence[str]
    weights: Array

    @property
    def values(self) -> Array:
        """The outputs to be averaged, (n, 5 d), in blocks of d columns.

        The parameters, the squares of their distances from the plain means, and for each quantile
        whether they are below it.
        """
        x = self.columns
        # The weighted mean of equal numbers may differ from them by rounding.
        center = np.where(np.ptp(x, axis=0) > 0, self.weights @ x, x[0])
        below = [(x <= q).astype(np.float64) for q in self.quantiles]
        return np.concatenate([x, (x - center) ** 2, *below], axis=1)

    def rows(self, expectations: Expectations) -> list[SummaryRow]:
        """The lines of the table: mean, variance, then chance and quantile of each level.

        Args:
            expectations: of all outputs, in the order of `values`.
        """
        outputs, d = expectations.each(), len(self.labels)
        means, squares, *below = (outputs[k : k + d] for k in range(0, len(outputs), d))
        rows = []
        for i, label in enumerate(self.labels):
            rows.append(_mean(label, "mean", means[i]))
            rows.append(_variance(label, means[i], squares[i]))
            for p, point, chances in zip(QUANTILES, self.quantiles[:, i], below, strict=True):
                rows.append(_chance(label, f"P[x <= {point:.6g}]", chances[i]))
                rows.append(self._quantile(i, p, chances[i]))
        return rows

    @cached_property
    def quantiles(self) -> Array:
        """Plain quantiles of every parameter, (levels, d), where the chances are asked for."""
        columns = [self._plain_quantile(i, QUANTILES) for i in range(len(self.labels))]
        return np.stack(columns, axis=1)

    @cached_property
    def _order(self) -> np.ndarray:
        """What sorts every column, (n, d)."""
        return np.argsort(self.columns, axis=0, kind="stable")

    def _plain_quantile(self, i: int, p: Any) -> Any:
        """Of a column, by linear interpolation between the middles of the weights."""
        order = self._order[:, i]
        weights = self.weights[order]
        middles = np.cumsum(weights) - weights / 2
        return np.interp(p, middles, self.columns[order, i])

    def _quantile(self, i: int, p: float, chance: Expectation) -> SummaryRow:
        """From the chance to lie below the plain quantile."""
        shift = chance.plain - chance.mean
        shifted = p + shift
        # The draws between the two quantiles are as random as any.
        between = abs(shift) * chance.mcse**2 / (p * (1 - p))
        std = float(np.sqrt(chance.std**2 + between))
        steps = np.array([chance.mcse, std, _half_width(chance.dof, std)])
        levels = np.array([p, shifted, shifted]) + np.outer([-1, 0, 1], steps)
        at = self._plain_quantile(i, np.clip(levels, 0.0, 1.0))
        (plain, mean, _), (mcse, std, _) = at[1].tolist(), ((at[2] - at[0]) / 2).tolist()
        low, high = at[[0, 2], 2].tolist()
        name = f"{100 * p:g}%"
        method, warnings = chance.method, _warnings(chance)
        return SummaryRow(
            self.labels[i], name, plain, mcse, mean, std, low, high, method, warnings
        )


def _half_width(dof: float, std: float) -> float:
    """Of a 95 % interval."""
    return float(stdtrit(dof, TAIL)) * std if std > 0 else 0.0


def _mean(label: str, statistic: str, output: Expectation) -> SummaryRow:
    fields = output._asdict()
    half = _half_width(fields.pop("dof"), output.std)
    fields["warnings"] = _warnings(output)
    del fields["refused"]
    low, high = output.mean - half, output.mean + half
    return SummaryRow(label, statistic, low=low, high=high, **fields)


def _warnings(output: Expectation) -> tuple[str, ...]:
    return (output.refused,) if output.refused else ()


def _variance(label: str, mean: Expectation, square: Expectation) -> SummaryRow:
    if mean.refused:
        # The square distance is from a mean that the same features say is far off.
        why = mean.refused.replace("a correction", "a correction of the mean")
        plain = {"mean": square.plain, "std": square.mcse, "method": PLAIN, "refused": why}
        square = square._replace(**plain)
    second = _mean(label, "variance", square)
    moved = mean.mean - mean.plain
    variance = second.mean - moved**2
    if variance <= 0:  # noise; a constant has no variance either way
        return second
    # The errors may go together; 95 % of the squares of a normal error are below 3.84 variances.
    own = 2 * abs(moved) * mean.std + 2 * mean.std**2
    # The plain variance is that around the plain mean, and its standard error is known.
    std = second.std if mean.method == square.method == PLAIN else second.std + own
    # On a log scale, so that the interval stays positive.
    factor = np.exp(_half_width(square.dof, std) / variance)
    return replace(second, mean=variance, std=std, low=variance / factor, high=variance * factor)


def _chance(label: str, statistic: str, output: Expectation) -> SummaryRow:
    """A probability."""
    row = _mean(label, statistic, output)
    mean, low, high = (float(np.clip(v, 0.0, 1.0)) for v in (row.mean, row.low, row.high))
    return replace(row, mean=mean, low=low, high=high)
