"""Integrals with a known answer."""

from steinquad.problems.genz import FAMILIES, genz
from steinquad.problems.goodwin import goodwin
from steinquad.problems.goodwin_chains import goodwin_mala, goodwin_nuts
from steinquad.problems.problem import Problem

__all__ = ["FAMILIES", "Problem", "genz", "goodwin", "goodwin_mala", "goodwin_nuts"]
