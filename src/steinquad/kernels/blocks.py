"""Covariances in plain NumPy, a block of a matrix at a time.

The search for hyperparameters asks for the covariances of a hundred points and their derivatives
a hundred times: that is done before a program for it would be compiled. A kernel without closed
forms here is compiled by JAX (`steinquad.posterior.gram`).
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from steinquad._types import Array
from steinquad.kernels.stein_kernel import RadialKernel, SteinPoints, stein_sums

__all__ = ["Blocks", "MaternBlocks", "RBFBlocks", "SteinBlocks"]

MOST_TOGETHER = 50  # coordinates; the product of more polynomials may overflow


class Blocks(ABC):
    """A covariance function of unit amplitude as functions of log lengthscales.

    One log lengthscale is that of all coordinates.
    """

    @abstractmethod
    def block(self, logs: Array, rows: Any, columns: Any) -> Array:
        """Covariances of all rows with all columns, (n, m).

        Args:
            logs: logarithms of the lengthscales, (d,) or (1,).
            rows: n points.
            columns: m points.
        """

    @abstractmethod
    def pull_back(self, logs: Array, rows: Any, columns: Any, cotangent: Array) -> Array:
        """Derivative of `sum(cotangent * block)` by the logs.

        Args:
            logs: as for `block`.
            rows: as for `block`.
            columns: as for `block`.
            cotangent: weights of the covariances, (n, m).
        """

    @abstractmethod
    def variances(self, logs: Array, points: Any) -> Array:
        """Covariance of every point with itself, (n,); arguments as those of `block`."""


class _Stationary(Blocks):
    """Of points (n, d), whose variance is one."""

    def variances(self, logs: Array, points: Array) -> Array:
        return np.ones(len(points))


def _summed(each: Array, logs: Array) -> Array:
    """A derivative by the lengthscale of every coordinate as one by the logs."""
    return each.sum(keepdims=True) if len(logs) == 1 else each


def _squares(weights: Array, x: Array, y: Array) -> Array:
    """`sum_ab weights_ab (x_a - y_b)^2` of every coordinate, by products of matrices."""
    cross = np.sum(x * (weights @ y), axis=0)
    return weights.sum(axis=1) @ x**2 + weights.sum(axis=0) @ y**2 - 2.0 * cross


def _polynomial(s: Array, coefficients: tuple[float, ...]) -> Array:
    """Horner's rule, in one array."""
    value = np.full_like(s, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        value *= s
        value += coefficient
    return value


class RBFBlocks(_Stationary):
    """`exp(-r^2 / 2)` of the distance r in units of the lengthscales."""

    def block(self, logs: Array, rows: Array, columns: Array) -> Array:
        """`|x - y|^2 = |x|^2 + |y|^2 - 2 x . y`, around a center, where they do not cancel."""
        center, scale = columns.mean(axis=0), np.exp(-logs)
        x, y = (rows - center) * scale, (columns - center) * scale
        exponent = x @ y.T
        exponent -= 0.5 * np.sum(x * x, axis=1)[:, None]
        exponent -= 0.5 * np.sum(y * y, axis=1)
        np.minimum(exponent, 0.0, out=exponent)
        return np.exp(exponent, out=exponent)

    def pull_back(self, logs: Array, rows: Array, columns: Array, cotangent: Array) -> Array:
        """A squared distance over a squared lengthscale times the covariance."""
        center = columns.mean(axis=0)
        weights = cotangent * self.block(logs, rows, columns)
        squares = _squares(weights, rows - center, columns - center)
        return _summed(squares * np.exp(-2.0 * logs), logs)


@dataclass(frozen=True)
class MaternBlocks(_Stationary):
    """Products of `P(s) exp(-s)`, s the distance of a coordinate times a rate.

    Attributes:
        rate: by which distances in units of the lengthscale are multiplied.
        polynomial: coefficients of P, lowest first.
    """

    rate: float
    polynomial: tuple[float, ...]

    def block(self, logs: Array, rows: Array, columns: Array) -> Array:
        """Polynomials are multiplied and exponents added: one exponential for many coordinates."""
        value, total = np.ones((len(rows), len(columns))), 0.0
        for i, s in enumerate(self._distances(logs, rows, columns)):
            if len(self.polynomial) > 1:
                value *= _polynomial(s, self.polynomial)
            total = total + s
            if (i + 1) % MOST_TOGETHER == 0:
                value, total = value * np.exp(-total), 0.0
        return value * np.exp(-total)

    def pull_back(self, logs: Array, rows: Array, columns: Array, cotangent: Array) -> Array:
        """`d log(P(s) exp(-s)) / d log l = s (1 - P'(s) / P(s))`."""
        weights = cotangent * self.block(logs, rows, columns)
        derivative = tuple(i * c for i, c in enumerate(self.polynomial))[1:] or (0.0,)
        each = np.empty(rows.shape[1])
        for i, s in enumerate(self._distances(logs, rows, columns)):
            share = _polynomial(s, derivative)
            share /= _polynomial(s, self.polynomial)
            np.subtract(1.0, share, out=share)
            share *= s
            each[i] = np.vdot(weights, share)
        return _summed(each, logs)

    def _distances(self, logs: Array, rows: Array, columns: Array) -> Any:
        rates = np.broadcast_to(self.rate * np.exp(-logs), rows.shape[1:])
        for x, y in zip((rows * rates).T, (columns * rates).T, strict=True):
            s = x[:, None] - y
            yield np.abs(s, out=s)


@dataclass(frozen=True)
class SteinBlocks(Blocks):
    """The Stein kernel of a radial kernel over its mean variance.

    Without that division the variance would change with the squares of the lengthscales, and
    amplitude and nugget with them, which makes their search harder.

    Attributes:
        kernel: the radial kernel under the Stein operator, whose third derivative is known.
    """

    kernel: RadialKernel

    def block(self, logs: Array, rows: SteinPoints, columns: SteinPoints) -> Array:
        """By the formula of `steinquad.kernels.stein_kernel`."""
        scales = np.broadcast_to(np.exp(logs), rows[0].shape[1:])
        squares, drifts, first, second = stein_sums(scales, rows, columns)
        phi, slope, curvature = self.kernel(squares)
        whole = phi * drifts + 2.0 * slope * first - 4.0 * curvature * second
        return whole / self.size(scales)

    def pull_back(
        self, logs: Array, rows: SteinPoints, columns: SteinPoints, cotangent: Array
    ) -> Array:
        """Every sum over coordinates has a product of matrices for its derivative.

        `first` does not change with the lengthscales; the share of a coordinate in the squared
        distance and in `second` falls with the square of its own, that in `drifts` rises.
        """
        scales = np.broadcast_to(np.exp(logs), rows[0].shape[1:])
        squares, drifts, first, second = stein_sums(scales, rows, columns)
        phi, slope, curvature = self.kernel(squares)
        third = self.kernel.third(squares)
        whole = phi * drifts + 2.0 * slope * first - 4.0 * curvature * second
        (u, m, e), (v, p, g) = rows, columns
        by_square = cotangent * (slope * drifts + 2.0 * curvature * first - 4.0 * third * second)
        by_drift, by_second = cotangent * phi, -4.0 * cotangent * curvature
        apart = np.sum(m * u * u * (by_second @ p), axis=0)
        apart -= 2.0 * np.sum(m * u * (by_second @ (p * v)), axis=0)
        apart += np.sum(m * (by_second @ (p * v * v)), axis=0)
        each = 2.0 * scales**2 * np.sum(e * (by_drift @ g), axis=0)
        each -= 2.0 / scales**2 * (_squares(by_square, u, v) + apart)
        size = self.size(scales)
        each -= np.vdot(cotangent, whole) * 2.0 * scales**2 / size
        return _summed(each / size, logs)

    def variances(self, logs: Array, points: SteinPoints) -> Array:
        """The formula at distance zero."""
        _, multiplier, drift = points
        scales = np.broadcast_to(np.exp(logs), multiplier.shape[1:])
        phi, slope, _ = self.kernel(np.zeros(1))
        whole = phi * np.sum((drift * scales) ** 2, axis=1)
        return (whole - 2.0 * slope * np.sum(multiplier**2, axis=1)) / self.size(scales)

    @staticmethod
    def size(lengthscales: Any) -> Any:
        """Mean variance for scores of a standard normal, for phi(0) = 1.

        `E[k0(x, x)] = phi(0) sum_i l_i^2 - 2 phi'(0) d`, phi' taken for -1/2.
        """
        return (lengthscales**2 + 1.0).sum()
