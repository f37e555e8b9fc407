"""A dear method on some of the points; the others say what it leaves.

`theta0 + average of (f - g)` over points that g has not seen is unbiased for independent draws
whatever g is, with a standard error from those points alone. So a method of n^3 operations serves
for any number of draws.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from steinquad._types import Progress
from steinquad.checking.cross_fit import above_rounding, held_out
from steinquad.checking.standard_error import MANY_GROUPS, standard_error
from steinquad.dataset import Dataset
from steinquad.designs.base import as_count
from steinquad.errors import InputError
from steinquad.estimate import Estimate, Status
from steinquad.fitting.outputs import correlated
from steinquad.measures.base import Measure
from steinquad.methods.base import Method, constant_estimate, constant_outputs, obstacle
from steinquad.methods.monte_carlo import not_a_sample

__all__ = ["Subset"]

CHUNK = 4096  # points predicted at once
FEWEST_LEFT = 2
LEAST_PART = 0.2  # of every chain that is set aside for the fit


@dataclass(frozen=True)
class Subset:
    """A method fitted to some of the points and corrected by the average over all others.

    Args:
        method: which; one with a model of f, such as `sq.ControlFunctional()`.
        size: number of points it is fitted to. Of independent draws any, of chains those of the
            first part of each, at least a fifth: the neighbours of a fitted draw, which may be
            copies of it, tell nothing of what the fit leaves elsewhere.

    >>> import numpy as np, steinquad as sq
    >>> x = np.random.default_rng(0).standard_normal((20_000, 1))
    >>> data = sq.Dataset(x, np.cos(x[:, 0]), score=-x)
    >>> found = sq.estimate(data, method=sq.Subset(sq.ControlFunctional(), size=100))
    >>> bool(abs(found.mean - np.exp(-0.5)) < 4 * found.std < 1e-3)
    True
    """

    method: Method
    size: int = 1000
    checks_itself: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not isinstance(self.method, Method):
            raise InputError(f"method is {self.method!r}; pass one such as ControlFunctional().")
        as_count("size", self.size, 3)

    @property
    def name(self) -> str:
        """Short name for tables."""
        return f"{self.method.name} on {self.size} points"

    @property
    def dear(self) -> bool:
        """As the method itself."""
        return bool(getattr(self.method, "dear", False))

    def obstacle(self, data: Dataset, measure: Measure | None) -> str | None:
        """Why the points cannot be averaged, or some of them not be fitted, or None."""
        reason = not_a_sample(data)
        if reason:
            return reason
        fitted, others = self._split(data)
        if np.count_nonzero(data.effective_weights[others]) < FEWEST_LEFT:
            return (
                f"x has {data.n} points for a size of {self.size}, which leaves too few to "
                "average; use the method by itself, or a smaller size."
            )
        return obstacle(self.method, data.take(fitted), measure)

    def estimate(
        self,
        data: Dataset,
        measure: Measure | None,
        *,
        seed: int,
        progress: Progress,
        start: Estimate | None = None,
    ) -> Estimate:
        """Fit the method, then average what it leaves; see `Method.estimate`.

        It never starts from an earlier fit, which may have seen the points that are averaged.
        """
        del start
        if constant_outputs(data).all():
            return constant_estimate(data, self.name)
        reason = self.obstacle(data, measure)
        if reason:
            raise InputError(reason)
        fitted, others = self._split(data)
        fit = self.method.estimate(data.take(fitted), measure, seed=seed, progress=progress)
        if fit.status.code == "not_finite":
            return replace(fit, method=self.name, n=data.n)
        rest = data.take(others)
        assert fit._model_mean is not None
        chunks = np.array_split(np.arange(rest.n), -(-rest.n // CHUNK))
        values = np.concatenate([held_out(fit, rest.take(rows)) for rows in chunks])
        weights = rest.effective_weights
        mean = weights @ values / weights.sum()
        std, dof = standard_error(values, weights, rest.groups)
        spread = np.sqrt(weights)[:, None] * (values - mean)
        status = fit.status
        if status.code == "constant":  # where it was fitted
            status = Status("converged", "f varies only at points that were averaged, not fitted")
        return Estimate.build(
            mean,
            correlated(above_rounding(std, data.fx) ** 2, spread),
            scalar=data.scalar,
            method=self.name,
            status=status,
            n=data.n,
            dof=dof,
            stats={**fit.stats, "fitted_points": len(fitted)},
            history=fit.history,
            values=rest.fx,
            fitted=rest.fx - values + fit._model_mean,
            predictor=fit.predictor,
            _model_mean=fit._model_mean,
            _state=fit._state,
        )

    def _split(self, data: Dataset) -> tuple[np.ndarray, np.ndarray]:
        """Rows to be fitted, and those to be averaged."""
        rows = np.arange(data.n)
        if data.groups is None:
            fitted = _spread(rows, self.size)
            return fitted, np.setdiff1d(rows, fitted)
        wanted = max(self.size, int(np.ceil(LEAST_PART * data.n)))
        first = _first_part(data.groups, wanted)
        return _spread(rows[first], self.size), rows[~first]


def _spread(rows: np.ndarray, count: int) -> np.ndarray:
    """So many of them, evenly spread."""
    at = np.linspace(0, len(rows) - 1, min(count, len(rows))).round().astype(int)
    return rows[np.unique(at)]


def _first_part(groups: np.ndarray, wanted: int) -> np.ndarray:
    """Which rows are of the first part: whole groups where they are many, else of each its own."""
    labels, sizes = np.unique(groups, return_counts=True)
    if len(labels) >= MANY_GROUPS:
        return groups <= labels[min(np.searchsorted(np.cumsum(sizes), wanted), len(labels) - 1)]
    first = np.zeros(len(groups), dtype=bool)
    for label, size in zip(labels, sizes, strict=True):
        own = np.flatnonzero(groups == label)
        first[own[: int(np.ceil(wanted * size / len(groups)))]] = True
    return first
