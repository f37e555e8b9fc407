"""Points under fits that have not seen them.

With the data in K folds, `theta0^(-k) + average over fold k of (f - g^(-k))` is unbiased for
independent draws, because all that g^(-k) learned (coordinates, scales, when to stop; of
hyperparameters at most where their search began) it learned elsewhere; and its standard error
needs no model. Draws of a Markov chain are split into consecutive blocks, and the standard error
counts their correlation.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steinquad._types import Array
from steinquad.checking.standard_error import above_rounding, standard_error, weighted_mean
from steinquad.dataset import Dataset
from steinquad.fit import Fit
from steinquad.measures.base import Measure
from steinquad.points import Points

__all__ = ["HeldOut", "corrected_values", "residuals"]


def residuals(values: Array, split: Sequence[np.ndarray], predicted: Iterable[Array]) -> Array:
    """`f - g^(-k)` at the rows of every fold k, (n, k); rows of no fold keep their values.

    Args:
        values: f at all points, (n, k); left as they are.
        split: rows of each fold.
        predicted: for each fold, the model fitted without it at the fold's rows.
    """
    left = values.copy()
    for rows, own in zip(split, predicted, strict=True):
        left[rows] -= own
    return left


def corrected_values(fit: Fit, points: Points, fx: Array) -> Array:
    """`theta0 + f - g` at points, (n, k): its average over draws that g has not seen is unbiased.

    Args:
        fit: theta0 and the model g.
        points: where.
        fx: values of f there, (n, k).
    """
    return fit.theta0 + (fx - fit.predict(points)[0])


@dataclass(frozen=True, eq=False)
class HeldOut:
    """What points say of fits that have not seen them.

    Its answer and standard error presume nothing of the model: a bad one makes the residuals
    large, and the standard error with them.

    Attributes:
        values: `theta0 + f - g` of the fit that has not seen the point, (m, k), whose average is
            an unbiased answer.
        theta0: integral of that fit, (m, k).
        fx: values of f at all points of the data, some of which may be in every fit, (n, k).
        rows: which points of the data these are, in order, (m,).
        weights: by which they count, (m,).
        groups: of dependent points, (m,), or None.
        folds: number of fits.
    """

    values: Array
    theta0: Array
    fx: Array
    rows: np.ndarray
    weights: Array
    groups: np.ndarray | None
    folds: int

    @classmethod
    def of(
        cls,
        fits: Sequence[Fit],
        split: Sequence[np.ndarray],
        data: Dataset,
        measure: Measure | None,
    ) -> "HeldOut":
        """By fits, each of which has not seen the rows of its own fold.

        Args:
            fits: one for each fold.
            split: rows of each fold.
            data: of which the folds are.
            measure: what a model may ask for scores and densities, when known.
        """
        points, rows = Points.of(data, measure), np.sort(np.concatenate(split))
        theta0, values = np.empty_like(data.fx), np.empty_like(data.fx)
        for fit, own in zip(fits, split, strict=True):
            theta0[own] = fit.theta0
            values[own] = corrected_values(fit, points.take(own), data.fx[own])
        held = data.take(rows)
        return cls(
            values=values[rows],
            theta0=theta0[rows],
            fx=data.fx,
            rows=rows,
            weights=held.effective_weights,
            groups=held.groups,
            folds=len(split),
        )

    @classmethod
    def from_values(cls, values: Array, data: Dataset, folds: int) -> "HeldOut":
        """Of values `theta0 + f - g` at all points, as `Fit.held_out` has them.

        Args:
            values: (n, k).
            data: of all points.
            folds: number of fits.
        """
        rows = np.arange(data.n)
        theta0 = np.tile(weighted_mean(values, data.effective_weights), (data.n, 1))
        return cls(values, theta0, data.fx, rows, data.effective_weights, data.groups, folds)

    @cached_property
    def mean(self) -> Array:
        """The cross-fitted answer, (k,): weighted average of `theta0 + f - g` over these points.

        Unbiased for independent draws, however good or bad the models are.
        """
        return weighted_mean(self.values, self.weights)

    @cached_property
    def standard_error(self) -> tuple[Array, float]:
        """Of `mean`, (k,), and its degrees of freedom; no smaller than rounding allows.

        From the spread of the held-out values alone, with the correlation within groups.
        """
        std, dof = standard_error(self.values, self.weights, self.groups)
        return above_rounding(std, self.fx), dof

    @property
    def rms(self) -> Array:
        """Root mean square residual of each output around their average, (k,).

        What the models leave of f apart from a common offset, which the answer corrects.
        """
        return self._rms_around(self.mean)

    @property
    def rms_of_model(self) -> Array:
        """Root mean square residual around theta0, (k,): an offset of the model is an error too.

        For comparing models, where nothing corrects the offset.
        """
        return self._rms_around(self.theta0)

    def _rms_around(self, center: Array) -> Array:
        w = self.weights / self.weights.sum()
        return np.sqrt(w @ (self.values - center) ** 2)

    @property
    def predicted(self) -> Array:
        """The models at the points that they have not seen, (n, k); NaN at all others.

        For plots of values against predictions, and for distributions through a model.
        """
        everywhere = np.full_like(self.fx, np.nan)
        everywhere[self.rows] = self.theta0 + self.fx[self.rows] - self.values
        return everywhere
