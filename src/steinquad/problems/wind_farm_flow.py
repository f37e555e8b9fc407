"""The mean wind speed over a grid of points between the turbines, in JAX.

It is the mean of a sum over all wakes. A wake that varies little across the box is summed not
over all points but by a Gauss rule of the *discrete* measure on them: m nodes along an axis give
the mean of every polynomial of degree 2 m - 1 over all its points. Only wakes with a kink or an
edge in the box, or narrow ones, need every point. The mean over heights depends on the width of a
wake alone, and is a Chebyshev series in 1 / (2 sigma^2).
"""

import math
from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg

from steinquad._types import Array
from steinquad.problems.wind_farm_layout import SPACING, WIND_SPEED, AveragingGrid
from steinquad.problems.wind_farm_wakes import Physics, Positions, Turbine, Wakes, centerline

__all__ = ["QuadratureRules", "discrete_gauss", "height_terms", "mean_speed"]

NODES = (12, 18, 26, 40)  # along an axis, for wakes from wide to narrow; the others need all
SKIP, ALL = -1, len(NODES)
NEGLIGIBLE = 40.0  # wakes fainter than exp(-this) everywhere in the box
DIGITS = 14.0 * math.log(10.0)


class QuadratureRules(NamedTuple):
    """What is fixed when the mean is compiled.

    Attributes:
        physics: which formulas.
        grid: the points over which the wind speed is averaged.
        terms: length of the series over heights, from `height_terms`.
    """

    physics: Physics
    grid: AveragingGrid
    terms: int


@cache
def discrete_gauss(points: int, m: int) -> tuple[Array, Array]:
    """Nodes and weights for the plain mean over `linspace(-1, 1, points)`.

    Exact for degrees up to 2 m - 1, from the recurrence of the discrete Chebyshev polynomials;
    the points themselves if they are no more than m.

    >>> x, w = discrete_gauss(200, 3)
    >>> bool(abs(w @ x**4 - np.mean(np.linspace(-1, 1, 200) ** 4)) < 1e-15)
    True
    """
    if points <= m:
        return np.linspace(-1.0, 1.0, points), np.full(points, 1.0 / points)
    k = np.arange(1.0, m)
    beta = k**2 * (points**2 - k**2) / (4.0 * (4.0 * k**2 - 1.0))
    off = np.sqrt(beta) * 2.0 / (points - 1)
    nodes, vectors = scipy.linalg.eigh_tridiagonal(np.zeros(m), off)
    return nodes, vectors[0] ** 2


def height_terms(height: float, narrowest: float, grid: AveragingGrid) -> int:
    """Length of the Chebyshev series over heights, a power of two, for sigma >= `narrowest`."""
    reach = np.max(np.abs(height - grid.z))
    r = (reach / narrowest) ** 2 / 4.0  # half the range of the exponent
    return 1 << math.ceil(math.log2(math.sqrt(2.0 * r * DIGITS) + 1.0))


def _height_series(height: Any, steepest: Any, grid: AveragingGrid, terms: int) -> Any:
    """Coefficients of `mean_z exp(-s (z - h)^2)` for s from 0 to `steepest`."""
    s = steepest * (1.0 + np.cos((np.arange(terms) + 0.5) * math.pi / terms)) / 2.0
    values = jnp.mean(jnp.exp(-s[:, None] * (grid.z - height) ** 2), axis=1)
    series = jax.scipy.fft.dct(values) / terms
    return series.at[0].divide(2.0)


def _clenshaw(coefficients: Any, t: Any) -> Any:
    after = afterwards = jnp.zeros_like(t)
    for k in range(len(coefficients) - 1, 0, -1):
        after, afterwards = coefficients[k] + 2.0 * t * after - afterwards, after
    return coefficients[0] + t * after - afterwards


def _classes(kind: Turbine, expansion: Any, at: Positions) -> Any:
    """Which of `NODES` each wake needs, `ALL` points, or `SKIP`; (t,)."""
    half = SPACING / 2.0
    middle_down, middle_cross = -half * at.cos - at.down, -half * at.sin - at.cross
    extent = half * (at.cos + at.sin)  # of the box around its middle, downwind and crosswind
    first, last = middle_down - extent, middle_down + extent
    nearest = jnp.maximum(jnp.abs(middle_cross) - extent, 0.0)
    base = kind.eps * kind.diameter
    sigma = base + expansion * jnp.maximum(first, 0.0)
    widest = base + expansion * jnp.maximum(last, 0.0)
    faint = (last < -1.0) | (nearest**2 > 2.0 * NEGLIGIBLE * widest**2)
    # On the axis of a wake min(1, 2 a(spread)) has its corner at spread = 1, for Madsen at 1.16.
    corner = kind.diameter * jnp.sqrt(kind.thrust / 8.0)
    edge = (first < 1.0) | (sigma <= 1.001 * corner)
    # Nodes for a Gaussian of width sigma, and for the singularity of its amplitude behind the box.
    side = half * at.cos
    narrow = math.sqrt(DIGITS / 2.0) * side / sigma
    gap = 1.0 + (sigma - corner) / (expansion * side)
    singular = DIGITS / 2.0 / jnp.log(gap + jnp.sqrt(jnp.maximum(gap**2 - 1.0, 1e-12)))
    needed = 4.0 + jnp.hypot(narrow, singular)
    chosen = jnp.searchsorted(jnp.asarray(NODES, needed.dtype), needed)
    return jnp.where(faint, SKIP, jnp.where(edge, ALL, chosen))


def mean_speed(
    kind: Turbine, wakes: Wakes, at: Positions, height: Any, rules: QuadratureRules
) -> Any:
    """U_F, the plain mean of the wind speed over the grid.

    Args:
        kind: the turbine.
        wakes: speed and expansion of each.
        at: where the turbines stand.
        height: of the hubs.
        rules: formulas, grid and the length of the series over heights.
    """
    grid, cos, sin = rules.grid, at.cos, at.sin
    base = kind.eps * kind.diameter
    steepest = 1.0 / (2.0 * base**2)
    series = _height_series(height, steepest, grid, rules.terms)
    classes = _classes(kind, wakes.expansion, at)
    classes = jnp.where(jnp.arange(len(at.down)) < at.count, classes, SKIP)
    order = jnp.argsort(classes)
    bounds = jnp.searchsorted(classes[order], jnp.arange(ALL + 2))

    def lost(m: int, first: Any, last: Any) -> Any:
        """Mean deficit of the wakes order[first:last], by m nodes along each axis."""
        (x, wx), (y, wy) = (discrete_gauss(n, m) for n in (grid.nx, grid.ny))
        x, y = SPACING / 2.0 * (x - 1.0), SPACING / 2.0 * y
        box_down = x[:, None] * cos - y * sin
        box_cross = x[:, None] * sin + y * cos

        def add(step: Any, total: Any) -> Any:
            i = order[step]
            d = box_down - at.down[i]
            sigma = base + wakes.expansion[i] * jnp.maximum(d, 0.0)
            s = 1.0 / (2.0 * sigma**2)
            profile = jnp.exp(-s * (box_cross - at.cross[i]) ** 2)
            wake = centerline(kind, sigma, rules.physics) * profile
            wake = wake * _clenshaw(series, 2.0 * s / steepest - 1.0)
            behind = jnp.where(d > -1e-10, wake, 0.0)
            return total + wakes.speed[i] * (behind @ jnp.asarray(wy) @ jnp.asarray(wx))

        return jax.lax.fori_loop(first, last, add, jnp.zeros(()))

    sizes = (*NODES, max(grid.nx, grid.ny))
    return WIND_SPEED - sum(lost(m, bounds[i], bounds[i + 1]) for i, m in enumerate(sizes))
