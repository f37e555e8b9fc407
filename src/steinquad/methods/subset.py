"""An expensive method on some of the points; the others say what it leaves.

`theta0 + average of (f - g)` over points that g has not seen is unbiased for independent draws
whatever g is, with a standard error from those points alone. So a method of n^3 operations serves
for any number of draws.
"""

from dataclasses import dataclass, replace

import numpy as np

from steinquad._types import as_count
from steinquad.checking.folds import evenly_spaced, others
from steinquad.checking.held_out import HeldOut
from steinquad.checking.standard_error import MANY_GROUPS
from steinquad.dataset import Dataset
from steinquad.errors import InputError, shown
from steinquad.fit import Context, Fit
from steinquad.fitting.corrected import corrected
from steinquad.measures.base import Measure
from steinquad.methods.base import Method
from steinquad.methods.monte_carlo import not_a_sample

__all__ = ["Subset"]

FEWEST_LEFT = 2
LEAST_PART = 0.2  # of every chain that is set aside for the fit


@dataclass(frozen=True)
class Subset(Method):
    """A method fitted to some of the points and corrected by the average over all others.

    Args:
        method: which; one with a model of f, such as `sq.ControlFunctional()`.
        size: number of points it is fitted to. Of independent draws any, of chains those of the
            first part of each, at least a fifth: the neighbors of a fitted draw, which may be
            copies of it, tell nothing of what the fit leaves elsewhere.
        name: for tables; by default that of the method and the size.

    >>> import numpy as np, steinquad as sq
    >>> x = np.random.default_rng(0).standard_normal((20_000, 1))
    >>> data = sq.Dataset(x, np.cos(x[:, 0]), score=-x)
    >>> est = sq.estimate(data, method=sq.Subset(sq.ControlFunctional(), size=100))
    >>> bool(abs(est.mean - np.exp(-0.5)) < 4 * est.std < 1e-3)
    True
    """

    method: Method
    size: int = 1000
    name: str = ""
    holds_out = True  # the points that were not fitted correct the answer

    def __post_init__(self) -> None:
        if not isinstance(self.method, Method):
            raise InputError(
                f"method is {shown(self.method)}; pass one such as ControlFunctional()."
            )
        as_count("size", self.size, 3)
        if not isinstance(self.name, str):
            raise InputError(f"name is {shown(self.name)}; give a text.")
        if not self.name:
            object.__setattr__(self, "name", f"{self.method.name} on {self.size} points")

    @property
    def expensive(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """As the method itself: its fit to `size` points is most of the cost."""
        return self.method.expensive

    @property
    def in_units(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """As the method itself."""
        return self.method.in_units

    def obstacle(self, data: Dataset, measure: Measure | None) -> str | None:
        """Why the points cannot be averaged, or some of them not be fitted, or None.

        At least two points of positive weight have to be left for the average, whose standard
        error is the only one that is reported. Otherwise it is the obstacle of the method on the
        fitted points.
        """
        reason = not_a_sample(data)
        if reason:
            return reason
        fitted, others = self._split(data)
        if len(others) < FEWEST_LEFT:
            return (
                f"x has {data.n} points for a size of {self.size}, which leaves too few to "
                "average; use the method by itself, or a smaller size."
            )
        return self.method.obstacle(data.take(fitted), measure)

    def fit(self, data: Dataset, measure: Measure | None, context: Context) -> Fit:
        """Fit the method, then average what it leaves; see `Method.fit`.

        It never starts from an earlier fit, which may have seen the points that are averaged.

        Returns:
            The method's fit with a `correction` by the held-out average and the covariance of
            that average, which is all of the uncertainty: theta0 itself cancels out of the
            answer's error.
        """
        rows, averaged = self._split(data)
        fit = self.method.checked_fit(data.take(rows), measure, context.of_part())
        if fit.status.code == "not_finite":
            return replace(fit, fitted=None, held_out=None, check=None, correction=None)
        held_out = HeldOut.of([fit], [averaged], data, measure)
        std, dof = held_out.standard_error
        spread = np.sqrt(held_out.weights)[:, None] * (held_out.values - held_out.mean)
        return replace(
            corrected(fit, held_out.mean, std, dof, spread),
            fitted=held_out.predicted,
            stats={**fit.stats, "fitted_points": len(rows)},
        )

    def _split(self, data: Dataset) -> tuple[np.ndarray, np.ndarray]:
        """Rows to be fitted, and those to be averaged."""
        rows = np.arange(data.n)
        if data.groups is None:
            fitted = evenly_spaced(rows, self.size)
            return fitted, others(data.n, fitted)
        first = _first_part(data.groups, max(self.size, int(np.ceil(LEAST_PART * data.n))))
        return evenly_spaced(rows[first], self.size), rows[~first]


def _first_part(groups: np.ndarray, count: int) -> np.ndarray:
    """Which rows are of the first part: whole groups where they are many, else of each its own."""
    labels, sizes = np.unique(groups, return_counts=True)
    if len(labels) >= MANY_GROUPS:
        return groups <= labels[min(np.searchsorted(np.cumsum(sizes), count), len(labels) - 1)]
    first = np.zeros(len(groups), dtype=bool)
    for label, size in zip(labels, sizes, strict=True):
        own = np.flatnonzero(groups == label)
        first[own[: int(np.ceil(count * size / len(groups)))]] = True
    return first
