"""GGN-Laplace: a Gaussian posterior around the trained weights, and the marginal of theta0.

    Sigma^-1 = beta G + diag(alpha on the weights, alpha or 0 on theta0)        (paper, section 3)

Dense by Cholesky up to `DENSE_LIMIT` weights. Beyond that only the covariance of theta0: exactly
by a matrix of the residuals where those are fewer, else by a preconditioned Krylov solve with a
bound on each side.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from steinquad._linalg import cholesky
from steinquad._types import Array
from steinquad.networks.stein_network import SteinNetwork
from steinquad.training.curvature import DENSE_LIMIT
from steinquad.training.evidence import Precisions, Spectrum, tune
from steinquad.training.krylov import Nystroem, ShiftedGram, lanczos_spectrum, quadratic_form
from steinquad.training.model import CompiledModel, ResidualModel, model
from steinquad.training.objective import TrainingSet, flatten, theta0_entries

__all__ = ["LaplacePosterior", "laplace"]

NYSTROEM_RANK = 500
MOST_JACOBIAN = 2**27  # numbers, 1 GiB


@dataclass(frozen=True)
class LaplacePosterior:
    """Gaussian over the weights of a trained network.

    Attributes:
        theta0_covariance: covariance of the k integrals, (k, k).
        precisions: alpha, beta and the effective number of weights.
        noise: relative noise of each output, (k,); beta is the precision of the residuals over it.
        gap: relative width of the bounds on the variance of theta0; 0 when computed exactly.
        ggn: G, where it was formed.
        factor: lower Cholesky factor of the precision matrix, where it was formed.
        jitter: what had to be added to the diagonal of the precision, relative to its mean.
    """

    theta0_covariance: Array
    precisions: Precisions
    noise: Array
    gap: float
    ggn: Array | None
    factor: Array | None
    jitter: float


@dataclass(frozen=True)
class _Fitted:
    """Trained weights, which are theta0, which have a prior, and what `tune` needs."""

    vector: Array
    theta0: np.ndarray
    penalized: np.ndarray  # all of the weights, and theta0 unless its prior is flat
    flat: bool
    noise: Array
    scalars: dict[str, float]


def output_noise(at: ResidualModel, vector: Array) -> tuple[Array, float]:
    """Root mean square residual of each output relative to their mean, (k,), and |r / noise|^2.

    Outputs of different noise share one precision that way.
    """
    sums = at.squares(vector)
    if len(sums) == 1 or sums.min() == 0.0:
        return np.ones(len(sums)), float(sums.sum())
    noise = np.sqrt(sums / sums.mean())
    return noise, float(np.sum(sums / noise**2))


def laplace(
    network: SteinNetwork,
    data: TrainingSet,
    *,
    flat: bool,
    seed: int = 0,
    dense_limit: int | None = None,
) -> LaplacePosterior:
    """Gaussian posterior of a trained network, at the prior and noise precision of most evidence.

    Args:
        network: trained weights.
        data: what they were trained on.
        flat: a flat prior on theta0; otherwise it shares the prior of the weights (the paper).
        seed: of the probes of the matrix-free way; the dense way draws nothing.
        dense_limit: most weights, or residuals, of which a matrix is formed and factored.

    Returns:
        The covariance of the integrals, and that of all weights where its matrix was formed.
    """
    limit = DENSE_LIMIT if dense_limit is None else dense_limit
    vector = flatten(network)
    theta0 = theta0_entries(network)
    at = model(network, data)
    noise, residual = output_noise(at, vector)
    penalized = ~(theta0 & flat)
    k = int(theta0.sum())
    scalars = {
        "observations": data.total * k - (k if flat else 0),
        "residual": residual,
        "weight": float(vector[penalized] @ vector[penalized]),
    }
    fitted = _Fitted(vector, theta0, penalized, flat, noise, scalars)
    if len(vector) <= limit:
        return _dense(at, fitted)
    rows = data.blocks.weights.size * k
    if rows <= min(limit, MOST_JACOBIAN // len(vector)):
        return _by_residuals(at, fitted)
    return _matrix_free(CompiledModel(network, data), fitted, seed)


def _dense(at: ResidualModel, fitted: _Fitted) -> LaplacePosterior:
    theta0, flat = fitted.theta0, fitted.flat
    matrix = np.asarray(at.gram(fitted.vector, fitted.noise)[0])
    if flat:  # eliminate theta0
        w = ~theta0
        cross = matrix[np.ix_(w, theta0)]
        inside = np.linalg.solve(matrix[np.ix_(theta0, theta0)], cross.T)
        spectrum = Spectrum.dense(matrix[np.ix_(w, w)] - cross @ inside)
    else:
        spectrum = Spectrum.dense(matrix)
    precisions = tune(spectrum, **fitted.scalars)
    precision = precisions.beta * matrix
    precision[np.diag_indices_from(precision)] += precisions.alpha * fitted.penalized
    factor, jitter = cholesky(precision)
    unit = np.eye(len(theta0))[:, theta0]
    half = scipy.linalg.solve_triangular(factor, unit, lower=True)
    return LaplacePosterior(half.T @ half, precisions, fitted.noise, 0.0, matrix, factor, jitter)


def _by_residuals(at: ResidualModel, fitted: _Fitted) -> LaplacePosterior:
    """The same from `K = J_w J_w^T`: theta0 by least squares with errors I / beta + K / alpha."""
    theta0, flat, noise = fitted.theta0, fitted.flat, fitted.noise
    jacobian = at.jacobian(fitted.vector)
    jacobian = jacobian / np.tile(noise, len(jacobian) // len(noise))[:, None]
    design, rest = jacobian[:, theta0], jacobian[:, ~theta0]
    kernel = rest @ rest.T
    if flat:  # eliminate theta0
        basis = np.linalg.qr(design)[0]
        left = kernel - basis @ (basis.T @ kernel)
        spectrum = Spectrum.dense(left - (left @ basis) @ basis.T)
    else:
        spectrum = Spectrum.dense(kernel + design @ design.T)
    # The weights have so many eigenvalues more, all zero.
    zeros = int(fitted.penalized.sum()) - len(kernel)
    precisions = tune(
        Spectrum(np.append(spectrum.values, 0.0), np.append(spectrum.counts, zeros)),
        **fitted.scalars,
    )
    alpha, beta = precisions.alpha, precisions.beta
    factor, jitter = cholesky((beta / alpha) * kernel + np.eye(len(kernel)))
    half = scipy.linalg.solve_triangular(factor, design, lower=True)
    precision = beta * half.T @ half + np.diag(alpha * fitted.penalized[theta0])
    return LaplacePosterior(np.linalg.inv(precision), precisions, noise, 0.0, None, None, jitter)


def _matrix_free(at: CompiledModel, fitted: _Fitted, seed: int) -> LaplacePosterior:
    """Eliminate theta0, whose block of G is diagonal, and bound what the weights add to it.

    With `a = diag(beta G_00 + alpha0)` and `C = beta G_w0`, the covariance of theta0 is
    `a^-1 + a^-1 C^T S^-1 C a^-1`, S = beta G_ww + alpha I - C a^-1 C^T. Under a flat prior S is
    `beta (G_ww - G_w0 G_00^-1 G_0w) + alpha I`: a Gram matrix of centered columns, plus alpha. The
    proper prior of the paper changes that by terms of relative size alpha / (beta n).
    """
    theta0 = fitted.theta0
    p, k = len(theta0), int(theta0.sum())
    w = ~theta0

    def product(v: Array) -> Array:
        return at.product(fitted.vector, fitted.noise, v)

    columns = np.stack([product(unit) for unit in np.eye(p)[theta0]], axis=1)  # G_.0, (p, k)
    g00 = np.diag(columns[theta0])

    def eliminated(shrink: Array) -> Callable[[Array], Array]:
        """v -> (G_ww - G_w0 diag(shrink / G_00) G_0w) v."""

        def apply(v: Array) -> Array:
            full = np.zeros(p)
            full[w] = v
            return product(full)[w] - columns[w] @ ((shrink / g00) * (columns[w].T @ v))

        return apply

    centered = eliminated(np.ones(k))
    spectrum = lanczos_spectrum(centered, p - k, seed=seed)
    precisions = tune(spectrum, **fitted.scalars)
    alpha, beta = precisions.alpha, precisions.beta
    a = beta * g00 + (0.0 if fitted.flat else alpha)
    operator = eliminated(beta * g00 / a)
    nystroem = Nystroem.build(operator, p - k, min(NYSTROEM_RANK, (p - k) // 2), seed)
    shifted = ShiftedGram(operator, nystroem, alpha, beta)
    b = beta * columns[w] / a  # (p - k, k)

    covariance, gap = np.diag(1.0 / a), 0.0
    for j in range(k):
        bounds = quadratic_form(shifted, b[:, j])
        covariance[j, j] += bounds.upper
        gap = max(gap, (bounds.upper - bounds.lower) / covariance[j, j])
    for i, j in itertools.combinations(range(k), 2):  # polarization
        pair = (quadratic_form(shifted, b[:, i] + sign * b[:, j]) for sign in (1, -1))
        plus, minus = (bounds.lower + bounds.upper for bounds in pair)
        covariance[i, j] = covariance[j, i] = (plus - minus) / 8
    return LaplacePosterior(covariance, precisions, fitted.noise, gap, None, None, 0.0)
