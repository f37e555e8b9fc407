"""Gaussian-process regression that is there for its integrals.

Each output of the data is `y = H b + a g + noise` with a flat prior on b and g a Gaussian process
with unit-amplitude covariance K. With `M = K + nugget I (+ known variances / a^2)` and
`Q = M^-1 - M^-1 H (H^T M^-1 H)^-1 H^T M^-1` the restricted likelihood of an output is

    -log p(y) = (y^T Q y / a^2 + (n - q) log(2 pi a^2) + log|M| + log|H^T M^-1 H|) / 2.

Its gradient with respect to M is formed by LAPACK and pulled back through the kernel by JAX:
nothing is differentiated through a factorization.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, NamedTuple, TypeAlias

import jax
import numpy as np
import scipy.linalg
import scipy.optimize

from steinquad._types import Array, Progress
from steinquad.posterior.gram import Gram, KernelPoints, cross_gram, own_gram, pull_back, variances

__all__ = [
    "Criterion",
    "GaussianProcess",
    "Hyperparameters",
    "Optimum",
    "ProcessData",
    "left_out_loss",
    "memory_obstacle",
    "negative_log_likelihood",
    "optimize",
    "subset",
]

SMALL, LARGE = 400, 1200  # points on which hyperparameters are found, and found again
SMALL_STEPS, WARM_STEPS, LARGE_STEPS = 60, 15, 10
BLOCK = 512  # new points that are predicted at a time
LENGTHSCALES = (2e-2, 5e1)
NUGGETS = (1e-11, 1e1)
AMPLITUDES = (1e-4, 1e5)
# Lengthscale and nugget of the fits on the small subset; the best one is kept.
STARTS = ((1.0, 1e-4), (0.3, 1e-4), (4.0, 1e-4), (1.0, 1e-1))
UNACCEPTABLE = 1e6  # loss of a step that the line search has to take back
SETTLED = 5e-2  # gain a value by the last step of the search beyond which it is reported
FIRST_JITTER, LARGEST_JITTER = 1e-14, 1e-5
GIB = 2.0**30
# Factorize, invert a triangle, invert from a factor, each in place where asked to.
POTRF, TRTRI, POTRI = scipy.linalg.get_lapack_funcs(("potrf", "trtri", "potri"), dtype=np.float64)

# Of the larger subset: the likelihood, or the mean square of the leave-one-out residuals.
Criterion: TypeAlias = Literal["leave_one_out", "likelihood"]


@dataclass(frozen=True, eq=False)
class Hyperparameters:
    """What the likelihood decides: `amplitude` (k,) is that of each output, `nugget` its share."""

    log_lengthscales: Array
    nugget: float
    amplitude: Array


@dataclass(frozen=True, eq=False)
class ProcessData:
    """Standardized data and what is known of their covariance.

    Attributes:
        gram: the covariance function.
        points: a pytree of arrays with leading axis n.
        y: (n, k).
        basis: H, (n, q); q may be 0.
        noise: known variances of the errors in y, (n,); only with one output.
        log_lengthscales: fixed ones, or None to find them.
        dim: number of lengthscales.
        nugget: a fixed one, or None to find it.
        amplitude: fixed ones (k,), or None to find them.
    """

    gram: Gram
    points: KernelPoints
    y: Array
    basis: Array
    dim: int
    noise: Array | None = None
    log_lengthscales: Array | None = None
    nugget: float | None = None
    amplitude: Array | None = None

    @property
    def n(self) -> int:
        """Number of points."""
        return len(self.y)

    def take(self, rows: np.ndarray) -> "ProcessData":
        """Some of the points."""
        return replace(
            self,
            points=jax.tree.map(lambda a: a[rows], self.points),
            y=self.y[rows],
            basis=self.basis[rows],
            noise=None if self.noise is None else self.noise[rows],
        )

    # Free hyperparameters as one vector of logarithms: lengthscales, nugget, and the amplitude
    # where known variances forbid to maximize over it in closed form.

    @property
    def explicit(self) -> bool:
        """Whether the amplitude is part of the vector."""
        return self.noise is not None and self.amplitude is None

    def pack(self, hyper: Hyperparameters) -> Array:
        """The free ones as a vector."""
        parts = [np.zeros(0) if self.log_lengthscales is not None else hyper.log_lengthscales]
        if self.nugget is None:
            parts.append(np.log([max(hyper.nugget, NUGGETS[0])]))
        if self.explicit:
            parts.append(np.log(hyper.amplitude))
        return np.concatenate(parts)

    def unpack(self, vector: Array) -> Hyperparameters:
        """From such a vector; an amplitude that is not in it is left at one."""
        used = 0
        logs = self.log_lengthscales
        if logs is None:
            logs, used = vector[: self.dim], self.dim
        nugget = self.nugget
        if nugget is None:
            nugget, used = float(np.exp(vector[used])), used + 1
        amplitude = self.amplitude
        if amplitude is None:
            amplitude = np.exp(vector[used:]) if self.explicit else np.ones(self.y.shape[1])
        return Hyperparameters(logs, nugget, amplitude)

    @property
    def bounds(self) -> list[tuple[float, float]]:
        """Of the vector."""
        parts = [] if self.log_lengthscales is not None else [LENGTHSCALES] * self.dim
        parts += [NUGGETS] * (self.nugget is None) + [AMPLITUDES] * self.explicit
        return [(float(np.log(low)), float(np.log(high))) for low, high in parts]


def memory_obstacle(n: int, limit: float) -> str | None:
    """Why n points are too many for `limit` GiB, or None.

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


def _covariance(data: ProcessData, hyper: Hyperparameters) -> Array:
    """M without jitter, in Fortran order."""
    matrix = own_gram(data.gram, hyper.log_lengthscales, data.points)
    matrix[np.diag_indices(data.n)] += _diagonal(data, hyper)
    return matrix


def _diagonal(data: ProcessData, hyper: Hyperparameters) -> Array:
    """What is added to K: the nugget and, in units of the amplitude, the known variances."""
    added = np.full(data.n, hyper.nugget)
    return added if data.noise is None else added + data.noise / hyper.amplitude[0] ** 2


def _factorize(data: ProcessData, hyper: Hyperparameters) -> tuple[Array, float]:
    """Lower Cholesky factor in place, the upper triangle undefined, and the jitter it took."""
    jitter = 0.0
    while True:
        matrix = _covariance(data, hyper)
        if jitter:
            matrix[np.diag_indices(data.n)] += jitter
        scale = float(np.mean(np.diag(matrix)))
        factor, info = POTRF(matrix, lower=1, clean=0, overwrite_a=1)
        # A pivot that is rounding error passes, but nothing solved with it means anything.
        if info == 0 and np.isfinite(factor[-1, -1]):
            return factor, jitter
        if not np.isfinite(scale) or jitter >= LARGEST_JITTER * scale:
            raise np.linalg.LinAlgError("the covariance is not positive definite")
        del matrix, factor
        jitter = max(FIRST_JITTER * scale, 10 * jitter)


def _forward(factor: Array, right: Array) -> Array:
    """`L^-1 right`."""
    if right.shape[1] == 0:
        return right
    return scipy.linalg.solve_triangular(factor, right, lower=True, check_finite=False)


def _backward(factor: Array, right: Array) -> Array:
    """`L^-T right`."""
    if right.shape[1] == 0:
        return right
    return scipy.linalg.solve_triangular(factor, right, lower=True, trans=1, check_finite=False)


@dataclass(frozen=True, eq=False)
class GaussianProcess:
    """The process given all data; every field in standardized units.

    Attributes:
        data: what it was conditioned on.
        hyper: hyperparameters, amplitudes filled in.
        factor: lower Cholesky factor of M; what is above the diagonal is undefined.
        jitter: what had to be added to the diagonal for it.
        coefficients: b, (q, k).
        alpha: `Q y`, (n, k).
        weighted: `M^-1 H`, (n, q).
        normal: lower factor of `H^T M^-1 H`, (q, q).
        log_likelihood: restricted, summed over outputs.
    """

    data: ProcessData
    hyper: Hyperparameters
    factor: Array
    jitter: float
    coefficients: Array
    alpha: Array
    weighted: Array
    normal: Array
    log_likelihood: float

    @classmethod
    def of(cls, data: ProcessData, hyper: Hyperparameters) -> "GaussianProcess":
        """Condition on the data; amplitudes that are neither fixed nor explicit are found."""
        factor, jitter = _factorize(data, hyper)
        n, (q, k) = data.n, (data.basis.shape[1], data.y.shape[1])
        half_basis, half_y = _forward(factor, data.basis), _forward(factor, data.y)
        normal = scipy.linalg.cholesky(half_basis.T @ half_basis, lower=True)
        projected = _forward(normal, half_basis.T @ half_y) if q else np.zeros((0, k))
        coefficients = _backward(normal, projected) if q else np.zeros((0, k))
        left = half_y - half_basis @ coefficients
        energy = np.sum(left**2, axis=0)  # y^T Q y
        amplitude = hyper.amplitude
        if data.amplitude is None and not data.explicit:
            floor = np.finfo(float).tiny
            amplitude = np.sqrt(np.maximum(energy / max(n - q, 1), floor))
        log_determinant = 2 * float(
            np.sum(np.log(np.diag(factor))) + np.sum(np.log(np.diag(normal)))
        )
        loss = 0.5 * np.sum(
            energy / amplitude**2 + (n - q) * np.log(2 * np.pi * amplitude**2) + log_determinant
        )
        return cls(
            data=data,
            hyper=replace(hyper, amplitude=amplitude),
            factor=factor,
            jitter=jitter,
            coefficients=coefficients,
            alpha=_backward(factor, left),
            weighted=_backward(factor, half_basis),
            normal=normal,
            log_likelihood=-float(loss),
        )

    @property
    def fitted(self) -> Array:
        """Posterior mean of `H b + a g` at the data, (n, k)."""
        added = _diagonal(self.data, self.hyper) + self.jitter
        return self.data.y - added[:, None] * self.alpha

    def light(self) -> "GaussianProcess":
        """The same without its factor, which is found again when it is needed."""
        return replace(self, factor=np.empty((0, 0)))

    def functional(self, z: Array, v0: float, h: Array) -> tuple[Array, Array]:
        """Posterior mean and variance, both (k,), of a linear functional of `H b + a g`.

        Args:
            z: the functional of the covariance with each point, (n,).
            v0: the functional of the covariance in both arguments.
            h: the functional of the basis, (q,).
        """
        variances = self._functional_variance(z[:, None], np.array([v0]), h[None])
        mean = h @ self.coefficients + z @ self.alpha
        return mean, variances[0] * self.hyper.amplitude**2

    def predict(
        self, points: KernelPoints, basis: Array, return_std: bool
    ) -> tuple[Array, Array | None]:
        """Mean and standard deviation of `H b + a g` at new points, both (m, k)."""
        if return_std and self.factor.size == 0:
            factor, _ = _factorize(self.data, self.hyper)
            return replace(self, factor=factor).predict(points, basis, return_std)
        means, stds = [], []
        gram, logs = self.data.gram, self.hyper.log_lengthscales
        for start in range(0, len(basis), BLOCK):
            block = slice(start, start + BLOCK)
            new = jax.tree.map(lambda a, block=block: a[block], points)
            cross = cross_gram(gram, logs, new, self.data.points)
            means.append(basis[block] @ self.coefficients + cross @ self.alpha)
            if return_std:
                own = variances(gram, logs, new)
                missed = self._functional_variance(cross.T, own, basis[block])
                stds.append(np.sqrt(missed)[:, None] * self.hyper.amplitude)
        return np.concatenate(means), np.concatenate(stds) if return_std else None

    def _functional_variance(self, z: Array, v0: Array, h: Array) -> Array:
        """Of m functionals, unit amplitude: z (n, m), v0 (m,), h (m, q) -> (m,)."""
        half = _forward(self.factor, z)
        variance = v0 - np.sum(half**2, axis=0)
        # What remains of v0 is not known better than its last digits.
        variance = np.maximum(variance, np.finfo(float).eps * v0)
        if h.shape[1] == 0:
            return variance
        missed = _forward(self.normal, h.T - self.weighted.T @ z)
        return variance + np.sum(missed**2, axis=0)

    def leave_one_out(self) -> Array:
        """`y_i` less its prediction from all other points, hyperparameters kept, (n, k).

        `[Q y]_i / Q_ii` (Dubrule 1983); the diagonal of M^-1 is that of `L^-T L^-1`.
        """
        inverse, info = TRTRI(self.factor, lower=1, overwrite_c=0)
        if info != 0:
            raise np.linalg.LinAlgError("the covariance has a zero pivot")
        diagonal = np.empty(self.data.n)
        for i, column in enumerate(inverse.T):
            diagonal[i] = column[i:] @ column[i:]
        return self.alpha / (diagonal - np.sum(self._projected**2, axis=0))[:, None]

    def calibrated(self, left_out: Array) -> "GaussianProcess":
        """With amplitudes for which leave-one-out residuals are no larger than they are said to.

        The variance of residual i is `a^2 / Q_ii`: their sum is made to be at least that of the
        squares. The likelihood's own amplitude is kept where it is larger: residuals say nothing
        of what lies beyond the outermost points.
        """
        if self.data.amplitude is not None or self.data.explicit:
            return self
        unit = np.divide(left_out, self.alpha, out=np.zeros_like(left_out), where=self.alpha != 0)
        squares = np.sum(left_out**2, axis=0) / np.sum(unit, axis=0)
        amplitude = np.maximum(self.hyper.amplitude, np.sqrt(squares))
        return replace(self, hyper=replace(self.hyper, amplitude=amplitude))

    @property
    def _projected(self) -> Array:
        """P with `M^-1 - Q = P^T P`, (q, n)."""
        return _forward(self.normal, self.weighted.T) if self.normal.size else self.weighted.T

    def inverse(self) -> Array:
        """Q."""
        inverse, info = POTRI(self.factor, lower=1, overwrite_c=0)
        if info != 0:
            raise np.linalg.LinAlgError("the covariance has a zero pivot")
        full = np.tril(inverse)  # LAPACK fills the lower triangle only
        full += np.tril(inverse, -1).T
        return full - self._projected.T @ self._projected


def negative_log_likelihood(data: ProcessData, vector: Array) -> tuple[float, Array]:
    """The restricted one, summed over outputs, and its gradient in the vector of `pack`."""
    at = GaussianProcess.of(data, data.unpack(vector))
    # dL/dM = (k Q - sum_j alpha_j alpha_j^T / a_j^2) / 2; where a_j is maximized over, its own
    # derivative is zero.
    scaled = at.alpha / at.hyper.amplitude
    cotangent = 0.5 * (data.y.shape[1] * at.inverse() - scaled @ scaled.T)
    gradient = _pulled(at, cotangent)
    if data.explicit:
        assert data.noise is not None
        relative = data.noise / at.hyper.amplitude[0] ** 2
        count = data.n - data.basis.shape[1] - np.sum(data.y * at.alpha / at.hyper.amplitude**2)
        gradient = np.append(gradient, count - 2 * np.diag(cotangent) @ relative)
    return -at.log_likelihood, gradient


def left_out_loss(data: ProcessData, vector: Array) -> tuple[float, Array]:
    """`n/2 log(mean square)` of the leave-one-out residuals, summed over outputs; gradient."""
    at = GaussianProcess.of(data, data.unpack(vector))
    inverse = at.inverse()
    diagonal = np.diag(inverse)[:, None]
    residuals = at.alpha / diagonal
    square = np.mean(residuals**2, axis=0)
    # d alpha = -Q dM alpha and dQ = -Q dM Q.
    pull = residuals / (square * diagonal)
    weights = np.sum(residuals * pull, axis=1)
    cotangent = (inverse * weights) @ inverse
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
    """Hyperparameters, and how the search for them went."""

    hyper: Hyperparameters
    evaluations: int
    gain: float  # of the criterion a value, by the last step


def optimize(
    data: ProcessData,
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
    if not data.bounds:
        return Optimum(data.unpack(np.zeros(0)), 0, 0.0)
    stages: list[tuple[int, int, list[Array]]] = []
    if start is not None:  # near enough for one short search
        stages.append((SMALL, WARM_STEPS, [data.pack(start)]))
    else:
        guesses = [
            Hyperparameters(np.full(data.dim, np.log(scale)), nugget, np.ones(data.y.shape[1]))
            for scale, nugget in STARTS
        ]
        stages.append((SMALL, SMALL_STEPS, [data.pack(guess) for guess in guesses]))
    if data.n > SMALL or criterion == "leave_one_out":
        stages.append((LARGE, LARGE_STEPS, []))
    likelihood = negative_log_likelihood
    scalable = data.noise is None and data.amplitude is None
    loss = left_out_loss if criterion == "leave_one_out" and scalable else likelihood
    total = sum(steps * max(len(firsts), 1) for _, steps, firsts in stages)
    done, evaluations, best = 0, 0, None
    for size, steps, firsts in stages:
        part = data.take(subset(data.n, size, seed))
        runs = []
        for first in firsts or [best.vector]:  # pyright: ignore[reportOptionalMemberAccess]
            report = partial(_report, progress, done, total)
            runs.append(
                _minimize(part, loss if size == LARGE else likelihood, first, steps, report)
            )
            done += steps
        evaluations += sum(run.evaluations for run in runs)
        best = min(runs, key=lambda run: run.loss)
    assert best is not None
    return Optimum(data.unpack(best.vector), evaluations, best.gain)


def _report(progress: Progress, done: int, total: int, step: int, loss: float) -> None:
    progress(done + step, total, loss)


class _Run(NamedTuple):
    vector: Array
    loss: float
    gain: float
    evaluations: int


def _minimize(
    data: ProcessData,
    objective: Callable[[ProcessData, Array], tuple[float, Array]],
    first: Array,
    steps: int,
    report: Callable[[int, float], None],
) -> _Run:
    low, high = np.transpose(data.bounds)
    first = np.clip(first, low, high)
    directions = np.eye(len(first))
    if objective is left_out_loss and data.log_lengthscales is None:
        # A few residuals decide: enough to find a common factor of all lengthscales, too few to
        # find their ratios, which stay those of the likelihood.
        directions = directions[:, data.dim - 1 :]
        directions[: data.dim, 0] = 1.0
    losses: list[float] = []

    def loss(moved: Array) -> tuple[float, Array]:
        try:
            value, gradient = objective(data, first + directions @ moved)
        except np.linalg.LinAlgError:
            return UNACCEPTABLE, np.zeros_like(moved)
        if not (np.isfinite(value) and np.isfinite(gradient).all()):
            return UNACCEPTABLE, np.zeros_like(moved)
        return value / data.y.size, gradient @ directions / data.y.size

    def step(intermediate_result: scipy.optimize.OptimizeResult) -> None:
        losses.append(float(intermediate_result.fun))
        report(len(losses), losses[-1])

    room = [
        (float(np.max((low - first)[own])), float(np.min((high - first)[own])))
        for own in directions.T > 0
    ]
    found = scipy.optimize.minimize(
        loss,
        np.zeros(len(room)),
        jac=True,
        method="L-BFGS-B",
        bounds=room,
        callback=step,
        options={"maxiter": steps, "maxfun": steps + 5, "ftol": 1e-6, "gtol": 1e-4},
    )
    gain = losses[-2] - losses[-1] if len(losses) > 1 else 0.0
    return _Run(first + directions @ found.x, float(found.fun), gain, int(found.nfev))
