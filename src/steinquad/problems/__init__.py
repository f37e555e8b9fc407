"""Integrals with a known answer."""

from steinquad.problems.genz import FAMILIES, genz
from steinquad.problems.goodwin import goodwin
from steinquad.problems.goodwin_chains import goodwin_mala, goodwin_nuts
from steinquad.problems.problem import Problem
from steinquad.problems.wind_farm import ThrustCoefficient, wind_farm

__all__ = [
    "FAMILIES",
    "Problem",
    "ThrustCoefficient",
    "genz",
    "goodwin",
    "goodwin_mala",
    "goodwin_nuts",
    "wind_farm",
]
