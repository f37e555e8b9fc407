"""Stein control functional (Oates, Girolami and Chopin 2017): integration from scores alone."""

from dataclasses import dataclass, field
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np

from steinquad._types import Array, as_positive
from steinquad.checking.stein_identities import flux_violation
from steinquad.dataset import Dataset
from steinquad.errors import InputError, shown
from steinquad.fit import Context, Fit
from steinquad.fitting.gaussian_process import KernelProblem, fit_gaussian_process
from steinquad.fitting.standard_frame import score_obstacle
from steinquad.kernels.blocks import Blocks, SteinBlocks
from steinquad.kernels.stein_kernel import RadialKernel, RadialMatern52, SteinPoints, stein_gram
from steinquad.measures.affine import Affine
from steinquad.measures.base import Measure
from steinquad.methods.base import Method, check_choices
from steinquad.points import Points
from steinquad.posterior.gram import Gram
from steinquad.posterior.hyperparameter_search import Criterion, memory_obstacle
from steinquad.stein.multipliers import Boundary
from steinquad.support import Support

__all__ = ["ControlFunctional"]


@dataclass(frozen=True, kw_only=True)
class ControlFunctional(Method):
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
    expensive = warm_folds = True  # a few hyperparameters hardly remember any single point

    def __post_init__(self) -> None:
        if not isinstance(self.kernel, RadialKernel):
            raise InputError(
                f"kernel is {shown(self.kernel)}; pass a RadialKernel such as RadialMatern52()."
            )
        check_choices(
            self,
            lengthscales=("isotropic", "separate"),
            standardize=("whiten", "diagonal"),
            criterion=("leave_one_out", "likelihood"),
        )
        as_positive("memory_limit", self.memory_limit)

    def obstacle(self, data: Dataset, measure: Measure | None) -> str | None:
        """Why it cannot be used on such data, or None.

        It needs three points with scores, given or from the measure, coordinates that vary, and
        memory for the n by n covariance.
        """
        if data.n < 3:
            return f"x has {data.n} points of positive weight; {self.name} needs at least 3."
        return score_obstacle(data, measure) or memory_obstacle(data.n, self.memory_limit)

    def fit(self, data: Dataset, measure: Measure | None, context: Context) -> Fit:
        """Find the hyperparameters, solve, test the scores; see `Method.fit`.

        Returns:
            theta0, the generalized least squares mean under the Stein covariance, with its
            posterior variance. Suspect where draws of the measure violate the Stein identity,
            because theta0 is then not the integral.
        """
        points, support = Points.of(data, measure), data.support or Support.real(data.dim)
        boundary = Boundary().fit(points, support)
        kind = "diagonal" if support.bounded else self.standardize
        affine = Affine.fit(data.x, kind, data.effective_weights)
        dim = data.dim if self.lengthscales == "separate" else 1
        frame = SteinFrame(SteinGram(self.kernel), dim, boundary, affine)
        value, slope = boundary(points)
        violation = flux_violation(data, value * points.score + slope, value)
        problem = KernelProblem(points, frame, self.criterion, suspicion=violation)
        return fit_gaussian_process(problem, data, context)


@dataclass(frozen=True)
class SteinGram(Gram):
    """The Stein kernel with a mean variance near one, see `SteinBlocks`.

    Attributes:
        kernel: the radial kernel under the Stein operator.
    """

    kernel: RadialKernel

    def __call__(
        self, log_lengthscales: jax.Array, rows: SteinPoints, columns: SteinPoints
    ) -> jax.Array:
        """Covariances between rows and columns."""
        lengthscales = jnp.broadcast_to(jnp.exp(log_lengthscales), rows[0].shape[1:])
        return stein_gram(self.kernel, lengthscales, rows, columns) / SteinBlocks.size(
            lengthscales
        )

    @property
    def closed_form(self) -> Blocks | None:
        """In NumPy, where the kernel's third derivative is known."""
        return None if self.kernel.third(np.ones(1)) is None else SteinBlocks(self.kernel)


@dataclass(frozen=True)
class SteinFrame:
    """Standardized coordinates, multiplier and drift; all but the constant integrates to 0.

    The `KernelFrame` of control functionals.

    Attributes:
        gram: the Stein kernel.
        dim: number of lengthscales, 1 or d.
        boundary: multiplier that vanishes on the finite faces of the support.
        affine: from the user's coordinates to standardized ones.
    """

    gram: SteinGram
    dim: int
    boundary: Boundary
    affine: Affine

    def at(self, points: Points) -> tuple[SteinPoints, Array]:
        """Coordinates, multiplier and drift; the basis is a constant.

        Args:
            points: with scores, in the user's coordinates.

        Returns:
            What `stein_gram` takes, in standardized coordinates, and a column of ones (n, 1),
            whose coefficient is theta0.
        """
        value, slope = self.boundary(points)
        drift = self.affine.score(value * points.score + slope)
        return (self.affine.points(points.x), value, drift), np.ones((len(drift), 1))

    def integrals(self, x: Array, log_lengthscales: Array) -> tuple[Array, float, Array]:
        """Zero but for the constant, whatever the lengthscales are.

        By the Stein identity the kernel integrates to zero in each argument, so the integral of
        the process is the coefficient of the constant, theta0.
        """
        del log_lengthscales
        return np.zeros(len(x)), 0.0, np.ones(1)

    def lengthscales(self, log_lengthscales: Array) -> Array:
        """In standardized coordinates, one or (d,), as `Fit.stats` reports them."""
        return np.exp(log_lengthscales)
