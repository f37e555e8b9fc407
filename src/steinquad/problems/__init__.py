"""Integrals with a known answer."""

from steinquad.problems.genz import FAMILIES, genz
from steinquad.problems.problem import Problem

__all__ = ["FAMILIES", "Problem", "genz"]
