"""From data to the integral of a Gaussian process: what the kernel methods share."""

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from steinquad._float64 import float64
from steinquad._types import Array
from steinquad.checking.standard_error import standard_error
from steinquad.dataset import Dataset
from steinquad.fit import Context, Fit, HeldOutValues, Status, WarmStart
from steinquad.fitting.outputs import Outputs, correlated
from steinquad.points import Points
from steinquad.posterior.gaussian_process import (
    GaussianProcess,
    GaussianProcessData,
    Hyperparameters,
)
from steinquad.posterior.gram import Gram, KernelPoints
from steinquad.posterior.hyperparameter_search import Criterion, Optimum, optimize

__all__ = ["KernelFrame", "KernelProblem", "fit_gaussian_process"]

NOTABLE_JITTER = 1e-8
SETTLED = 5e-2  # gain a value by the last step of the search beyond which it is reported


class KernelFrame(Protocol):
    """What a method knows of points: their covariance, and what integrates to what.

    `BayesianQuadrature` and `ControlFunctional` each have one, and share everything else: the
    search for hyperparameters, the solution and the report.
    """

    @property
    def gram(self) -> Gram:
        """The covariance function, of log lengthscales and two sets of points."""
        ...

    @property
    def dim(self) -> int:
        """Number of lengthscales: one for all coordinates, or one for each."""
        ...

    def at(self, points: Points) -> tuple[KernelPoints, Array]:
        """Points as the covariance function takes them and the basis there, (n, q).

        Args:
            points: in the user's coordinates.

        Returns:
            What `gram` takes, and the functions of the prior mean, whose coefficients have a flat
            prior.
        """
        ...

    def integrals(self, x: Array, log_lengthscales: Array) -> tuple[Array, float, Array]:
        """Of the covariance with each point (n,), in both arguments, and of the basis (q,).

        Args:
            x: points in the user's coordinates, (n, d).
            log_lengthscales: at which the covariance is integrated, (dim,).
        """
        ...

    def lengthscales(self, log_lengthscales: Array) -> Array:
        """As they are reported to the user, from their logarithms in the units of the search."""
        ...


@dataclass(frozen=True, eq=False)
class GaussianProcessStart(WarmStart):
    """Hyperparameters of an earlier fit, one set for each process.

    For fits to more data and for those of a cross-fit, whose optima are close: a search that
    begins there is spared the first part of its way.

    Attributes:
        hyperparameters: one set for all outputs, or one for each where noise is known.
    """

    hyperparameters: tuple[Hyperparameters, ...]


@dataclass(frozen=True, eq=False)
class KernelProblem:
    """What is to be fitted.

    Attributes:
        points: of the data.
        frame: the method's coordinates, covariance and integrals.
        criterion: by which hyperparameters are found in the end.
        suspicion: what is wrong with the data, if anything.
        log_lengthscales: given ones in the units of the frame, (dim,); None to search for them.
        noise: given standard deviation of the errors in f, the same at all points, or None.
        amplitude: given standard deviation of the process in the units of f, or None.
    """

    points: Points
    frame: KernelFrame
    criterion: Criterion
    suspicion: str | None = None
    log_lengthscales: Array | None = None
    noise: float | None = None
    amplitude: float | None = None


@float64
def fit_gaussian_process(problem: KernelProblem, data: Dataset, context: Context) -> Fit:
    """A Gaussian process in the frame of a method, and its integral.

    Outputs share lengthscales and nugget, each with an amplitude of its own; where noise is known
    every output has a process of its own.

    Args:
        problem: frame, criterion and what is given.
        data: points, values and noise; weights are ignored, because conditioning on values
            needs none.
        context: seed of the subsets on which hyperparameters are found, progress, and that of an
            earlier fit to begin with, if it fits.

    Returns:
        Mean and covariance of the integrals in the units of f; a fit without a model where the
        covariance matrix could not be factored.
    """
    frame, amplitude = problem.frame, problem.amplitude
    points, basis = frame.at(problem.points)
    outputs = Outputs.fit(data)
    if basis.shape[1] == 0:  # a mean of zero is that of f, not of what is left of it
        values = outputs.values + outputs.shift / outputs.scale
        outputs = replace(outputs, values=values, shift=np.zeros_like(outputs.shift))
    noise = _known_variances(data, outputs, problem.noise)
    groups = [np.arange(len(outputs.shift))]
    if noise is not None:
        groups = [np.array([j]) for j in groups[0]]
    start = context.start
    known = start.hyperparameters if isinstance(start, GaussianProcessStart) else ()
    if [len(hyper.log_lengthscales) for hyper in known] != [frame.dim] * len(groups):
        known = [None] * len(groups)  # that was another problem
    parts: list[_Part] = []
    for own, first in zip(groups, known, strict=True):
        process = GaussianProcessData(
            gram=frame.gram,
            points=points,
            y=outputs.values[:, own],
            basis=basis,
            dim=frame.dim,
            noise=None if noise is None else noise[:, own[0]],
            log_lengthscales=problem.log_lengthscales,
            nugget=None if problem.noise is None else 0.0,
            amplitude=None if amplitude is None else amplitude / outputs.scale[own],
        )
        try:
            parts.append(_part(process, problem, context, first))
        except np.linalg.LinAlgError as error:
            return Fit.failed(data, str(error))
    residuals = np.concatenate([part.left_out for part in parts], axis=1)
    theta0, covariance = outputs.integrals(
        np.concatenate([part.mean for part in parts]),
        correlated(np.concatenate([part.variance for part in parts]), residuals),
    )
    return Fit(
        theta0=theta0,
        covariance=covariance,
        model=GaussianProcessModel(frame, outputs, [part.posterior for part in parts]),
        dof=standard_error(residuals, data.effective_weights, data.groups)[1],
        status=_status(parts, problem.suspicion),
        fitted=outputs.in_units(np.concatenate([part.fitted for part in parts], axis=1)),
        held_out=_held_out(parts, outputs),
        warm_start=GaussianProcessStart(tuple(part.posterior.hyper for part in parts)),
        stats=_stats(parts, frame, outputs, residuals),
    )


@dataclass(frozen=True, eq=False)
class GaussianProcessModel:
    """The process at new points, in the user's units.

    Attributes:
        frame: coordinates, covariance and basis of the method.
        outputs: from standard units to those of f.
        posteriors: one for all outputs, or one for each where noise is known.
    """

    frame: KernelFrame
    outputs: Outputs
    posteriors: list[GaussianProcess]

    @float64
    def __call__(self, points: Points, return_std: bool) -> tuple[Array, Array | None]:
        """Mean (n, k) and, where asked for, the standard deviation of f without noise."""
        at, basis = self.frame.at(points)
        each = [posterior.predict(at, basis, return_std) for posterior in self.posteriors]
        mean = self.outputs.in_units(np.concatenate([mean for mean, _ in each], axis=1))
        stds = [std for _, std in each if std is not None]
        if not stds:
            return mean, None
        return mean, self.outputs.spread_in_units(np.concatenate(stds, axis=1))


@dataclass(frozen=True, eq=False)
class _Part:
    """What is kept of one process: not its factor, which would fill the memory."""

    posterior: GaussianProcess
    optimum: Optimum
    mean: Array
    variance: Array
    left_out: Array
    fitted: Array
    held_out: tuple[Array, Array] | None


def _part(
    process: GaussianProcessData,
    problem: KernelProblem,
    context: Context,
    start: Hyperparameters | None,
) -> _Part:
    """Find the hyperparameters, condition, integrate."""
    criterion, x = problem.criterion, problem.points.x
    optimum = optimize(
        process, criterion=criterion, seed=context.seed, progress=context.progress, start=start
    )
    posterior = GaussianProcess.of(process, optimum.hyper)
    left_out = posterior.leave_one_out()
    if criterion == "leave_one_out":
        posterior = posterior.calibrated(left_out)
    integrals = problem.frame.integrals(x, optimum.hyper.log_lengthscales)
    mean, variance = posterior.functional(*integrals)
    held_out = None
    if context.split is not None:
        held_out = posterior.held_out(integrals[0], integrals[2], context.split)
    return _Part(posterior.light(), optimum, mean, variance, left_out, posterior.fitted, held_out)


def _held_out(parts: list[_Part], outputs: Outputs) -> HeldOutValues | None:
    """Of all outputs in their units, where folds were asked for."""
    pairs = [part.held_out for part in parts if part.held_out is not None]
    if not pairs:
        return None
    values, theta0 = (
        outputs.in_units(np.concatenate(each, axis=1)) for each in zip(*pairs, strict=True)
    )
    return HeldOutValues(values, theta0)


def _known_variances(data: Dataset, outputs: Outputs, fixed: float | None) -> Array | None:
    """Of the standardized values, (n, varying): the data's own and the method's."""
    if data.noise is None and not fixed:
        return None
    known = np.zeros_like(data.fx) if data.noise is None else data.noise**2
    return (known + (fixed or 0.0) ** 2)[:, outputs.varying] / outputs.scale**2


def _status(parts: list[_Part], suspicion: str | None) -> Status:
    if not all(np.isfinite(part.mean).all() for part in parts):
        return Status("not_finite", "the solution of the covariance is not finite")
    if suspicion:
        return Status("suspect", suspicion)
    jitter = max(part.posterior.jitter for part in parts)
    if jitter > NOTABLE_JITTER:
        return Status(
            "converged",
            f"after {jitter:.0e} was added to the covariance's diagonal; "
            "points may lie too close together",
        )
    if max(part.optimum.gain for part in parts) > SETTLED:
        return Status(
            "max_steps", "the search for hyperparameters was still gaining at its last step"
        )
    return Status("converged", "posterior of the integral at the best hyperparameters")


def _stats(
    parts: list[_Part], frame: KernelFrame, outputs: Outputs, residuals: Array
) -> dict[str, Any]:
    """What was found; amplitude and noise in the units of f."""
    hypers = [part.posterior.hyper for part in parts]
    lengthscales = np.stack([frame.lengthscales(hyper.log_lengthscales) for hyper in hypers])
    amplitude = np.concatenate([hyper.amplitude for hyper in hypers])
    nugget = np.concatenate([np.full(len(h.amplitude), h.nugget) for h in hypers])
    return {
        "lengthscales": lengthscales[0] if len(parts) == 1 else lengthscales,
        "amplitude": amplitude * outputs.scale,
        "nugget": np.sqrt(nugget) * amplitude * outputs.scale,
        "log_likelihood": float(sum(part.posterior.log_likelihood for part in parts)),
        "jitter": max(part.posterior.jitter for part in parts),
        "left_out_mean_square": float(np.mean(residuals**2)),
        "evaluations": sum(part.optimum.evaluations for part in parts),
    }
