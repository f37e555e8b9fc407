"""Exact Bayesian linear regression `y = theta0 + Phi w + noise`, theta0 flat, w ~ N(0, 1/alpha).

With a flat theta0 the weights see centered columns only. Columns are weighted by the square roots
of the weights and factored once, `Phi_c = Q R`; nested sets of features are leading blocks of R.
For the ratio rho = alpha / beta everything follows from the singular values of R, and no square of
a condition number or difference of large numbers appears: relative noise down to 1e-12 is fine.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from steinquad._types import Array

__all__ = ["Factored", "LinearPosterior", "factor"]

LEAST_RATIO, LARGEST_RATIO = 1e-32, 1e6  # alpha/beta relative to the number of observations
LEAST_MISFIT = 1e-280  # sum of squares: of an exact fit beta and alpha are still numbers
LEAST_FREEDOM = 1e-8  # of a left-out point: 1 - leverage


@dataclass(frozen=True)
class Factored:
    """Centered and weighted features with their QR factors.

    Made once by `factor`, asked for the posterior under any number of leading features.
    """

    q: Array  # (n, F)
    r: Array  # (F, F)
    root: Array  # (n,) square roots of the weights
    feature_mean: Array  # (F,) weighted
    y: Array  # (n, k), not centered

    @property
    def total(self) -> float:
        """Sum of the weights: how many observations they are worth."""
        return float(np.sum(self.root**2))

    def posterior(self, size: int, scale: Array) -> "LinearPosterior":
        """Posterior under the leading `size` features, at the evidence's best precisions.

        Args:
            size: how many features.
            scale: prior standard deviation of each weight, up to the common 1/sqrt(alpha).
        """
        w = self.root**2 / self.total
        shift = w @ self.y
        rows = self.root[:, None] * (self.y - shift)  # (n, k)
        q = self.q[:, :size]
        u, values, vt = scipy.linalg.svd(self.r[:size, :size] * scale, check_finite=False)
        projected = q.T @ rows
        outside = rows - q @ projected
        outside -= q @ (q.T @ outside)  # once more: what is left may be 1e-8 of it
        z = u.T @ projected  # (F, k)
        basis = q @ u  # (n, F)
        rest = np.sum(outside**2, axis=0)  # (k,)
        each = zip(z.T, rest, strict=True)
        ratios = np.array([_best_ratio(values, own, left, self.total) for own, left in each])
        precision = values[:, None] ** 2 + ratios  # (F, k), up to beta
        shrink = ratios / precision
        misfit = rest + np.sum(shrink * z**2, axis=0)
        # One effective draw leaves no degree of freedom, and so next to no precision.
        betas = max(self.total - 1.0, LEAST_FREEDOM) / np.maximum(misfit, LEAST_MISFIT)
        weights = scale[:, None] * (vt.T @ (values[:, None] * z / precision))
        residual = outside + basis @ (shrink * z)
        leverage = w[:, None] + basis**2 @ (1.0 - shrink)
        center = vt @ (scale * self.feature_mean[:size])
        variance = (1.0 / self.total + center**2 @ (1.0 / precision)) / betas
        theta0 = shift - self.feature_mean[:size] @ weights
        root = self.root[:, None]
        plain = np.divide(residual, root, out=np.zeros_like(residual), where=root > 0)
        left_out = plain / np.maximum(1.0 - leverage, LEAST_FREEDOM)
        return LinearPosterior(
            theta0,
            weights,
            variance,
            ratios * betas,
            betas,
            plain,
            left_out,
            vt * scale,
            values,
        )

    def held_out(
        self, posterior: "LinearPosterior", scale: Array, split: Sequence[np.ndarray]
    ) -> tuple[Array, Array]:
        """Values `theta0 + y - g` and theta0 of the posterior without each fold, exactly.

        Precisions are kept. With H the hat matrix and a the weights of `theta0 = a . y`, leaving
        out the rows F leaves `r_F' = (I - H_FF)^-1 r_F` and `theta0' = theta0 - a_F . r_F'`.

        Args:
            posterior: of the leading features that have this scale.
            scale: prior standard deviations with which it was made.
            split: rows of each fold, every row in one.

        Returns:
            Values of every point by the posterior without its fold, (n, k), and theta0 of these
            posteriors, (K, k).
        """
        size = len(scale)
        u, values, vt = scipy.linalg.svd(self.r[:size, :size] * scale, check_finite=False)
        basis = self.q[:, :size] @ u
        center = vt @ (scale * self.feature_mean[:size])
        w = self.root**2 / self.total
        values_without = np.empty_like(self.y)
        theta0 = np.empty((len(split), self.y.shape[1]))
        for j, ratio in enumerate(posterior.alpha / posterior.beta):
            kept = values**2 / (values**2 + ratio)
            a = w - self.root * (basis @ (values / (values**2 + ratio) * center))
            for fold, rows in enumerate(split):
                own, root = basis[rows], self.root[rows]
                hat = np.outer(root, root) / self.total + (own * kept) @ own.T
                hat[np.diag_indices(len(rows))] -= 1.0 + LEAST_FREEDOM
                left = np.linalg.solve(-hat, root * posterior.residuals[rows, j]) / root
                theta0[fold, j] = posterior.theta0[j] - a[rows] @ left
                values_without[rows, j] = theta0[fold, j] + left
        return values_without, theta0


@dataclass(frozen=True)
class LinearPosterior:
    """The fit of k outputs.

    Attributes:
        theta0: integrals, (k,).
        weights: of the features, (F, k).
        variance: of theta0, (k,).
        alpha: prior precision of each output.
        beta: noise precision of each output.
        residuals: `y - theta0 - Phi w`, (n, k).
        left_out: the same had the point been left out of the fit, exactly.
    """

    theta0: Array
    weights: Array
    variance: Array
    alpha: Array
    beta: Array
    residuals: Array
    left_out: Array
    _vt: Array  # right singular vectors times the prior scales
    _values: Array

    def predicted_variance(self, phi: Array, feature_mean: Array, total: float) -> Array:
        """Posterior variance of g at points with features `phi`, (n, F) -> (n, k).

        That of the noise is not included.

        Args:
            phi: features of the points, as many as the posterior has.
            feature_mean: of the data, `Factored.feature_mean`.
            total: of the weights of the data, `Factored.total`.
        """
        rows = (phi - feature_mean) @ self._vt.T
        precision = self._values[:, None] ** 2 + self.alpha / self.beta
        return (1.0 / total + rows**2 @ (1.0 / precision)) / self.beta


def factor(phi: Array, y: Array, weights: Array) -> Factored:
    """Center, weight and factor.

    Columns in nested order, so that any leading ones can be had from one factorization.

    Args:
        phi: features at the points, (n, F).
        y: values, (n, k).
        weights: of the points, (n,).
    """
    w = weights / weights.sum()
    mean = w @ phi
    root = np.sqrt(weights)
    rows = root[:, None] * (phi - mean)
    q, r = np.linalg.qr(rows)
    return Factored(q, r, root, mean, y)


def _best_ratio(values: Array, z: Array, rest: float, total: float) -> float:
    """alpha/beta of highest evidence, beta eliminated."""
    squares = values**2

    def loss(log_ratio: Array) -> Array:
        """Of several ratios at once."""
        shares = np.exp(log_ratio)[:, None] / (squares + np.exp(log_ratio)[:, None])
        misfit = np.maximum(rest + shares @ z**2, LEAST_MISFIT)
        return 0.5 * (total - 1) * np.log(misfit) - 0.5 * np.sum(np.log(shares), axis=1)

    grid = np.log(total) + np.linspace(np.log(LEAST_RATIO), np.log(LARGEST_RATIO), 45)
    while True:
        best = int(np.argmin(loss(grid)))
        low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
        if high - low < 1e-3:
            return float(np.exp(grid[best]))
        grid = np.linspace(low, high, 41)
