"""The expected thrust of a turbine in a large wind farm, the paper's costly simulator.

f(x) = C_T' (U_T / U_F)^2 is the local thrust coefficient of a turbine with neighbors on a square
grid: U_T = (1 - a) U_0 with U_0 the wind speed that meets it, U_F the mean speed in the cell
between it and its upwind neighbor. The wind speeds are PyWake's.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from steinquad._types import Array, Progress, no_progress
from steinquad.errors import InputError
from steinquad.problems import wind_farm_jax, wind_farm_pywake
from steinquad.problems.problem import Problem
from steinquad.problems.wind_farm_inputs import (
    NAMES,
    as_inputs,
    direction_distribution,
    input_distributions,
)
from steinquad.problems.wind_farm_layout import FULL_GRID, AveragingGrid

__all__ = ["TRUTHS", "ThrustCoefficient", "thrust_coefficient", "truth_of", "wind_farm"]

SIMULATORS: dict[str, Callable[[Array, str, AveragingGrid], tuple[float, float]]] = {
    "jax": wind_farm_jax.simulate,
    "pywake": wind_farm_pywake.simulate,
}
CHOICES = {
    "physics": ("p22", "p26"),
    "direction_truncation": ("whole", "components"),
    "turbulence": ("paper", "code"),
    "inputs": ("all", "direction"),
    "simulator": tuple(SIMULATORS),
}

# By (physics, direction_truncation, turbulence, inputs): the integral and its standard error.
# Seven inputs by scrambled Sobol points, of an earlier program (32,768 for the first; "components"
# and "code" known to four digits) or for p26 of the command (8,192 and 16,384); one input by Gauss
# rules on short pieces of [0, 45] degrees.
TRUTHS: dict[tuple[str, ...], tuple[float, float]] = {
    ("p22", "whole", "paper", "all"): (0.72928, 9e-6),
    ("p26", "whole", "paper", "all"): (0.73584, 2.4e-5),
    ("p22", "components", "paper", "all"): (0.7134, 5e-5),
    ("p22", "whole", "code", "all"): (0.7517, 5e-5),
    ("p22", "whole", "paper", "direction"): (0.746083, 1e-6),
    ("p26", "whole", "paper", "direction"): (0.751083, 1e-6),
}
UNKNOWN = (math.nan, math.nan)


@dataclass(frozen=True)
class ThrustCoefficient:
    """The integrand, a batch of points (n, d) -> (n,).

    Args:
        physics: "p22" is what PyWake 2.2 to 2.4 computes, and the paper; "p26" is PyWake 2.6.
        simulator: "jax", about 10 CPU ms a point, or "pywake", 14 CPU s a point.
        grid: points over which U_F is averaged.
        columns: the inputs that x has, in the order of `NAMES`; the others are nominal.

    >>> f = ThrustCoefficient(columns=("direction",))
    >>> f([[10.0], [30.0]]).round(3)
    array([0.759, 0.77 ])
    """

    physics: str = "p22"
    simulator: str = "jax"
    grid: AveragingGrid = FULL_GRID
    columns: tuple[str, ...] = NAMES

    def __post_init__(self) -> None:
        for name in ("physics", "simulator"):
            _check(name, getattr(self, name))
        if self.simulator == "pywake":
            wind_farm_pywake.require_pywake()

    def __call__(self, x: Any, *, progress: Progress | None = None) -> Array:
        """f at x (n, k), as (n,); `progress` is called with (points done, points, last value)."""
        points = as_inputs(x, self.columns)
        report, values = progress or no_progress, np.empty(len(points))
        for i, point in enumerate(points):
            speeds = SIMULATORS[self.simulator](point, self.physics, self.grid)
            values[i] = thrust_coefficient(float(point[0]), *speeds)
            report(i + 1, len(points), values[i])
        return values


def thrust_coefficient(ct_prime: float, u0: float, uf: float) -> float:
    """`C_T* = C_T' (U_T / U_F)^2` with `U_T = (1 - a) U_0` and `a = C_T' / (4 + C_T')`.

    Args:
        ct_prime: resistance coefficient C_T' of the turbines.
        u0: wind speed U_0 that meets the target turbine.
        uf: mean wind speed U_F of the farm.
    """
    return ct_prime * (4.0 / (4.0 + ct_prime) * u0 / uf) ** 2


def wind_farm(
    *,
    physics: str = "p22",
    direction_truncation: str = "whole",
    turbulence: str = "paper",
    inputs: str = "all",
    simulator: str = "jax",
) -> Problem:
    """Expected thrust coefficient C_T* of a wind farm under seven uncertain inputs.

    Args:
        physics: "p22", the formulas of PyWake 2.2 to 2.4 that the paper must have used, or "p26",
            those of PyWake 2.6.
        direction_truncation: the wind direction is a mixture of three Gaussians cut to
            [0, 45] degrees: "whole", or each of the "components" by itself, which leaves the
            weights as they are.
        turbulence: the ambient turbulence as in the "paper", N(0.1, 0.003) cut at 0, or as in the
            authors' "code", N(1.33, 0.1), with which f is nearly a function of C_T' alone.
        inputs: "all" seven, or the "direction" only, with the other six at the means of their
            Gaussians.
        simulator: "jax", the same formulas at about 10 CPU ms a point, or "pywake", the real one
            at 14 CPU s a point (extra `wind`).

    The truth is NaN for variants that nobody has computed; `steinquad truth wind-farm` does it.

    >>> problem = wind_farm()
    >>> problem.measure.names
    ('ct_prime', 'w1', 'w2', 'turbulence', 'direction', 'hub_height', 'diameter')
    >>> round(problem.truth, 4)
    0.7293
    """
    variant = (physics, direction_truncation, turbulence, inputs)
    for name, value in zip(CHOICES, (*variant, simulator), strict=True):
        _check(name, value)
    if inputs == "all":
        columns, measure = NAMES, input_distributions(direction_truncation, turbulence)
    else:
        columns, measure = ("direction",), direction_distribution(direction_truncation)
        variant = (physics, direction_truncation, "paper", inputs)  # its mean is 0.1
    truth, std = TRUTHS.get(variant, UNKNOWN)
    known = "not known" if math.isnan(truth) else f"known to a standard error of {std:.1g}"
    return Problem(
        name="-".join(("wind-farm", *variant)),
        integrand=ThrustCoefficient(physics, simulator, columns=columns),
        measure=measure,
        truth=truth,
        source="Ott, Tiemann, Hennig and Briol (UAI 2023), appendix 1.4; "
        f"the truth is {known} (steinquad truth wind-farm computes it).",
    )


def truth_of(problem: Problem) -> tuple[float, float]:
    """The stored truth of one of these problems and its standard error.

    Both are NaN for a variant of `wind_farm` that nobody has computed; the stored numbers are
    `TRUTHS`.
    """
    return TRUTHS.get(tuple(problem.name.removeprefix("wind-farm-").split("-")), UNKNOWN)


def _check(name: str, value: Any) -> None:
    if value not in CHOICES[name]:
        raise InputError(f"{name} is {value!r}; choose one of {', '.join(CHOICES[name])}.")
