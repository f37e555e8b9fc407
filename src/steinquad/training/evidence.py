"""Prior and noise precision from the marginal likelihood, at fixed weights.

With alpha = 1/sigma0^2, beta = 1/sigma^2, residuals r and penalized weights w,

    log Z = (m log beta - beta |r|^2 + q log alpha - alpha |w|^2 - log det(beta G + alpha I)) / 2,

with q weights and m observations (less one for each theta0 under a flat prior, whose rows and
columns have then been eliminated from G). The determinant needs the spectrum of G only, so both
precisions are two numbers to optimize once the spectrum is known: by eigenvalues of a dense G, or
by the nodes and weights of a Lanczos quadrature of a matrix-free one.
"""

from dataclasses import dataclass

import numpy as np
import scipy.optimize

from steinquad._types import Array

__all__ = ["Precisions", "Spectrum", "log_evidence", "tune"]

# Precisions beyond these are at the resolution of float64 for standardized data.
LOG_ALPHA = (np.log(1e-10), np.log(1e12))
LOG_BETA = (np.log(1e-4), np.log(1e24))


@dataclass(frozen=True)
class Spectrum:
    """Eigenvalues of G and how often each counts.

    Exact ones, or nodes of a Lanczos quadrature, which count in fractions.

    Attributes:
        values: eigenvalues or nodes, not negative.
        counts: how many eigenvalues each stands for; their sum is the size of G.
    """

    values: Array
    counts: Array

    @classmethod
    def dense(cls, matrix: Array) -> "Spectrum":
        """Every eigenvalue of a symmetric matrix; rounding below zero is cut off.

        Every count is one. It costs O(p^3), so it is for matrices of some thousand rows;
        `lanczos_spectrum` is for larger ones.
        """
        values = np.maximum(np.linalg.eigvalsh(matrix), 0.0)
        return cls(values, np.ones_like(values))


@dataclass(frozen=True)
class Precisions:
    """alpha of the weights and beta of the noise at their best evidence.

    With gamma, the number of weights that the data decide, and the log evidence itself.

    `lambda = alpha / (N beta)` is the penalty that they correspond to.
    """

    alpha: float
    beta: float
    gamma: float
    log_evidence: float


def log_evidence(
    log_alpha: float, log_beta: float, spectrum: Spectrum, m: float, rr: float, ww: float
) -> tuple[float, Array, float]:
    """Log marginal likelihood up to a constant, its gradient in the two logs, and gamma.

    Args:
        log_alpha: log of the precision of the weights.
        log_beta: log of the precision of the noise.
        spectrum: of G.
        m: number of observations.
        rr: |r|^2.
        ww: |w|^2.
    """
    alpha, beta = np.exp(log_alpha), np.exp(log_beta)
    curvature = beta * spectrum.values
    q = spectrum.counts.sum()
    gamma = float(spectrum.counts @ (curvature / (curvature + alpha)))
    value = 0.5 * (
        m * log_beta
        - beta * rr
        + q * log_alpha
        - alpha * ww
        - spectrum.counts @ np.log(curvature + alpha)
    )
    return float(value), 0.5 * np.array([gamma - alpha * ww, m - gamma - beta * rr]), gamma


def tune(spectrum: Spectrum, *, observations: float, residual: float, weight: float) -> Precisions:
    """The precisions of highest evidence.

    Args:
        spectrum: of G with theta0 eliminated if its prior is flat.
        observations: m, number of residuals less the number of flat parameters.
        residual: |r|^2 at the trained weights.
        weight: |w|^2 of the penalized weights.
    """
    m = max(observations, 1.0)
    # A perfect fit would send beta to infinity: its logarithm must stay finite.
    rr, ww = max(residual, 1e-300), max(weight, 1e-300)

    def negative(logs: Array) -> tuple[float, Array]:
        value, gradient, _ = log_evidence(logs[0], logs[1], spectrum, m, rr, ww)
        return -value, -gradient

    start = np.clip(
        [np.log(spectrum.counts.sum() / ww), np.log(m / rr)],
        [LOG_ALPHA[0], LOG_BETA[0]],
        [LOG_ALPHA[1], LOG_BETA[1]],
    )
    optimum = scipy.optimize.minimize(
        negative,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=[LOG_ALPHA, LOG_BETA],
        options={"maxiter": 500, "ftol": 1e-15, "gtol": 1e-8},
    )
    value, _, gamma = log_evidence(optimum.x[0], optimum.x[1], spectrum, m, rr, ww)
    return Precisions(float(np.exp(optimum.x[0])), float(np.exp(optimum.x[1])), gamma, value)
