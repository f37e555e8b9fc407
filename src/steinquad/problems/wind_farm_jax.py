"""The wind farm in JAX: wind speeds at the target turbine and of the farm, some ms a point."""

import math
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from steinquad._float64 import float64
from steinquad._types import Array
from steinquad.problems.wind_farm_flow import QuadratureRules, height_terms, mean_speed
from steinquad.problems.wind_farm_layout import MOST_TURBINES, AveragingGrid, layout
from steinquad.problems.wind_farm_wakes import PHYSICS, Positions, propagate, turbine

__all__ = ["simulate"]

FAR = 1e9  # m downwind: turbines that only fill up the array


@float64
def simulate(point: Array, physics: str, grid: AveragingGrid) -> tuple[float, float]:
    """Wind speeds U_0 at the target turbine and U_F of the farm, in some 10 CPU ms.

    Args:
        point: the seven inputs (7,), checked by `as_inputs`.
        physics: a key of `PHYSICS`.
        grid: the points over which U_F is averaged.
    """
    ct_prime, w1, w2, _, direction, height, diameter = map(float, point)
    formulas = PHYSICS[physics]
    narrowest = float(turbine(ct_prime, w1, w2, diameter, formulas).eps) * diameter
    rules = QuadratureRules(formulas, grid, height_terms(height, narrowest, grid))
    positions, target = layout(direction)
    # One shape for every direction, so that it is compiled once.
    padded = np.zeros((MOST_TURBINES, 2))
    padded[: len(positions)] = positions
    speeds = _speeds(jnp.asarray(point), padded, len(positions), target, rules)
    u0, uf = map(float, speeds)
    return u0, uf


@partial(jax.jit, static_argnames="rules")
def _speeds(point: Any, positions: Any, count: Any, target: Any, rules: QuadratureRules) -> Any:
    ct_prime, w1, w2, turbulence, direction, height, diameter = point
    angle = direction * (math.pi / 180.0)
    cos, sin = jnp.cos(angle), jnp.sin(angle)
    x, y = positions.T
    real = jnp.arange(len(positions)) < count
    down = jnp.where(real, x * cos - y * sin, FAR)
    cross = jnp.where(real, x * sin + y * cos, 0.0)
    at = Positions(down, cross, count, cos, sin)
    kind = turbine(ct_prime, w1, w2, diameter, rules.physics)
    wakes = propagate(kind, turbulence, at, rules.physics)
    farm = mean_speed(kind, wakes, at, height, rules)
    return jnp.stack([wakes.speed[target], farm])
