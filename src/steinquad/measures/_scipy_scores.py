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
    "arcsine": lambda z: (z - 0.5) / (z * (1 - z)),
    "beta": lambda z, a, b: (a - 1) / z - (b - 1) / (1 - z),
    "cauchy": lambda z: -2 * z / (1 + z * z),
    "chi": lambda z, df: (df - 1) / z - z,
    "chi2": lambda z, df: (df / 2 - 1) / z - 0.5,
    "expon": lambda z: np.full_like(z, -1.0),
    "gamma": lambda z, a: (a - 1) / z - 1,
    "gumbel_l": lambda z: -np.expm1(z),
    "gumbel_r": lambda z: np.expm1(-z),
    "halfnorm": lambda z: -z,
    "invgamma": lambda z, a: (1 / z - (a + 1)) / z,
    "invweibull": lambda z, c: (c * z**-c - (c + 1)) / z,
    "laplace": lambda z: -np.sign(z),
    "loguniform": lambda z, a, b: -1 / z,
    "logistic": lambda z: -np.tanh(z / 2),
    "lognorm": lambda z, s: -(1 + np.log(z) / s**2) / z,
    "lomax": lambda z, c: -(c + 1) / (1 + z),
    "norm": lambda z: -z,
    "pareto": lambda z, b: -(b + 1) / z,
    "rayleigh": lambda z: 1 / z - z,
    "t": lambda z, df: -(df + 1) * z / (df + z * z),
    "trapezoid": lambda z, c, d: np.where(z < c, 1 / z, np.where(z > d, -1 / (1 - z), 0.0)),
    "triang": lambda z, c: np.where(z < c, 1 / z, -1 / (1 - z)),
    "truncnorm": lambda z, a, b: -z,
    "uniform": lambda z: np.zeros_like(z),
    "weibull_max": lambda z, c: (c - 1) / z + c * (-z) ** (c - 1),
    "weibull_min": lambda z, c: (c - 1) / z - c * z ** (c - 1),
}

# The error estimate, relative to the score and to one over the width, that still passes.
ACCEPTED = 1e-6


def numerical_score(
    logpdf: Callable[[Any], Any],
    x: Array,
    low: float,
    high: float,
    width: float,
    *,
    kinks: bool = False,
) -> Array:
    """Derivative of `logpdf` by extrapolated differences, checked for convergence.

    Args:
        logpdf: elementwise log density.
        x: points (n,); those on or outside the sides get NaN.
        low: left side of the support.
        high: right side of the support.
        width: scale of the distribution, which sets the first step.
        kinks: also accept a derivative from one side, as there is near a kink; and near a jump,
            so only of a density that is known to have none.
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
    for direction in (1.0, -1.0) if kinks else ():
        if bad.any():
            step = np.minimum(width, np.where(direction > 0, right, left)[bad]) / 64
            towards = np.full(len(step), direction)
            value[bad], error[bad] = _difference(logpdf, at[bad], step, towards, tolerance)
            bad = ~(error <= ACCEPTED * (np.abs(value) + 1 / width))
    if bad.any():
        raise InputError(
            f"score of the distribution did not converge at x = {at[bad][0]:.17g}; "
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
