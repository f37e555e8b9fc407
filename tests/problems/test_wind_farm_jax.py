"""The wind farm in JAX against rows that PyWake computed."""

import csv
from pathlib import Path

import numpy as np
import pytest

from steinquad.problems import wind_farm_jax
from steinquad.problems.wind_farm import thrust_coefficient
from steinquad.problems.wind_farm_layout import AveragingGrid

FILE = Path(__file__).parents[1] / "data" / "wind_farm_pywake.csv"
COLUMNS = ["ct_prime", "wake_1", "wake_2", "turbulence", "direction_deg", "hub_height", "diameter"]


def stored_rows():
    with FILE.open() as file:
        return list(csv.DictReader(file))


@pytest.mark.slow
def test_all_stored_rows():
    rows = stored_rows()
    assert len(rows) == 28 and {row["physics"] for row in rows} == {"p22", "p26"}
    for row in rows:
        point = np.array([float(row[name]) for name in COLUMNS])
        grid = AveragingGrid(int(row["nx"]), int(row["ny"]), int(row["nz"]))
        u0, uf = wind_farm_jax.simulate(point, row["physics"], grid)
        assert u0 == pytest.approx(float(row["u_target"]), rel=1e-12)
        assert uf == pytest.approx(float(row["u_farm"]), rel=1e-12)
        value = thrust_coefficient(point[0], u0, uf)
        assert value == pytest.approx(float(row["ct_star"]), rel=1e-12)
