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
    """The map between the user's x and the coordinates z in which a method works.

    If z = L^-1 (x - mu) then `grad_z log pi = L^T grad_x log pi`, and a field w of z is the field
    `u(x) = L w(z)` of x, with the same Stein image and the same divergence.

    Attributes:
        shift: mu, (d,).
        matrix: L, (d, d).
        inverse: L^-1, kept so that nothing is solved for every batch of points.
    """

    shift: Array
    matrix: Array
    inverse: Array

    def points(self, x: Array) -> Array:
        """Points x of the user as points z, (n, d) -> (n, d).

        Apply it to every batch before a kernel, a network or a polynomial sees it; scores of the
        same batch go through `score`.
        """
        return (x - self.shift) @ self.inverse.T

    def score(self, score: Array) -> Array:
        """Scores with respect to x as scores with respect to z, (n, d) -> (n, d): times L.

        This is the chain rule `grad_z log pi = L^T grad_x log pi` for row vectors; the same map
        takes the drift of a multiplied field to z.
        """
        return score @ self.matrix

    @classmethod
    def identity(cls, dim: int) -> "Affine":
        """The user's own coordinates, z = x.

        For distributions that factorize in x itself, and for methods that were asked to leave the
        coordinates alone.

        Args:
            dim: number of coordinates, d.
        """
        return cls(np.zeros(dim), np.eye(dim), np.eye(dim))

    @classmethod
    def fit(
        cls, x: Array, kind: Literal["diagonal", "whiten", "none"], weights: Array
    ) -> "Affine":
        """Coordinates in which weighted points have mean 0 and unit spread.

        Args:
            x: the points, (n, d); every coordinate must vary.
            kind: "diagonal" divides each coordinate by its standard deviation, "whiten" gives
                z covariance 1 (up to `FLOOR`), "none" leaves x as it is.
            weights: of the points, (n,), up to a constant.
        """
        dim = x.shape[1]
        if kind == "none":
            return cls.identity(dim)
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
