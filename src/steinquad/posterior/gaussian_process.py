"""Gaussian-process regression that is there for its integrals.

Each output of the data is `y = H b + a g + noise` with a flat prior on b and g a Gaussian process
with unit-amplitude covariance K. With `M = K + nugget I (+ known variances / a^2)` and
`Q = M^-1 - M^-1 H (H^T M^-1 H)^-1 H^T M^-1` the restricted likelihood of an output is

    -log p(y) = (y^T Q y / a^2 + (n - q) log(2 pi a^2) + log|M| + log|H^T M^-1 H|) / 2.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import jax
import numpy as np
import scipy.linalg

from steinquad._types import Array
from steinquad.posterior.gram import Gram, KernelPoints, cross_gram, own_gram, variances

__all__ = ["GaussianProcess", "GaussianProcessData", "Hyperparameters"]

BLOCK = 512  # new points that are predicted at a time
FIRST_JITTER, LARGEST_JITTER = 1e-14, 1e-5  # relative to the mean of the diagonal
# Factorize, invert a triangle, invert from a factor, each in place where asked to.
POTRF, TRTRI, POTRI = scipy.linalg.get_lapack_funcs(("potrf", "trtri", "potri"), dtype=np.float64)

# `L^-1 right` and `L^-T right` for a lower factor L.
_forward = partial(scipy.linalg.solve_triangular, lower=True, check_finite=False)
_backward = partial(_forward, trans=1)


@dataclass(frozen=True, eq=False)
class Hyperparameters:
    """What `optimize` finds, in standardized units.

    Attributes:
        log_lengthscales: natural logarithms, one for each coordinate or one for all.
        nugget: variance of what the covariance function does not explain, as a share of the
            amplitude's square.
        amplitude: a of each output, (k,).
    """

    log_lengthscales: Array
    nugget: float
    amplitude: Array


@dataclass(frozen=True, eq=False)
class GaussianProcessData:
    """Standardized data and what is known of their covariance: what is conditioned on.

    Attributes:
        gram: the covariance function.
        points: a pytree of arrays with leading axis n.
        y: values of k outputs that share lengthscales and nugget, (n, k).
        basis: H, (n, q); q may be 0.
        dim: number of lengthscales.
        noise: known variances of the errors in y, (n,); only with one output.
        log_lengthscales: fixed ones, or None to find them.
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

    def take(self, rows: np.ndarray) -> "GaussianProcessData":
        """Some of the points, in the order of `rows`; what is fixed stays fixed."""
        return replace(
            self,
            points=jax.tree.map(lambda a: a[rows], self.points),
            y=self.y[rows],
            basis=self.basis[rows],
            noise=None if self.noise is None else self.noise[rows],
        )

    @property
    def explicit(self) -> bool:
        """Whether the amplitude has to be searched for.

        Without known variances the likelihood is maximized over it in closed form.
        """
        return self.noise is not None and self.amplitude is None


def _diagonal(data: GaussianProcessData, hyper: Hyperparameters) -> Array:
    """What is added to K: the nugget and, in units of the amplitude, the known variances."""
    added = np.full(data.n, hyper.nugget)
    return added if data.noise is None else added + data.noise / hyper.amplitude[0] ** 2


def _factorize(data: GaussianProcessData, hyper: Hyperparameters) -> tuple[Array, float]:
    """Lower Cholesky factor in place, the upper triangle undefined, and the jitter it took."""
    jitter = 0.0
    while True:
        matrix = own_gram(data.gram, hyper.log_lengthscales, data.points)
        matrix[np.diag_indices(data.n)] += _diagonal(data, hyper) + jitter
        scale = float(np.mean(np.diag(matrix)))
        factor, info = POTRF(matrix, lower=1, clean=0, overwrite_a=1)
        # A pivot that is rounding error passes, but nothing solved with it means anything.
        if info == 0 and np.isfinite(factor[-1, -1]):
            return factor, jitter
        if not np.isfinite(scale) or jitter >= LARGEST_JITTER * scale:
            raise np.linalg.LinAlgError("the covariance is not positive definite")
        del matrix, factor
        jitter = max(FIRST_JITTER * scale, 10 * jitter)


@dataclass(frozen=True, eq=False)
class GaussianProcess:
    """The posterior given data and hyperparameters; every field in standardized units.

    Made by `GaussianProcess.of`. Integrals are `functional`, values at new points `predict`, and
    an honest check of both `leave_one_out`.

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

    data: GaussianProcessData
    hyper: Hyperparameters
    factor: Array
    jitter: float
    coefficients: Array
    alpha: Array
    weighted: Array
    normal: Array
    log_likelihood: float

    @classmethod
    def of(cls, data: GaussianProcessData, hyper: Hyperparameters) -> "GaussianProcess":
        """Condition on the data, which costs O(n^3) and holds one matrix of n x n.

        Amplitudes that are neither fixed nor explicit are those of the largest likelihood.

        Raises:
            numpy.linalg.LinAlgError: if the covariance stays indefinite up to `LARGEST_JITTER`.
        """
        factor, jitter = _factorize(data, hyper)
        n, q = data.basis.shape
        half_basis, half_y = _forward(factor, data.basis), _forward(factor, data.y)
        normal = scipy.linalg.cholesky(half_basis.T @ half_basis, lower=True)
        coefficients = _backward(normal, _forward(normal, half_basis.T @ half_y))
        left = half_y - half_basis @ coefficients
        energy = np.sum(left**2, axis=0)  # y^T Q y
        amplitude = hyper.amplitude
        if data.amplitude is None and not data.explicit:
            amplitude = np.sqrt(np.maximum(energy / max(n - q, 1), np.finfo(float).tiny))
        determinants = 2 * sum(np.sum(np.log(np.diag(each))) for each in (factor, normal))
        loss = 0.5 * np.sum(
            energy / amplitude**2 + (n - q) * np.log(2 * np.pi * amplitude**2) + determinants
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
        """Posterior mean of `H b + a g` at the data, (n, k), without forming K once more."""
        added = _diagonal(self.data, self.hyper) + self.jitter
        return self.data.y - added[:, None] * self.alpha

    def light(self) -> "GaussianProcess":
        """The same without its factor, to be kept in an answer.

        Means need no factor; standard deviations compute it again.
        """
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
        """Mean and standard deviation of `H b + a g` at new points, both (m, k).

        Args:
            points: m new points, as the covariance function takes them.
            basis: H there, (m, q).
            return_std: False leaves out the standard deviations, which take O(n^2) a point.
        """
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
        """With amplitudes for which residuals are no larger than they are said to be.

        Args:
            left_out: the residuals of `leave_one_out`, (n, k).

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

    def held_out(self, z: Array, h: Array, split: Sequence[np.ndarray]) -> tuple[Array, Array]:
        """Values `theta0 + y - g` and theta0 without each fold, hyperparameters kept.

        theta0 is a linear functional as in `functional`, `a . y` with weights a. Leaving out the
        rows F leaves `r_F = Q_FF^-1 (Q y)_F` and `theta0 - a_F . r_F`. It needs Q itself, so
        that memory and time are a few times those of the factor.

        Args:
            z: the functional of the covariance with each point, (n,).
            h: the functional of the basis, (q,).
            split: rows of each fold, every row in one.

        Returns:
            Values of every point by the process without its fold, (n, k), and theta0 of these
            processes, (K, k).
        """
        inverse = self.inverse()
        theta0 = h @ self.coefficients + z @ self.alpha
        a = inverse @ z + self.weighted @ _backward(self.normal, _forward(self.normal, h))
        values = np.empty_like(self.data.y)
        without = np.empty((len(split), self.data.y.shape[1]))
        for fold, rows in enumerate(split):
            # By its factor: `solve` warns of a bad condition, of which the residuals tell too.
            block = inverse[np.ix_(rows, rows)]
            factor = scipy.linalg.cho_factor(block, overwrite_a=True, check_finite=False)
            left = scipy.linalg.cho_solve(factor, self.alpha[rows], check_finite=False)
            without[fold] = theta0 - a[rows] @ left
            values[rows] = without[fold] + left
        return values, without

    @property
    def _projected(self) -> Array:
        """P with `M^-1 - Q = P^T P`, (q, n)."""
        return _forward(self.normal, self.weighted.T)

    def inverse(self) -> Array:
        """The matrix Q, (n, n): as large as the covariance, so for subsets of the data only."""
        inverse, info = POTRI(self.factor, lower=1, overwrite_c=0)
        if info != 0:
            raise np.linalg.LinAlgError("the covariance has a zero pivot")
        for start in range(0, self.data.n, BLOCK):  # LAPACK fills the lower triangle only
            rows, after = slice(start, start + BLOCK), slice(start + BLOCK, None)
            inverse[rows, after] = inverse[after, rows].T
            own = np.tril(inverse[rows, rows])
            inverse[rows, rows] = own + np.tril(own, -1).T
        inverse -= self._projected.T @ self._projected
        return inverse
