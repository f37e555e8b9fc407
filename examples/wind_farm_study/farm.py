"""The wind farm of the paper as the integrand of a study: a batch of points (n, 7) -> (n,).

`thrust` has the formulas in JAX, 10 CPU ms a point. For the simulator PyWake itself, 14 CPU s a
point (extra `wind`), let the study call `thrust_by_pywake`, with `batch = 1`.
"""

import numpy as np

from steinquad.problems.wind_farm import ThrustCoefficient

thrust = ThrustCoefficient()


def thrust_by_pywake(x: np.ndarray) -> np.ndarray:
    return ThrustCoefficient(simulator="pywake")(x)
