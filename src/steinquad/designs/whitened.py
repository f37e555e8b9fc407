"""Chains in coordinates in which the measure is nearly a standard normal."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg

from steinquad._types import Array, Progress, as_points
from steinquad.designs._target import as_target
from steinquad.designs.base import Design, Sample
from steinquad.errors import InputError
from steinquad.measures.affine import Affine
from steinquad.measures.base import Measure
from steinquad.measures.density import LogDensity

__all__ = ["Whitened", "laplace"]

NEWTON_STEPS = 50
DIFFERENCE = 1e-4  # of the central differences of the score, in units of the last deviations
SMALL = 1e-6  # length of the last Newton step in the same units


@dataclass(frozen=True, eq=False)
class Whitened(Design):
    """A design that works in `z = L^-1 (x - mu)`; points and scores come back as those of x.

    For a posterior that is narrow or strongly correlated: in z, with mu and L from `laplace`, it
    is near a standard normal, where chains need little tuning.

    Args:
        design: what draws z, such as `NUTS()` or `Resumable(NUTS(), path)`; its starts are z too.
        affine: mu and L, such as `laplace` finds them.
    """

    design: Design
    affine: Affine

    @property
    def name(self) -> str:
        """Short name for tables and messages."""
        return f"whitened {self.design.name}"

    @property
    def block(self) -> int:
        """As of the design within."""
        return self.design.block

    def first_round(self, max_n: int) -> int:
        """As of the design within."""
        return self.design.first_round(max_n)

    def draw(
        self, measure: Measure, n: int, *, seed: int, progress: Progress | None = None
    ) -> Sample:
        """Draw z and map back; see `Design.draw`. Diagnostics are those of z."""
        if measure.support.bounded:
            raise InputError(
                f"measure has support {measure.support}; whiten a measure on all of R^d."
            )
        log_density = as_target(measure).log_density
        shift, matrix = self.affine.shift, self.affine.matrix
        names = [f"z{i}" for i in range(measure.dim)]
        within = LogDensity(
            lambda z: log_density(shift + matrix @ z), measure.dim, names=names, sequential=True
        )
        sample = self.design.draw(within, n, seed=seed, progress=progress)
        score = None if sample.score is None else sample.score @ self.affine.inverse
        return replace(sample, x=shift + sample.x @ matrix.T, score=score)


def laplace(measure: Measure, near: Any) -> Affine:
    """The mode and a Cholesky factor of the inverse curvature there, by Newton's method.

    The result is what `Whitened` takes as its affine map, and the normal approximation of the
    measure for importance sampling.

    Args:
        measure: one with a score, on all of R^d.
        near: a point (d,) from which Newton's method reaches the mode.

    >>> measure = LogDensity(lambda x: -((x - 3.0) @ (x - 3.0)) / 8, 2)
    >>> affine = laplace(measure, [0.0, 0.0])
    >>> affine.shift.round(6), affine.matrix.diagonal().round(6)
    (array([3., 3.]), array([2., 2.]))
    """
    mode = as_points("near", [near], measure.dim)[0]
    # Steps of the differences follow the curvature: of the score's length at first.
    scale = 1.0 / np.maximum(np.abs(measure.score(mode[None])[0]), 1.0)
    for _ in range(NEWTON_STEPS):
        precision = _precision(measure, mode, scale)
        try:
            factor = scipy.linalg.cholesky(np.linalg.inv(precision), lower=True)
        except (np.linalg.LinAlgError, ValueError):
            raise InputError(
                f"near is {near!r}, where the log density is not concave; start nearer the mode."
            ) from None
        scale = np.sqrt(np.diag(factor @ factor.T))
        step = factor @ (factor.T @ measure.score(mode[None])[0])
        mode = mode + step
        if np.max(np.abs(step) / scale) < SMALL:
            return Affine(mode, factor, np.linalg.inv(factor))
    raise InputError(f"near is {near!r}, from which no mode was found; start nearer to it.")


def _precision(measure: Measure, point: Array, scale: Array) -> Array:
    """Minus the Hessian of the log density, by central differences of the score."""
    steps = np.diag(DIFFERENCE * scale)
    scores = measure.score(np.concatenate([point + steps, point - steps]))
    dim = len(point)
    slopes = (scores[:dim] - scores[dim:]) / (2 * DIFFERENCE * scale[:, None])
    return -(slopes + slopes.T) / 2
