"""All that can train a network; every one has `fit`, `max_steps` and `pilot_steps`."""

from typing import TypeAlias

from steinquad.training.adam import Adam
from steinquad.training.gauss_newton import GaussNewton
from steinquad.training.hessian_free import HessianFree
from steinquad.training.lbfgs import LBFGS

__all__ = ["Optimizer"]

Optimizer: TypeAlias = GaussNewton | LBFGS | HessianFree | Adam
