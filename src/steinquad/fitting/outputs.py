"""The values in standard units and back: what every regression does to f."""

from dataclasses import dataclass, replace

import numpy as np

from steinquad._types import Array
from steinquad.dataset import Dataset
from steinquad.fit import Check

__all__ = ["Outputs", "correlated"]


@dataclass(frozen=True)
class Outputs:
    """Outputs with mean 0 and variance 1; those that do not vary are left out and exact.

    One prior scale, one noise and one tolerance then suit any f. Constant outputs would have a
    scale of zero.

    Attributes:
        values: standardized, (n, varying).
        noise: known variance of each value, mean over the outputs, (n,); None if values are exact.
        shift: mean of each varying output.
        scale: standard deviation of each varying output.
        varying: which outputs are not constant.
        first: values of all outputs at the first point.
    """

    values: Array
    noise: Array | None
    shift: Array
    scale: Array
    varying: np.ndarray
    first: Array

    @classmethod
    def fit(cls, data: Dataset) -> "Outputs":
        """Standardize under the weights of the data.

        Args:
            data: with at least one output that varies. Its noise is divided by the same scale.
        """
        varying = ~data.constant
        fx = data.fx[:, varying]
        w = data.effective_weights / data.effective_weights.sum()
        shift = w @ fx
        scale = np.sqrt(w @ (fx - shift) ** 2)
        noise = None
        if data.noise is not None:
            noise = np.mean((data.noise[:, varying] / scale) ** 2, axis=1)
        return cls((fx - shift) / scale, noise, shift, scale, varying, data.fx[0])

    def in_units(self, standardized: Array) -> Array:
        """Standardized outputs (..., varying) as values of all outputs, (..., k).

        Outputs that do not vary keep the value that they have everywhere. For predictions and
        integrals; standard deviations have `spread_in_units`.
        """
        values = np.tile(self.first, (*standardized.shape[:-1], 1))
        values[..., self.varying] = self.shift + self.scale * standardized
        return values

    def spread_in_units(self, standardized: Array) -> Array:
        """Standardized standard deviations (..., varying) as those of all outputs, (..., k).

        They are scaled but not shifted; outputs that do not vary have a standard deviation of
        zero.
        """
        values = np.zeros((*standardized.shape[:-1], len(self.first)))
        values[..., self.varying] = self.scale * standardized
        return values

    def integrals(self, theta0: Array, covariance: Array) -> tuple[Array, Array]:
        """Mean (k,) and covariance (k, k) of all outputs; constant ones are exact.

        Args:
            theta0: standardized integrals, (varying,).
            covariance: of these, (varying, varying).
        """
        full = np.zeros((len(self.first), len(self.first)))
        full[np.ix_(self.varying, self.varying)] = covariance * np.outer(self.scale, self.scale)
        return self.in_units(theta0), full

    def check_in_units(self, check: Check) -> Check:
        """A check of standardized outputs (varying,) as one of all outputs (k,).

        Its distance is relative to its own std and needs no units.
        """
        return replace(
            check,
            mean=self.in_units(check.mean),
            std=self.spread_in_units(check.std),
            residual=self.spread_in_units(check.residual),
            predicted=None if check.predicted is None else self.in_units(check.predicted),
        )

    def noise_weights(self, misfit: float) -> Array:
        """Relative precision of each value, mean 1: known noise plus what the model misses.

        Args:
            misfit: mean square that the model misses beyond the noise, standardized. Without it, a
                regression would listen to the most precise points alone, which are not a sample
                of the measure.

        Returns:
            Weights for least squares, (n,); ones where values are exact.
        """
        if self.noise is None:
            return np.ones(len(self.values))
        # The floor of a hundredth keeps nearly exact values from taking all of the weight.
        precision = 1.0 / (self.noise + max(misfit, 1e-2 * float(self.noise.mean()), 1e-300))
        return precision / precision.mean()

    def misfit(
        self, residuals: Array, weights: Array, rows: np.ndarray | slice = slice(None)
    ) -> float:
        """Mean square of held-out residuals beyond the known noise, at least 0.

        What is left after the variance of the noise has been subtracted is the error of the model
        itself; it floors the weights of `noise_weights`.

        Args:
            residuals: standardized, (rows, varying).
            weights: of these points, (rows,).
            rows: which points they are.
        """
        noise = 0.0 if self.noise is None else self.noise[rows, None]
        return max(float(np.average(np.mean(residuals**2 - noise, axis=1), weights=weights)), 0.0)


def correlated(variance: Array, residuals: Array) -> Array:
    """Covariance with the given variances (k,) and the correlation of the residuals (n, k).

    Errors of several integrals from the same points are correlated as the residuals are; how
    large they are is often known from elsewhere.

    Args:
        variance: of each integral, (k,).
        residuals: what the model leaves of each output, (n, k), weighted and centered as needed.
    """
    std = np.sqrt(variance)
    if len(std) == 1:
        return np.diag(variance)
    norms = np.sqrt(np.sum(residuals**2, axis=0))
    unit = np.divide(residuals, norms, out=np.zeros_like(residuals), where=norms > 0)
    correlation = unit.T @ unit
    np.fill_diagonal(correlation, 1.0)
    return correlation * np.outer(std, std)
