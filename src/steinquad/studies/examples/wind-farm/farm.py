"""The wind farm of the paper as the integrand of a study, one point at a time."""

from collections.abc import Mapping

from steinquad.problems.wind_farm import ThrustCoefficient
from steinquad.problems.wind_farm_inputs import NAMES

__all__ = ["thrust", "thrust_by_pywake"]


def thrust(inputs: Mapping[str, float]) -> float:
    """Thrust coefficient of a turbine by the formulas in JAX, 10 CPU ms."""
    return _evaluate(ThrustCoefficient(), inputs)


def thrust_by_pywake(inputs: Mapping[str, float]) -> float:
    """The same by the simulator PyWake (extra `wind`), 14 CPU s."""
    return _evaluate(ThrustCoefficient(simulator="pywake"), inputs)


def _evaluate(integrand: ThrustCoefficient, inputs: Mapping[str, float]) -> float:
    return float(integrand([[inputs[name] for name in NAMES]])[0])
