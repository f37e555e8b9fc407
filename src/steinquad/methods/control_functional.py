"""Stein control functional (Oates, Girolami and Chopin 2017): integration from scores alone."""

from dataclasses import dataclass, field
from typing import ClassVar, Literal

import jax
import jax.numpy as jnp
import numpy as np

from steinquad._float64 import float64
from steinquad._types import Array, Progress
from steinquad.checking.stein_identities import flux_violation
from steinquad.dataset import Dataset, check_inside
from steinquad.errors import InputError
from steinquad.estimate import Estimate
from steinquad.fitting.gaussian_process import Fixed, estimate_by_process
from steinquad.fitting.standard_frame import score_obstacle
from steinquad.kernels.stein_kernel import RadialKernel, RadialMatern52, SteinPoints, stein_gram
from steinquad.measures.affine import Affine
from steinquad.measures.base import Measure
from steinquad.methods.base import constant_estimate, constant_outputs
from steinquad.posterior.hyperparameter_search import Criterion, memory_obstacle
from steinquad.stein.multipliers import Boundary, Points
from steinquad.support import Support

__all__ = ["ControlFunctional"]


@dataclass(frozen=True, kw_only=True)
class ControlFunctional:
    """A Gaussian process whose functions integrate to zero, plus a constant: the integral.

    `f = theta0 + g` with a flat prior on theta0 and g with the Stein kernel of a radial kernel, so
    that theta0 = 1^T K^-1 f / 1^T K^-1 1. It needs scores but no measure, and takes n^3
    operations. Importance weights are ignored, because conditioning on values needs none; points
    of weight zero are left out.

    Attributes:
        kernel: the radial kernel under the Stein operator.
        lengthscales: one for all coordinates, or one for each.
        standardize: coordinates of the kernel: whitened, or scaled one by one. Those of a bounded
            support are always scaled one by one, because boundary factors belong to coordinates.
        criterion: what hyperparameters minimize in the end: the mean square of the leave-one-out
            residuals, which the error of the integral follows, or minus the likelihood.
        memory_limit: GiB that may be used.
        name: for tables.
    """

    kernel: RadialKernel = field(default_factory=RadialMatern52)
    lengthscales: Literal["isotropic", "separate"] = "isotropic"
    standardize: Literal["whiten", "diagonal"] = "whiten"
    criterion: Criterion = "leave_one_out"
    memory_limit: float = 6.0
    name: str = "CF"
    dear: ClassVar[bool] = True  # to fit; Choose tries cheaper methods first
    warm_folds: ClassVar[bool] = True  # a few hyperparameters are all that a start tells

    def __post_init__(self) -> None:
        if not isinstance(self.kernel, RadialKernel):
            raise InputError(
                f"kernel is {self.kernel!r}; pass a RadialKernel such as RadialMatern52()."
            )
        choices = {
            "lengthscales": ("isotropic", "separate"),
            "standardize": ("whiten", "diagonal"),
            "criterion": ("leave_one_out", "likelihood"),
        }
        for option, allowed in choices.items():
            if getattr(self, option) not in allowed:
                raise InputError(
                    f"{option} is {getattr(self, option)!r}; choose one of {', '.join(allowed)}."
                )
        if not self.memory_limit > 0:
            raise InputError(f"memory_limit is {self.memory_limit!r}; give a number of GiB > 0.")

    def obstacle(self, data: Dataset, measure: Measure | None) -> str | None:
        """Why it cannot be used on such data, or None."""
        kept = data.effective_weights > 0
        if kept.sum() < 3:
            return f"x has {kept.sum()} points of positive weight; {self.name} needs at least 3."
        reason = score_obstacle(data if kept.all() else data.take(np.flatnonzero(kept)), measure)
        if reason:
            return reason
        return memory_obstacle(int(kept.sum()), self.memory_limit)

    @float64
    def estimate(
        self,
        data: Dataset,
        measure: Measure | None,
        *,
        seed: int,
        progress: Progress,
        start: Estimate | None = None,
    ) -> Estimate:
        """Find the hyperparameters, solve, check; see `Method.estimate`."""
        if constant_outputs(data).all():
            return constant_estimate(data, self.name)
        obstacle = self.obstacle(data, measure)
        if obstacle:
            raise InputError(obstacle)
        return estimate_by_process(
            data,
            lambda used: self._frame(used, measure),
            name=self.name,
            criterion=self.criterion,
            fixed=Fixed(),
            seed=seed,
            progress=progress,
            start=start,
        )

    def _frame(self, data: Dataset, measure: Measure | None) -> tuple["SteinFrame", str | None]:
        """The coordinates of the kernel, and what is wrong with the scores, if anything."""
        support = data.support or Support.real(data.dim)
        score = data.score
        if score is None:
            assert measure is not None
            score = measure.score(data.x)
        points = Points(data.x, score)
        boundary = Boundary().fit(points, support)
        kind = "diagonal" if support.bounded else self.standardize
        affine = Affine.fit(data.x, kind, data.effective_weights)
        dim = data.dim if self.lengthscales == "separate" else 1
        frame = SteinFrame(SteinGram(self.kernel), dim, boundary, affine, support, measure)
        if not data.sampled:
            return frame, None
        value, slope = boundary(points)
        drift = value * score + slope
        return frame, flux_violation(data.x, drift, value, data.effective_weights, data.names)


@dataclass(frozen=True)
class SteinGram:
    """The Stein kernel with a mean variance near one whatever the lengthscales are."""

    kernel: RadialKernel

    def __call__(
        self, log_lengthscales: jax.Array, rows: SteinPoints, columns: SteinPoints
    ) -> jax.Array:
        """Covariances between rows and columns."""
        lengthscales = jnp.exp(log_lengthscales)
        # Of a standard normal, E[k0(x, x)] = phi(0) sum_i l_i^2 - 2 phi'(0) d, with phi(0) = 1.
        size = jnp.mean(lengthscales**2 + 1.0) * rows[0].shape[1]
        return stein_gram(self.kernel, lengthscales, rows, columns) / size


@dataclass(frozen=True)
class SteinFrame:
    """Standardized coordinates, multiplier and drift; all but the constant integrates to 0."""

    gram: SteinGram
    dim: int
    boundary: Boundary
    affine: Affine
    support: Support
    measure: Measure | None

    def at(self, x: Array, score: Array | None) -> tuple[SteinPoints, Array]:
        """Coordinates, multiplier and drift; the basis is a constant."""
        dim = len(self.affine.shift)
        if x.shape[1] != dim:
            raise InputError(f"x has shape {x.shape}; pass points of shape (n, {dim}).")
        check_inside(x, self.support)
        if score is None:
            if self.measure is None:
                raise InputError(
                    "score is missing and the estimate was made without a measure; "
                    "pass score= with the gradient of the log density at each point."
                )
            score = self.measure.score(x)
        if score.shape != x.shape:
            raise InputError(f"score has shape {score.shape} but x has shape {x.shape}.")
        value, slope = self.boundary(Points(x, score))
        drift = self.affine.score(value * score + slope)
        return (self.affine.points(x), value, drift), np.ones((len(x), 1))

    def integrals(self, x: Array, log_lengthscales: Array) -> tuple[Array, float, Array]:
        """Zero but for the constant."""
        del log_lengthscales
        return np.zeros(len(x)), 0.0, np.ones(1)

    def lengthscales(self, log_lengthscales: Array) -> Array:
        """In standardized coordinates."""
        return np.exp(log_lengthscales)
