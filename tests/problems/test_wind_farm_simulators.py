"""The wind farm in JAX against PyWake: stored rows, and the real simulator at new points."""

import csv
import hashlib
import subprocess
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from steinquad.problems import wind_farm_jax, wind_farm_pywake
from steinquad.problems.wind_farm import ThrustCoefficient, thrust_coefficient
from steinquad.problems.wind_farm_flow import Rules, mean_speed
from steinquad.problems.wind_farm_inputs import input_distributions
from steinquad.problems.wind_farm_layout import (
    COARSE_GRID,
    FULL_GRID,
    MOST_TURBINES,
    Grid,
    layout,
)
from steinquad.problems.wind_farm_wakes import PHYSICS, Positions, Turbine, Wakes

ROOT = Path(__file__).parents[2]
COLUMNS = ["ct_prime", "wake_1", "wake_2", "turbulence", "direction_deg", "hub_height", "diameter"]


def stored_rows():
    with (ROOT / "tests" / "data" / "wind_farm_pywake.csv").open() as file:
        return list(csv.DictReader(file))


def commit() -> str:
    """The commit that is checked out; outside a clone, a hash of the source files."""
    run = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    if run.returncode == 0:
        return run.stdout.strip()
    files = sorted((ROOT / "src").rglob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


@pytest.mark.slow
def test_all_stored_rows():
    rows = stored_rows()
    assert len(rows) == 28 and {row["physics"] for row in rows} == {"p22", "p26"}
    for row in rows:
        point = np.array([float(row[name]) for name in COLUMNS])
        grid = Grid(int(row["nx"]), int(row["ny"]), int(row["nz"]))
        u0, uf = wind_farm_jax.simulate(point, row["physics"], grid)
        assert u0 == pytest.approx(float(row["u_target"]), rel=1e-12)
        assert uf == pytest.approx(float(row["u_farm"]), rel=1e-12)
        value = thrust_coefficient(point[0], u0, uf)
        assert value == pytest.approx(float(row["ct_star"]), rel=1e-12)


@pytest.mark.parametrize("physics", ["p22", "p26"])
def test_the_real_simulator_at_a_point_of_this_commit(physics):
    seed = int(commit()[:8], 16)
    x = input_distributions("whole", "paper").sample(1, seed=seed)
    fast = ThrustCoefficient(physics, "jax", COARSE_GRID)(x)
    real = ThrustCoefficient(physics, "pywake", COARSE_GRID)(x)
    assert fast == pytest.approx(real, rel=1e-10), f"seed {seed} from commit {commit()}, x = {x}"


@pytest.mark.parametrize("physics", ["p22", "p26"])
@pytest.mark.parametrize(
    "point",
    [
        # Hardly any ambient turbulence: narrow wakes, narrower than the rotors for small C_T'.
        [0.2, 0.38, 4e-3, 1e-4, 30.0, 100.0, 100.0],
        [1.2, 0.38, 4e-3, 1e-3, 12.0, 100.0, 100.0],
        [3.5, 0.38, 4e-3, 0.1, 45.0, 100.0, 100.0],
        [1.33, 0.38, 4e-3, 1.33, 0.0, 100.0, 100.0],  # along the rows, the code's turbulence
        [1.33, 0.3, 0.01, 0.05, 20.0, 140.0, 60.0],
    ],
)
def test_the_real_simulator_at_extreme_points(physics, point):
    fast = wind_farm_jax.simulate(np.array(point), physics, COARSE_GRID)
    real = wind_farm_pywake.simulate(np.array(point), physics, COARSE_GRID)
    assert fast == pytest.approx(real, rel=1e-10)


def test_the_mean_speed_is_that_over_all_points():
    """Gauss rules stand in for most of 40,000 points: the sum of one wake by plain NumPy."""
    kind = Turbine(0.75, 0.245, 100.0, 0.38, 4e-3)
    grid = FULL_GRID
    cos, sin = np.cos(0.3), np.sin(0.3)
    rules = Rules(PHYSICS["p22"], grid, 32)
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


def test_layout_fits_its_array_and_has_the_target():
    counts = set()
    for direction in np.linspace(0.0, 45.0, 1801):
        positions = layout(direction)
        counts.add(len(positions))
        assert ((positions == 0).all(axis=1)).sum() == 1
    assert min(counts) == 154 and max(counts) == 181 <= MOST_TURBINES
