"""Derivatives of the log densities of `scipy.stats`: closed forms, and one numerical road."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.differentiate import derivative

from steinquad._types import Array
from steinquad.errors import InputError

__all__ = ["STANDARD_SCORES", "numerical_score"]

# d/dz log density of the standard form (loc 0, scale 1), with the shape parameters after z.
STANDARD_SCORES: dict[str, Callable[..., Any]] = {
    "beta": lambda z, a, b: (a - 1) / z - (b - 1) / (1 - z),
    "cauchy": lambda z: -2 * z / (1 + z * z),
    "chi2": lambda z, df: (df / 2 - 1) / z - 0.5,
    "expon": lambda z: np.full_like(z, -1.0),
    "gamma": lambda z, a: (a - 1) / z - 1,
    "gumbel_r": lambda z: np.expm1(-z),
    "halfnorm": lambda z: -z,
    "invgamma": lambda z, a: (1 / z - (a + 1)) / z,
    "laplace": lambda z: -np.sign(z),
    "logistic": lambda z: -np.tanh(z / 2),
    "lognorm": lambda z, s: -(1 + np.log(z) / s**2) / z,
    "norm": lambda z: -z,
    "pareto": lambda z, b: -(b + 1) / z,
    "t": lambda z, df: -(df + 1) * z / (df + z * z),
    "triang": lambda z, c: np.where(z < c, 1 / z, -1 / (1 - z)),
    "truncnorm": lambda z, a, b: -z,
    "uniform": lambda z: np.zeros_like(z),
    "weibull_min": lambda z, c: (c - 1) / z - c * z ** (c - 1),
}

# The error estimate, relative to the score and to one over the width, that still passes.
ACCEPTED = 1e-6


def numerical_score(
    logpdf: Callable[[Any], Any], x: Array, low: float, high: float, width: float
) -> Array:
    """Derivative of `logpdf` by extrapolated differences, checked for convergence.

    Args:
        logpdf: elementwise log density.
        x: points (n,); those on or outside the sides get NaN.
        low: left side of the support.
        high: right side of the support.
        width: scale of the distribution, which sets the first step.
    """
    score = np.full(x.shape, np.nan)
    inside = np.flatnonzero((x > low) & (x < high))
    at = x[inside]
    tolerance = {"rtol": 1e-11, "atol": 1e-11 / width}
    # Where the log density is singular at a side, steps must be small parts of the distance to it;
    # where it is not, such steps drown in rounding, and one-sided long ones into the support are
    # right. Nobody says which it is, so both are tried and the smaller error estimate decides.
    left, right = at - low, high - at
    near = np.minimum(left, right)
    short = np.maximum(np.minimum(width, near) / 4, 64 * np.spacing(np.abs(at)))
    value, error = _difference(logpdf, at, short, np.zeros(len(at)), tolerance)
    edge = near < width / 4
    if edge.any():
        inward = np.where(left < right, 1.0, -1.0)[edge]
        long = np.minimum(width, np.maximum(left, right)[edge]) / 4
        other, other_error = _difference(logpdf, at[edge], long, inward, tolerance)
        better = other_error < error[edge]
        value[edge] = np.where(better, other, value[edge])
        error[edge] = np.where(better, other_error, error[edge])
    bad = ~(error <= ACCEPTED * (np.abs(value) + 1 / width))
    if bad.any():
        raise InputError(
            f"score of the scipy distribution did not converge at x = {at[bad][0]:.17g}; "
            "its log density must be smooth, or pass it as a JAX function to LogDensity."
        )
    score[inside] = value
    return score


def _difference(
    logpdf: Callable[[Any], Any], at: Array, step: Any, direction: Any, tolerances: Any
) -> tuple[Array, Array]:
    """The derivative and its error estimate, infinite where there is none."""
    with np.errstate(all="ignore"):
        result = derivative(
            logpdf, at, initial_step=step, step_direction=direction, tolerances=tolerances
        )
    usable = np.isfinite(result.df) & np.isfinite(result.error)
    return np.array(result.df), np.where(usable, result.error, np.inf)
