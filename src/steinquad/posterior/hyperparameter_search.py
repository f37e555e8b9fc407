"""The search for a Gaussian process's hyperparameters, on subsets of the data.

Two criteria: the restricted likelihood, and the mean square of the leave-one-out residuals. The
gradient of each with respect to M is formed by LAPACK and pulled back through the kernel by JAX:
nothing is differentiated through a factorization.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import scipy.optimize

from steinquad._types import Array, Progress
from steinquad.posterior.gaussian_process import (
    BLOCK,
    GaussianProcess,
    GaussianProcessData,
    Hyperparameters,
)
from steinquad.posterior.gram import pull_back

__all__ = ["Criterion", "Optimum", "memory_obstacle", "optimize"]

SMALL, LARGE = 400, 1200  # points of the first search, and of the one that starts from its result
SMALL_STEPS, WARM_STEPS, LARGE_STEPS = 60, 15, 10
LENGTHSCALES = (2e-2, 5e1)
NUGGETS = (1e-11, 1e1)
AMPLITUDES = (1e-4, 1e5)
# Lengthscale and nugget of the fits on the small subset; the best one is kept.
STARTS = ((1.0, 1e-4), (0.3, 1e-4), (4.0, 1e-4), (1.0, 1e-1))
UNACCEPTABLE = 1e6  # loss of a step that the line search has to take back
GIB = 2.0**30

# Of the larger subset: the likelihood, or the mean square of the leave-one-out residuals.
Criterion: TypeAlias = Literal["leave_one_out", "likelihood"]
Objective: TypeAlias = Callable[[GaussianProcessData, Array], tuple[float, Array]]


def memory_obstacle(n: int, limit: float) -> str | None:
    """Why n points are too many for `limit` GiB, as a sentence for the user, or None.

    Counted: the covariance and the inverse of its factor, a dozen blocks of columns, and a dozen
    matrices of the largest subset.
    """
    needed = 8 * (2 * n**2 + 12 * BLOCK * n + 12 * min(n, LARGE) ** 2) / GIB
    if needed <= limit:
        return None
    return (
        f"x has {n} points, whose covariance needs {needed:.3g} GiB but memory_limit is "
        f"{limit:g} GiB; use a method that scales, such as sq.Polynomial() or sq.BSN(), fewer "
        "points, or a higher memory_limit."
    )


def subset(n: int, size: int, seed: int) -> np.ndarray:
    """Up to `size` of n rows at random, in order; a larger subset contains a smaller one."""
    return np.sort(np.random.default_rng(seed).permutation(n)[:size])


# Free hyperparameters as one vector of logarithms: lengthscales, nugget, and the amplitude where
# known variances forbid to maximize over it in closed form.


def pack(data: GaussianProcessData, hyper: Hyperparameters) -> Array:
    """The free hyperparameters as a vector of logarithms; the inverse of `unpack`."""
    parts = [np.zeros(0) if data.log_lengthscales is not None else hyper.log_lengthscales]
    if data.nugget is None:
        parts.append(np.log([max(hyper.nugget, NUGGETS[0])]))
    if data.explicit:
        parts.append(np.log(hyper.amplitude))
    return np.concatenate(parts)


def unpack(data: GaussianProcessData, vector: Array) -> Hyperparameters:
    """Hyperparameters from such a vector, with what the data fix filled in.

    An amplitude that is neither in the vector nor fixed is left at one, for
    `GaussianProcess.of` to find.
    """
    used = 0
    logs = data.log_lengthscales
    if logs is None:
        logs, used = vector[: data.dim], data.dim
    nugget = data.nugget
    if nugget is None:
        nugget, used = float(np.exp(vector[used])), used + 1
    amplitude = data.amplitude
    if amplitude is None:
        amplitude = np.exp(vector[used:]) if data.explicit else np.ones(data.y.shape[1])
    return Hyperparameters(logs, nugget, amplitude)


def bounds(data: GaussianProcessData) -> list[tuple[float, float]]:
    """Lower and upper bound of each entry of the vector; empty where all is fixed."""
    parts = [] if data.log_lengthscales is not None else [LENGTHSCALES] * data.dim
    parts += [NUGGETS] * (data.nugget is None) + [AMPLITUDES] * data.explicit
    return [(float(np.log(low)), float(np.log(high))) for low, high in parts]


def negative_log_likelihood(data: GaussianProcessData, vector: Array) -> tuple[float, Array]:
    """The restricted likelihood's negative logarithm, summed over outputs, and its gradient.

    Args:
        data: usually a subset.
        vector: free hyperparameters as `pack` orders them, in which the gradient is taken.
    """
    at = GaussianProcess.of(data, unpack(data, vector))
    # dL/dM = (k Q - sum_j alpha_j alpha_j^T / a_j^2) / 2; where a_j is maximized over, its own
    # derivative is zero.
    scaled = at.alpha / at.hyper.amplitude
    cotangent = at.inverse()
    cotangent *= 0.5 * data.y.shape[1]
    cotangent -= 0.5 * scaled @ scaled.T
    gradient = _pulled(at, cotangent)
    if data.noise is not None and data.explicit:
        relative = data.noise / at.hyper.amplitude[0] ** 2
        count = data.n - data.basis.shape[1] - np.sum(data.y * at.alpha / at.hyper.amplitude**2)
        gradient = np.append(gradient, count - 2 * np.diag(cotangent) @ relative)
    return -at.log_likelihood, gradient


def left_out_loss(data: GaussianProcessData, vector: Array) -> tuple[float, Array]:
    """`n/2 log(mean square)` of the leave-one-out residuals, summed over outputs; gradient.

    Arguments and gradient as those of `negative_log_likelihood`; it does not see amplitudes.
    """
    at = GaussianProcess.of(data, unpack(data, vector))
    inverse = at.inverse()
    diagonal = np.diag(inverse)[:, None]
    residuals = at.alpha / diagonal
    square = np.mean(residuals**2, axis=0)
    # d alpha = -Q dM alpha and dQ = -Q dM Q.
    pull = residuals / (square * diagonal)
    weights = np.sum(residuals * pull, axis=1)  # negative by rounding only
    half = inverse * np.sqrt(np.maximum(weights, 0.0))
    cotangent = half @ half.T  # of a matrix with its own transpose BLAS forms one half
    cross = (inverse @ pull) @ at.alpha.T
    cotangent -= 0.5 * (cross + cross.T)
    return 0.5 * data.n * float(np.sum(np.log(square))), _pulled(at, cotangent)


def _pulled(at: GaussianProcess, cotangent: Array) -> Array:
    """A gradient with respect to M as one in the free lengthscales and the nugget."""
    data, parts = at.data, [np.zeros(0)]
    if data.log_lengthscales is None:
        parts.append(pull_back(data.gram, at.hyper.log_lengthscales, data.points, cotangent))
    if data.nugget is None:
        parts.append(np.array([at.hyper.nugget * np.trace(cotangent)]))
    return np.concatenate(parts)


@dataclass(frozen=True)
class Optimum:
    """Hyperparameters, and how the search for them went.

    Attributes:
        hyper: the best ones.
        evaluations: of a criterion and its gradient.
        gain: of the criterion a value, by the last step; large where the search was cut short.
    """

    hyper: Hyperparameters
    evaluations: int
    gain: float


def optimize(
    data: GaussianProcessData,
    *,
    criterion: Criterion,
    seed: int,
    progress: Progress,
    start: Hyperparameters | None = None,
) -> Optimum:
    """Maximize the likelihood of a small random subset; then, from there, fit a larger one.

    Args:
        data: all of it.
        criterion: of the larger subset; where the amplitude is not free it is the likelihood.
        seed: of the subsets.
        progress: called after every step.
        start: where to begin; the small subset then takes one short search.
    """
    if not bounds(data):
        return Optimum(unpack(data, np.zeros(0)), 0, 0.0)
    if start is None:
        steps = SMALL_STEPS
        guesses = [
            Hyperparameters(np.full(data.dim, np.log(scale)), nugget, np.ones(data.y.shape[1]))
            for scale, nugget in STARTS
        ]
    else:  # near enough for one short search
        steps, guesses = WARM_STEPS, [start]
    refined = data.n > SMALL or criterion == "leave_one_out"
    before = steps * len(guesses)
    total = before + LARGE_STEPS * refined

    def after(done: int) -> Callable[[int, float], None]:
        return lambda step, loss: progress(done + step, total, loss)

    small = data.take(subset(data.n, SMALL, seed))
    runs = [
        _minimize(small, negative_log_likelihood, pack(data, guess), steps, after(i * steps))
        for i, guess in enumerate(guesses)
    ]
    best = min(runs, key=lambda run: run.loss)
    if refined:
        large = data.take(subset(data.n, LARGE, seed))
        scalable = data.noise is None and data.amplitude is None
        left_out = criterion == "leave_one_out" and scalable
        loss = left_out_loss if left_out else negative_log_likelihood
        best = _minimize(large, loss, best.vector, LARGE_STEPS, after(before))
        runs.append(best)
    evaluations = sum(run.evaluations for run in runs)
    return Optimum(unpack(data, best.vector), evaluations, best.gain)


class _Run(NamedTuple):
    vector: Array
    loss: float
    gain: float
    evaluations: int


def _minimize(
    data: GaussianProcessData,
    objective: Objective,
    first: Array,
    steps: int,
    report: Callable[[int, float], None],
) -> _Run:
    low, high = np.transpose(bounds(data))
    first = np.clip(first, low, high)
    directions = np.eye(len(first))
    if objective is left_out_loss and data.log_lengthscales is None:
        # A few residuals decide: enough to find a common factor of all lengthscales, too few to
        # find their ratios, which stay those of the likelihood.
        directions = directions[:, data.dim - 1 :]
        directions[: data.dim, 0] = 1.0
    losses: list[float] = []

    def loss(moved: Array) -> tuple[float, Array]:
        with suppress(np.linalg.LinAlgError):
            value, gradient = objective(data, first + directions @ moved)
            if np.isfinite(value) and np.isfinite(gradient).all():
                return value / data.y.size, gradient @ directions / data.y.size
        return UNACCEPTABLE, np.zeros_like(moved)

    def step(intermediate_result: scipy.optimize.OptimizeResult) -> None:
        losses.append(float(intermediate_result.fun))
        report(len(losses), losses[-1])

    room = [
        (float(np.max((low - first)[own])), float(np.min((high - first)[own])))
        for own in directions.T > 0
    ]
    result = scipy.optimize.minimize(
        loss,
        np.zeros(len(room)),
        jac=True,
        method="L-BFGS-B",
        bounds=room,
        callback=step,
        options={"maxiter": steps, "maxfun": steps + 5, "ftol": 1e-6, "gtol": 1e-4},
    )
    gain = losses[-2] - losses[-1] if len(losses) > 1 else 0.0
    return _Run(first + directions @ result.x, float(result.fun), gain, int(result.nfev))
