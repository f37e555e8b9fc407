"""Where the turbines of the wind farm stand, and where its wind speed is averaged."""

import math
from typing import NamedTuple

import numpy as np

from steinquad._types import Array

__all__ = [
    "COARSE_GRID",
    "FULL_GRID",
    "MOST_TURBINES",
    "SPACING",
    "WIND_SPEED",
    "AveragingGrid",
    "layout",
]

WIND_SPEED = 10.0  # m/s, undisturbed
SPACING = 500.0  # m, along both axes
REACH, HALF_WIDTH = 10_000.0, 2_000.0  # m, upwind and to each side of the target turbine

# The most that `layout` returns for a direction in [0, 45] degrees is 181.
MOST_TURBINES = 192

X = SPACING * np.arange(-19.0, 3.0)
Y = SPACING * np.arange(-3.0, 17.0)
CANDIDATES = np.stack(np.meshgrid(X, Y, indexing="ij"), axis=-1).reshape(-1, 2)


class AveragingGrid(NamedTuple):
    """Numbers of points along x, y and z of the grid on which the wind speed is averaged."""

    nx: int
    ny: int
    nz: int

    @property
    def x(self) -> Array:
        """From the upwind neighbor of the target turbine to the target."""
        return np.linspace(-SPACING, 0.0, self.nx)

    @property
    def y(self) -> Array:
        """Half a spacing to both sides."""
        return np.linspace(-SPACING / 2, SPACING / 2, self.ny)

    @property
    def z(self) -> Array:
        """From the ground to 250 m, end points included: they count in the third digit."""
        return np.linspace(0.0, 250.0, self.nz)


FULL_GRID = AveragingGrid(200, 200, 20)
COARSE_GRID = AveragingGrid(20, 40, 20)


def layout(direction: float) -> tuple[Array, int]:
    """Positions (t, 2) of the turbines that count, downwind, and the row of the target, (0, 0).

    Args:
        direction: of the wind in degrees; it blows along (cos, -sin) of it.
    """
    cos, sin = math.cos(math.radians(direction)), math.sin(math.radians(direction))
    x, y = CANDIDATES.T
    upwind = -x * cos + y * sin
    keep = (upwind < REACH) & (np.abs(y * cos + x * sin) < HALF_WIDTH)
    positions = CANDIDATES[keep][np.argsort(-upwind[keep], kind="stable")]
    return positions, int(np.argmin(np.abs(positions).sum(axis=1)))
