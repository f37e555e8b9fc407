"""The real simulator at new points, against the one in JAX."""

import hashlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import steinquad as sq
from steinquad.problems import wind_farm_jax, wind_farm_pywake
from steinquad.problems.wind_farm import ThrustCoefficient, wind_farm
from steinquad.problems.wind_farm_inputs import input_distributions
from steinquad.problems.wind_farm_layout import COARSE_GRID

ROOT = Path(__file__).parents[2]


def commit() -> str:
    """The commit that is checked out; outside a clone, a hash of the source files."""
    run = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    if run.returncode == 0:
        return run.stdout.strip()
    files = sorted((ROOT / "src").rglob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


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


def test_without_pywake_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "py_wake", None)
    with pytest.raises(sq.InputError, match=r"pip install 'steinquad\[wind\]'"):
        wind_farm(simulator="pywake")
    assert wind_farm().integrand.simulator == "jax"
