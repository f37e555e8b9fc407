"""Integrals with a known answer."""

from steinquad.problems.genz import FAMILIES, genz
from steinquad.problems.problem import Problem
from steinquad.problems.wind_farm import ThrustCoefficient, wind_farm

__all__ = ["FAMILIES", "Problem", "ThrustCoefficient", "genz", "wind_farm"]
