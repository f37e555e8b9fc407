"""Which inputs matter: Sobol indices and main effects of the fitted model.

The model g is evaluated at fresh draws A and B of the inputs, and for every input j at C_j, which
is B with column j from A. Inputs that depend on each other move together, as one. With everything
less its mean, and V the variance of g,

    first order   S_j = Var(E[g | x_j]) / V,   from the products g(A) g(C_j) over the squares of
                  both (the symmetric pick-freeze estimator of Janon and others, 2014), less c
                  times the average of g(A) g(B), whose expectation is zero: c is the regression
                  coefficient, so that inputs without effect have no noise
    total         T_j = E[Var(g | all but x_j)] / V,   from (g(B) - g(C_j))^2 / 2 (Jansen, 1999)
    main effect   E[g | x_j = t],   from the average of g(B with x_j = t) - g(B), plus that of g

Standard errors are those of the linearized ratios, and of these averages: they tell of the draws,
not of how well g follows the simulator, of which the held-out check tells.
"""

from dataclasses import dataclass

import numpy as np

from steinquad._types import Array
from steinquad.estimate import Estimate
from steinquad.measures.base import Measure
from steinquad.measures.convert import Product

__all__ = ["Curve", "Sensitivity", "independent_columns", "no_sensitivity", "sensitivity"]

DRAWS, CURVE_DRAWS, GRID = 8192, 256, 32
INNER = (0.01, 0.99)  # quantiles between which main effects are shown


@dataclass(frozen=True, eq=False)
class Curve:
    """The main effect of one input on every output: E[g | x_j = t] at t values.

    Attributes:
        x: values of the input, (t,), evenly between its 1 % and 99 % quantiles.
        mean: of the model given that value, (t, k).
        std: standard error of these means by the draws of the other inputs, (t, k).
    """

    x: Array
    mean: Array
    std: Array


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """Indices of m independent groups of columns for k outputs, NaN for outputs without variance.

    Attributes:
        columns: of each group.
        first, first_std, total, total_std: (m, k).
        curves: one a group, None for those of several columns.
    """

    columns: list[list[int]]
    first: Array
    first_std: Array
    total: Array
    total_std: Array
    curves: list[Curve | None]


def independent_columns(measure: Measure) -> list[list[int]]:
    """Columns in groups that are independent of each other, as far as the measure tells.

    First-order indices are sure to add up to at most 1 only for independent inputs, so those that
    may depend on each other are treated as one.

    Args:
        measure: of the inputs; one that tells nothing is one group.

    Returns:
        Every column in one of the groups, in ascending order.
    """
    if "cdf" in measure.provides or measure.dim == 1:  # one a coordinate: independent ones
        return [[i] for i in range(measure.dim)]
    if not isinstance(measure, Product):
        return [list(range(measure.dim))]
    groups: list[list[int]] = []
    start = 0
    for block in measure.blocks.values():
        groups += [[start + i for i in group] for group in independent_columns(block)]
        start += block.dim
    return groups


def no_sensitivity(estimate: Estimate, measure: Measure) -> str | None:
    """Why there is no telling which inputs matter, as a sentence for the report, or None.

    Args:
        estimate: whose model would be asked.
        measure: of the inputs, of which some have to be independent of others.
    """
    if estimate.fit.model is None or estimate.fit.fitted is None:
        return (
            f"The method {estimate.method} averages the values and has no model of the outputs, "
            "so there is no telling which inputs matter. Other methods have one."
        )
    if len(independent_columns(measure)) < min(measure.dim, 2):
        return (
            "The inputs depend on each other, or are not known to be independent; Sobol indices "
            "are for independent inputs."
        )
    return None


def sensitivity(estimate: Estimate, measure: Measure, *, seed: int) -> Sensitivity:
    """Sobol indices and main effects of the fitted model; see the module for the estimators.

    Args:
        estimate: with a model, see `no_sensitivity`.
        measure: of the inputs, from which fresh points are drawn.
        seed: of these draws.
    """
    a, b = measure.sample(2 * DRAWS, seed=seed).reshape(2, DRAWS, measure.dim)
    g_a, g_b = _predict(estimate, a), _predict(estimate, b)
    columns = independent_columns(measure)
    indices, curves = [], []
    for group in columns:
        c = b.copy()
        c[:, group] = a[:, group]
        indices.append(_indices(g_a, g_b, _predict(estimate, c)))
        one = len(group) == 1
        curves.append(_curve(estimate, group[0], a, b, g_a, g_b) if one else None)
    first, first_std, total, total_std = np.stack(indices, axis=1)
    return Sensitivity(columns, first, first_std, total, total_std, curves)


def _predict(estimate: Estimate, x: Array) -> Array:
    return estimate.fit.predict(estimate.space.points(x))[0]


def _indices(g_a: Array, g_b: Array, g_c: Array) -> Array:
    """First order, its std, total, its std: (4, k)."""
    center = (g_a + g_b).mean(axis=0) / 2
    a, b, c = g_a - center, g_b - center, g_c - center
    with np.errstate(invalid="ignore", divide="ignore"):  # outputs that do not vary
        variance = np.mean(a**2 + c**2, axis=0) / 2 - np.mean((a + c) / 2, axis=0) ** 2
        first = (np.mean(a * c, axis=0) - np.mean((a + c) / 2, axis=0) ** 2) / variance
        noise = (a * c - first * (a**2 + c**2) / 2) / variance
        zero = a * b / variance
        slope = np.mean((noise - noise.mean(axis=0)) * zero, axis=0) / np.var(zero, axis=0)
        first = first - slope * zero.mean(axis=0)
        first_std = np.std(noise - slope * zero, axis=0) / np.sqrt(len(a))
        variance = np.mean(a**2 + b**2, axis=0) / 2
        total = np.mean((b - c) ** 2, axis=0) / (2 * variance)
        noise = ((b - c) ** 2 - total * (a**2 + b**2)) / (2 * variance)
        total_std = np.std(noise, axis=0) / np.sqrt(len(a))
    indices = np.stack([first, first_std, total, total_std])
    # Rounding of the mean can leave a constant output with a tiny variance, and any index.
    flat = np.ptp(np.concatenate([g_a, g_b]), axis=0) == 0
    return np.where(flat | ~np.isfinite(indices), np.nan, indices)


def _curve(estimate: Estimate, column: int, a: Array, b: Array, g_a: Array, g_b: Array) -> Curve:
    low, high = np.quantile(np.concatenate([a[:, column], b[:, column]]), INNER)
    x = np.linspace(low, high, GRID)
    points = np.tile(b[:CURVE_DRAWS], (GRID, 1))
    points[:, column] = np.repeat(x, CURVE_DRAWS)
    there = _predict(estimate, points).reshape(GRID, CURVE_DRAWS, -1)
    # Differences at the same draws, whose own noise cancels.
    change = there - g_b[:CURVE_DRAWS]
    mean = change.mean(axis=1) + (g_a + g_b).mean(axis=0) / 2
    # The average of g is over many more draws; its error is left out.
    return Curve(x, mean, change.std(axis=1, ddof=1) / np.sqrt(CURVE_DRAWS))
