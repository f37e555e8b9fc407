"""Bayesian numerical integration with Stein networks.

Give an integrand and a distribution, or draws with values and scores, and get the expectation with
an error bar from far fewer evaluations than Monte Carlo needs.
"""

from steinquad import problems
from steinquad._api import estimate, integrate
from steinquad.dataset import Dataset
from steinquad.errors import InputError
from steinquad.estimate import Estimate, Status
from steinquad.estimators.bsn import BSN
from steinquad.estimators.monte_carlo import MonteCarlo
from steinquad.measures import Draws, LogDensity, Product, Truncated
from steinquad.stein import multipliers
from steinquad.support import Support
from steinquad.training.lbfgs import LBFGS

__version__ = "0.1.0"

__all__ = [
    "BSN",
    "LBFGS",
    "Dataset",
    "Draws",
    "Estimate",
    "InputError",
    "LogDensity",
    "MonteCarlo",
    "Product",
    "Status",
    "Support",
    "Truncated",
    "estimate",
    "integrate",
    "multipliers",
    "problems",
]
