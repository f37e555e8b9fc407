"""The seven uncertain inputs of the wind farm: distributions, and where the model makes sense."""

import math
from typing import Any

import numpy as np
from scipy.special import ndtr

from steinquad._types import Array, as_finite
from steinquad.errors import InputError
from steinquad.measures.base import Measure
from steinquad.measures.convert import Product
from steinquad.measures.truncated import Truncated

__all__ = ["NAMES", "NOMINAL", "as_inputs", "direction_distribution", "input_distributions"]

# Name, mean of the paper's Gaussian (the direction has a mixture), physical range.
INPUTS = {
    "ct_prime": (1.33, 0.0, 4.0),  # C_T', resistance coefficient of a turbine; 4 is ct = 1
    "w1": (0.38, 0.0, 1.0),  # wake expansion for each unit of turbulence
    "w2": (4e-3, 0.0, 0.1),  # wake expansion without turbulence
    "turbulence": (0.1, 0.0, 5.0),  # TI, ambient intensity
    "direction": (math.nan, 0.0, 45.0),  # theta, degrees off the rows of turbines
    "hub_height": (100.0, 50.0, 200.0),  # m
    "diameter": (100.0, 50.0, 200.0),  # m
}
NAMES = tuple(INPUTS)
DIRECTION = NAMES.index("direction")
OPEN = np.array([name in ("ct_prime", "turbulence") for name in NAMES])  # undefined at the ends
NOMINAL, LOW, HIGH = np.array(list(INPUTS.values())).T  # NOMINAL is NaN for the direction

# The direction: weights are not in the paper.
WEIGHTS, MEANS, VARIANCES = (20.0, 25.0, 9.0), (0.0, 22.5, 33.75), (50.0, 40.0, 8.0)


def direction_distribution(truncation: str) -> Measure:
    """The wind direction: the paper's mixture on [0, 45] degrees.

    Args:
        truncation: "whole" cuts the mixture, "components" each Gaussian by itself, which leaves
            the weights as they are.

    >>> print(direction_distribution("whole").support)
    (0, 45)
    """
    import numpyro.distributions as nd

    from steinquad.measures.numpyro import NumpyroMeasure

    weights, loc, scale = np.array(WEIGHTS), np.array(MEANS), np.sqrt(VARIANCES)
    low, high = LOW[DIRECTION], HIGH[DIRECTION]
    if truncation == "components":
        # A component keeps its weight if it has more of it by what the cut takes away.
        weights = weights / (ndtr((high - loc) / scale) - ndtr((low - loc) / scale))
    chances = nd.Categorical(probs=weights / weights.sum())
    mixture = nd.MixtureSameFamily(chances, nd.Normal(loc, scale))
    return Truncated(NumpyroMeasure(mixture), low, high)


def input_distributions(truncation: str, turbulence: str) -> Product:
    """The paper's seven independent inputs, by name.

    Args:
        truncation: of the wind direction; see `direction_distribution`.
        turbulence: "paper", or "code" for the ambient turbulence of the authors' program.
    """
    import numpyro.distributions as nd

    def positive(name: str, variance: float, mean: float | None = None) -> Any:
        center = INPUTS[name][0] if mean is None else mean
        return nd.TruncatedNormal(center, math.sqrt(variance), low=0.0)

    return Product(
        {
            # The paper does not cut C_T', but f is undefined below 0 (1e-5 of its mass).
            "ct_prime": positive("ct_prime", 0.1),
            "w1": positive("w1", 1e-3),
            "w2": positive("w2", 1e-8),
            "turbulence": positive("turbulence", 3e-3)
            if turbulence == "paper"
            else positive("turbulence", 0.1, mean=1.33),
            "direction": direction_distribution(truncation),
            # Cut at 0 in the paper, a hundred standard deviations away.
            "hub_height": nd.Normal(INPUTS["hub_height"][0], math.sqrt(0.5)),
            "diameter": nd.Normal(INPUTS["diameter"][0], math.sqrt(0.1)),
        }
    )


def as_inputs(x: Any, columns: tuple[str, ...]) -> Array:
    """Points (n, 7) in the order of `NAMES`, checked against the physical ranges.

    Args:
        x: points (n, k), a column for each of `columns`; (n,) will do for one of them.
        columns: names of the inputs that x has; the others are at their nominal values.
    """
    given = as_finite("x", x)
    if given.ndim == 1 and len(columns) == 1:
        given = given[:, None]
    if given.ndim != 2 or given.shape[1] != len(columns):
        raise InputError(
            f"x has shape {given.shape}; pass points of shape (n, {len(columns)}) with the "
            f"column{'s' * (len(columns) > 1)} {', '.join(columns)}."
        )
    points = np.tile(NOMINAL, (len(given), 1))
    points[:, [NAMES.index(name) for name in columns]] = given
    outside = (points < LOW) | (points > HIGH) | OPEN & ((points == LOW) | (points == HIGH))
    if outside.any():
        row, column = (int(i) for i in np.argwhere(outside)[0])
        left, right = "()" if OPEN[column] else "[]"
        raise InputError(
            f"x has {NAMES[column]} = {points[row, column]:g} in row {row}, outside its physical "
            f"range {left}{LOW[column]:g}, {HIGH[column]:g}{right}; pass points of the problem's "
            "measure, or leave such rows out."
        )
    buried = points[:, 5] < points[:, 6] / 2
    if buried.any():
        row = int(np.flatnonzero(buried)[0])
        raise InputError(
            f"x has hub_height {points[row, 5]:g} and diameter {points[row, 6]:g} in row {row}, "
            "so the rotor touches the ground; pass a hub_height of at least half the diameter."
        )
    return points
