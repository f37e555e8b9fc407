"""An integrand that jumps, box by box.

In a box between the jumps f is smooth, and the box has faces as a bounded support has: a Stein
network with a boundary factor there is free to jump across them. With shares P_b of the boxes from
the distribution functions,

    answer      sum of P_b E_b,   E_b the mean of f in box b by the method
    variance    sum of P_b^2 std_b^2 + sum over cuts of (share * jump)^2 / 12

because a jump may be anywhere in the slab between the two points on either side of it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from steinquad._types import Array, Progress
from steinquad.dataset import Dataset, check_inside
from steinquad.errors import InputError
from steinquad.estimate import Estimate, Status
from steinquad.fitting.jumps import Box, Cut, boxes
from steinquad.measures.base import Measure
from steinquad.methods.base import Method
from steinquad.support import Support

__all__ = ["Pieces", "between_points"]

NEAR = 64  # points at which a model is asked whether it jumps
GRAVITY = ("not_finite", "suspect", "max_steps", "converged", "constant")  # of what went wrong


@dataclass(frozen=True)
class Pieces:
    """A method box by box where f jumps, else by itself.

    Args:
        method: which; one that needs scores and a support only.
    """

    method: Method

    @property
    def name(self) -> str:
        """As the method itself."""
        return self.method.name

    @staticmethod
    def partition(data: Dataset, measure: Measure | None) -> tuple[list[Box], list[Cut]] | None:
        """Boxes and cuts; None where f does not jump, or where boxes have no known shares."""
        plain = data.weights is None and data.noise is None and data.groups is None
        if measure is None or "cdf" not in measure.provides or not (plain and data.sampled):
            return None
        support = data.support or Support.real(data.dim)
        found, cuts = boxes(data.x, measure.cdf(data.x), data.fx, support)
        return (found, cuts) if cuts else None

    def estimate(
        self,
        data: Dataset,
        measure: Measure | None,
        *,
        seed: int,
        progress: Progress,
        start: Estimate | None = None,
    ) -> Estimate:
        """One fit for every box; see `Method.estimate`."""
        del start
        found = self.partition(data, measure)
        if found is None:
            return self.method.estimate(data, measure, seed=seed, progress=progress)
        every, cuts = found
        fits = [
            self.method.estimate(_within(data, box), None, seed=seed + b, progress=progress)
            for b, box in enumerate(every)
        ]
        shares = np.array([box.share for box in every])
        support = data.support or Support.real(data.dim)
        parts = [share**2 * fit.covariance for share, fit in zip(shares, fits, strict=True)]
        return Estimate.build(
            shares @ np.stack([np.atleast_1d(fit.mean) for fit in fits]),
            np.sum(parts, axis=0) + np.diag(misplacement(cuts)),
            scalar=data.scalar,
            method=self.name,
            status=_worst(every, fits),
            n=data.n,
            dof=min(fit.dof for fit in fits),
            stats=_stats(every, cuts, fits, data.names),
            values=data.fx,
            fitted=_fitted(data, every, fits),
            predictor=PiecewisePredictor(every, fits, measure, support),
            _model_mean=shares @ np.stack([_model_mean(fit) for fit in fits]),
        )


def misplacement(cuts: Sequence[Cut]) -> Array:
    """Variance of every output's mean because jumps may be anywhere in their slabs, (k,)."""
    return np.sum([(cut.share * cut.jump) ** 2 for cut in cuts], axis=0) / 12


def between_points(cuts: Sequence[Cut], x: Array, predict: Callable[[Array], Array]) -> Array:
    """The same of one model for all of f, which has seen the points nearest to a cut, (k,).

    Whether f jumps there is its own affair: at a kink that was taken for a jump it does not.
    """
    total = np.zeros(np.shape(predict(x[:1]))[1])
    for cut in cuts:
        i, own = cut.coordinate, x[:, cut.coordinate]
        low = x[np.argsort(np.abs(own - cut.at))[:NEAR]].copy()
        high = low.copy()
        low[:, i], high[:, i] = own[own < cut.at].max(), own[own >= cut.at].min()
        total += (cut.least * np.mean(predict(high) - predict(low), axis=0)) ** 2 / 12
    return total


@dataclass(frozen=True)
class PiecewisePredictor:
    """Every point by the fit of its box."""

    boxes: Sequence[Box]
    fits: Sequence[Estimate]
    measure: Measure | None
    support: Support

    def __call__(
        self, x: Array, score: Array | None, return_std: bool
    ) -> tuple[Array, Array | None]:
        """Mean (n, k) and, where asked for, the standard deviation of the model."""
        check_inside(x, self.support)
        if score is None and self.measure is not None:
            score = self.measure.score(x)
        if score is not None and score.shape != x.shape:
            raise InputError(f"score has shape {score.shape} but x has shape {x.shape}.")
        k = np.size(self.fits[0].mean)
        mean, std = np.full((len(x), k), np.nan), np.full((len(x), k), np.nan)
        free = np.ones(len(x), dtype=bool)
        for box, fit in zip(self.boxes, self.fits, strict=True):
            own = np.flatnonzero(free & box.support.contains(x))
            free[own] = False  # a point on a face is of the first box that has it
            if not len(own):
                continue
            assert fit.predictor is not None
            part = fit.predictor(x[own], None if score is None else score[own], return_std)
            mean[own] = part[0]
            if part[1] is not None:
                std[own] = part[1]
        return mean, std if return_std else None


def _within(data: Dataset, box: Box) -> Dataset:
    """The points of a box, with its faces."""
    part = data.take(box.rows)
    fx = part.fx[:, 0] if data.scalar else part.fx
    return Dataset(part.x, fx, part.score, box.support, names=data.names)


def _fitted(data: Dataset, every: Sequence[Box], fits: Sequence[Estimate]) -> Array | None:
    """The models at the points, where there are models."""
    fitted = np.empty_like(data.fx)
    for box, fit in zip(every, fits, strict=True):
        if fit.fitted is None:
            return None
        fitted[box.rows] = fit.fitted
    return fitted


def _model_mean(fit: Estimate) -> Array:
    assert fit._model_mean is not None
    return fit._model_mean


def _worst(every: Sequence[Box], fits: Sequence[Estimate]) -> Status:
    """Of the statuses of all boxes, and in which it is."""
    box, fit = min(
        zip(every, fits, strict=True), key=lambda pair: GRAVITY.index(pair[1].status.code)
    )
    where = f"{len(every)} boxes between jumps"
    if fit.status.code in ("converged", "constant"):
        return Status("converged", f"{where}; {fit.status.message}")
    return Status(fit.status.code, f"{where}; in {box.support}: {fit.status.message}")


def _stats(
    every: Sequence[Box], cuts: Sequence[Cut], fits: Sequence[Estimate], names: Sequence[str]
) -> dict[str, Any]:
    """Those of the box with the most points, and the boxes."""
    first = max(range(len(every)), key=lambda b: np.any(fits[b].std) * len(every[b].rows))
    counted = ("networks", "steps", "evaluations")
    return {
        **fits[first].stats,
        **{name: sum(fit.stats.get(name, 0) for fit in fits) for name in counted},
        "boxes": len(every),
        "cuts": [(names[cut.coordinate], cut.at) for cut in cuts],
    }
