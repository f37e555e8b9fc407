"""An integrand that jumps, box by box.

In a box between the jumps f is smooth, and the box has faces as a bounded support has: a Stein
network with a boundary factor there is free to jump across them. With shares P_b of the boxes from
the distribution functions,

    answer      sum of P_b E_b,   E_b the mean of f in box b by a fit of its own
    variance    sum of P_b^2 std_b^2 + sum over cuts of (share * jump)^2 / 12

because a jump may be anywhere in the slab between the two points on either side of it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from steinquad._types import Array
from steinquad.dataset import Dataset
from steinquad.fit import Fit, Status
from steinquad.fitting.jumps import Box, Cut, boxes
from steinquad.measures.base import Measure
from steinquad.points import Points
from steinquad.support import Support

__all__ = ["Partition", "between_points", "fit_by_pieces"]

NEAR = 64  # points at which a model is asked whether it jumps
GRAVITY = ("not_finite", "suspect", "max_steps", "converged", "constant")  # of what went wrong


@dataclass(frozen=True, eq=False)
class Partition:
    """Boxes that fill the support, and the cuts between them.

    Attributes:
        boxes: each with its points and its probability; f is taken to be smooth inside.
        cuts: where f jumps, with how much probability lies between the points on either side.
    """

    boxes: Sequence[Box]
    cuts: Sequence[Cut]

    @classmethod
    def of(cls, data: Dataset, measure: Measure | None) -> "Partition | None":
        """That of the jumps of f; None where it does not jump, or boxes have no known shares.

        Args:
            data: independent draws, without weights or noise: the tests for jumps presume these.
            measure: whose distribution functions give the shares; coordinates are independent.
        """
        plain = data.weights is None and data.noise is None and data.groups is None
        if measure is None or "cdf" not in measure.provides or not (plain and data.sampled):
            return None
        support = data.support or Support.real(data.dim)
        every, cuts = boxes(data.x, measure.cdf(data.x), data.fx, support)
        return cls(every, cuts) if cuts else None


def fit_by_pieces(
    partition: Partition, data: Dataset, fit_box: Callable[[int, Dataset], Fit]
) -> Fit:
    """One fit from one for every box.

    Args:
        partition: the boxes.
        data: of all of them.
        fit_box: fits box number b; its data have scores and the faces as their support.

    Returns:
        The shares' average of the fits, with the uncertainty of where the jumps are, the fewest
        degrees of freedom of any box, and the worst status among them.
    """
    every = partition.boxes
    fits = [fit_box(b, _within(data, box)) for b, box in enumerate(every)]
    shares = np.array([box.share for box in every])
    theta0 = shares @ np.stack([fit.theta0 for fit in fits])
    covariances = [share**2 * fit.covariance for share, fit in zip(shares, fits, strict=True)]
    fitted = np.empty_like(data.fx)
    for box, fit in zip(every, fits, strict=True):
        fitted[box.rows] = np.nan if fit.fitted is None else fit.fitted
    return Fit(
        theta0=theta0,
        covariance=np.sum(covariances, axis=0) + np.diag(misplacement(partition.cuts)),
        model=PiecewiseModel(every, fits),
        dof=min(fit.dof for fit in fits),
        status=_worst(every, fits),
        fitted=fitted,
        correction=shares @ np.stack([fit.mean for fit in fits]) - theta0,
        stats=_stats(partition, fits, data.names),
    )


def misplacement(cuts: Sequence[Cut]) -> Array:
    """Variance of every output's mean because jumps may be anywhere in their slabs, (k,).

    A place that is uniform on the slab has a variance of a twelfth of its squared width; cuts are
    taken for independent.

    Args:
        cuts: with the probability of each slab and the jump of each output there.
    """
    return np.sum([(cut.share * cut.jump) ** 2 for cut in cuts], axis=0) / 12


def between_points(cuts: Sequence[Cut], x: Array, predict: Callable[[Array], Array]) -> Array:
    """The same as `misplacement`, for one model of all of f.

    Such a model has seen the points nearest to a cut, so the slab is narrower. Whether f jumps
    there is asked of the model: at a kink that was taken for a jump it does not.

    Args:
        cuts: places of presumed jumps.
        x: points of the data, (n, d).
        predict: the model, (m, d) -> (m, k).

    Returns:
        Variances to be added to those of the integrals, (k,).
    """
    total = np.zeros(np.shape(predict(x[:1]))[1])
    for cut in cuts:
        i, own = cut.coordinate, x[:, cut.coordinate]
        low = x[np.argsort(np.abs(own - cut.at))[:NEAR]].copy()
        high = low.copy()
        low[:, i], high[:, i] = own[own < cut.at].max(), own[own >= cut.at].min()
        total += (cut.least * np.mean(predict(high) - predict(low), axis=0)) ** 2 / 12
    return total


@dataclass(frozen=True, eq=False)
class PiecewiseModel:
    """Every point by the fit of its box, so that the model jumps where f does.

    Attributes:
        boxes: a point on a common face belongs to the first box that contains it.
        fits: one for each box.
    """

    boxes: Sequence[Box]
    fits: Sequence[Fit]

    def __call__(self, points: Points, return_std: bool) -> tuple[Array, Array | None]:
        """Mean (n, k) and, where asked for, the standard deviation of the model."""
        shape = (len(points.x), len(self.fits[0].theta0))
        mean, std = np.full(shape, np.nan), np.full(shape, np.nan)
        free = np.ones(len(points.x), dtype=bool)
        for box, fit in zip(self.boxes, self.fits, strict=True):
            own = np.flatnonzero(free & box.support.contains(points.x))
            free[own] = False  # a point on a face is of the first box that has it
            if not len(own):
                continue
            mean[own], spread = fit.predict(points.take(own), return_std=return_std)
            if spread is not None:
                std[own] = spread
        return mean, std if return_std else None


def _within(data: Dataset, box: Box) -> Dataset:
    """The points of a box, with its faces."""
    part = data.take(box.rows)
    fx = part.fx[:, 0] if data.scalar else part.fx
    return Dataset(part.x, fx, part.score, box.support, names=data.names)


def _worst(every: Sequence[Box], fits: Sequence[Fit]) -> Status:
    """Of the statuses of all boxes, and in which it is."""
    box, fit = min(
        zip(every, fits, strict=True), key=lambda pair: GRAVITY.index(pair[1].status.code)
    )
    where = f"{len(every)} boxes between jumps"
    if fit.status.code in ("converged", "constant"):
        return Status("converged", f"{where}; {fit.status.message}")
    return Status(fit.status.code, f"{where}; in {box.support}: {fit.status.message}")


def _stats(partition: Partition, fits: Sequence[Fit], names: Sequence[str]) -> dict[str, Any]:
    """Those of the box with the most points, and the boxes."""
    every = partition.boxes
    first = max(range(len(every)), key=lambda b: np.any(fits[b].std) * len(every[b].rows))
    counted = ("networks", "steps", "evaluations")
    return {
        **fits[first].stats,
        **{name: sum(fit.stats.get(name, 0) for fit in fits) for name in counted},
        "boxes": len(every),
        "cuts": [(names[cut.coordinate], cut.at) for cut in partition.cuts],
    }
