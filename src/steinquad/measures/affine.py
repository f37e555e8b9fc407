"""A change of coordinates `z = L^-1 (x - mu)` and the score's chain rule, in one place."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.linalg

from steinquad._types import Array

__all__ = ["Affine"]

FLOOR = 1e-12  # added to the correlations, for coordinates that are nearly the same


@dataclass(frozen=True)
class Affine:
    """The map between the user's x and the network's z.

    If z = L^-1 (x - mu) then `grad_z log pi = L^T grad_x log pi`, and a field w of z is the field
    `u(x) = L w(z)` of x, with the same Stein image and the same divergence.
    """

    shift: Array  # mu, (d,)
    matrix: Array  # L, (d, d)
    inverse: Array  # L^-1

    def points(self, x: Array) -> Array:
        """x to z, (n, d)."""
        return (x - self.shift) @ self.inverse.T

    def score(self, score: Array) -> Array:
        """Scores of x to scores of z, (n, d)."""
        return score @ self.matrix

    @classmethod
    def fit(
        cls, x: Array, kind: Literal["diagonal", "whiten", "none"], weights: Array
    ) -> "Affine":
        """Coordinates with mean 0 and, under the weights, standard deviation or covariance 1."""
        dim = x.shape[1]
        if kind == "none":
            return cls(np.zeros(dim), np.eye(dim), np.eye(dim))
        w = weights / weights.sum()
        shift = w @ x
        centered = x - shift
        scale = np.sqrt(w @ centered**2)
        if kind == "whiten":
            # Of the correlations: coordinates may differ in scale by many orders.
            unit = centered / scale
            correlation = unit.T @ (w[:, None] * unit) + FLOOR * np.eye(dim)
            factor = scipy.linalg.cholesky(correlation, lower=True)
            inverse = scipy.linalg.solve_triangular(factor, np.eye(dim), lower=True)
            return cls(shift, scale[:, None] * factor, inverse / scale)
        return cls(shift, np.diag(scale), np.diag(1.0 / scale))
