"""Where the turbines of the wind farm stand."""

import numpy as np
import pytest

from steinquad.problems.wind_farm_layout import (
    COARSE_GRID,
    FULL_GRID,
    MOST_TURBINES,
    SPACING,
    layout,
)


def test_layout_fits_its_array_and_has_the_target():
    counts = set()
    for direction in np.linspace(0.0, 45.0, 1801):
        positions, target = layout(direction)
        counts.add(len(positions))
        assert ((positions == 0).all(axis=1)).sum() == 1 and np.all(positions[target] == 0)
    assert min(counts) == 154 and max(counts) == 181 <= MOST_TURBINES


@pytest.mark.parametrize("direction", [0.0, 10.0, 45.0])
def test_turbines_come_in_downwind_order_on_a_square_grid(direction):
    positions, target = layout(direction)
    angle = np.radians(direction)
    down = positions @ [np.cos(angle), -np.sin(angle)]
    assert np.all(np.diff(down) > -1e-9) and np.all(down[: target + 1] <= 1e-9)
    np.testing.assert_array_equal(positions % SPACING, 0.0)
    assert len(np.unique(positions, axis=0)) == len(positions)


@pytest.mark.parametrize("grid", [COARSE_GRID, FULL_GRID])
def test_the_box_reaches_from_the_upwind_neighbor_to_the_target(grid):
    assert (grid.x[0], grid.x[-1], len(grid.x)) == (-SPACING, 0.0, grid.nx)
    assert (grid.y[0], grid.y[-1], len(grid.y)) == (-SPACING / 2, SPACING / 2, grid.ny)
    assert (grid.z[0], grid.z[-1], len(grid.z)) == (0.0, 250.0, grid.nz)
