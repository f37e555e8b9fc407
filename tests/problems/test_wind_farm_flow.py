"""The mean wind speed over all points between the turbines."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from steinquad.problems.wind_farm_flow import (
    QuadratureRules,
    discrete_gauss,
    height_terms,
    mean_speed,
)
from steinquad.problems.wind_farm_layout import COARSE_GRID, FULL_GRID
from steinquad.problems.wind_farm_wakes import PHYSICS, Positions, Turbine, Wakes


def test_the_mean_speed_is_that_over_all_points():
    """Gauss rules stand in for most of 40,000 points: the sum of one wake by plain NumPy."""
    kind = Turbine(0.75, 0.245, 100.0, 0.38, 4e-3)
    grid = FULL_GRID
    cos, sin = np.cos(0.3), np.sin(0.3)
    rules = QuadratureRules(PHYSICS["p22"], grid, 32)
    speed = jax.jit(mean_speed, static_argnames="rules")
    x, y = grid.x[:, None], grid.y
    with jax.enable_x64(True):
        for k, at, off in [(0.04, -700.0, 20.0), (0.008, -6000.0, 150.0), (0.06, -2500.0, -300.0)]:
            down, cross = jnp.array([at]), jnp.array([off])
            wakes = Wakes(jnp.array([8.0]), jnp.array([k]))
            positions = Positions(down, cross, 1, cos, sin)
            got = speed(kind, wakes, positions, 101.0, rules)
            d, c = x * cos - y * sin - at, x * sin + y * cos - off
            sigma = k * d + 24.5
            depth = 1 - np.sqrt(np.maximum(1 - 0.75 * 100.0**2 / (8 * sigma**2), 0.0))
            z = np.mean(np.exp(-((grid.z - 101.0) ** 2)[:, None, None] / (2 * sigma**2)), axis=0)
            lost = 8.0 * depth * np.exp(-(c**2) / (2 * sigma**2)) * z * (d > 0)
            assert 10.0 - float(got) == pytest.approx(lost.mean(), rel=1e-12)


@pytest.mark.parametrize(("points", "m"), [(200, 12), (40, 18), (20, 26)])
def test_a_discrete_rule_gives_the_mean_over_all_points(points, m):
    """Exact up to degree 2 m - 1, in Chebyshev polynomials; by all points where m is not less."""
    nodes, weights = discrete_gauss(points, m)
    assert len(nodes) == min(points, m) and weights.sum() == pytest.approx(1.0, rel=1e-13)
    every = np.linspace(-1.0, 1.0, points)
    for degree in range(2 * m):
        series = np.eye(2 * m)[degree]
        want = np.polynomial.chebyshev.chebval(every, series).mean()
        got = weights @ np.polynomial.chebyshev.chebval(nodes, series)
        assert got == pytest.approx(want, abs=1e-12)


def test_narrower_wakes_need_longer_series():
    lengths = [height_terms(100.0, narrowest, COARSE_GRID) for narrowest in (200.0, 50.0, 10.0)]
    assert lengths == sorted(set(lengths)) and all(n & (n - 1) == 0 for n in lengths)
