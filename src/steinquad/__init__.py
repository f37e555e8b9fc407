"""Bayesian numerical integration with Stein networks.

Give an integrand and a distribution, or draws with values and scores, and get the expectation with
an error bar from far fewer evaluations than Monte Carlo needs.
"""

from steinquad import designs, kernels, problems
from steinquad._api import estimate, integrate
from steinquad.chains import PosteriorSummary, posterior_expectation, targets
from steinquad.dataset import Dataset
from steinquad.errors import InputError
from steinquad.estimate import Check, Estimate, Status
from steinquad.estimators.bayesian_quadrature import BayesianQuadrature
from steinquad.estimators.bsn import BSN
from steinquad.estimators.choose import Choose
from steinquad.estimators.control_functional import ControlFunctional
from steinquad.estimators.monte_carlo import MonteCarlo
from steinquad.estimators.polynomial import Polynomial
from steinquad.estimators.quasi_monte_carlo import QuasiMonteCarlo
from steinquad.estimators.regression import Regression
from steinquad.estimators.subset import Subset
from steinquad.measures import Draws, LogDensity, Product, Truncated
from steinquad.stein import multipliers
from steinquad.stein.features import Features
from steinquad.studies import Command, Study
from steinquad.summaries import Statistic, distribution
from steinquad.support import Support
from steinquad.training.adam import Adam
from steinquad.training.gauss_newton import GaussNewton
from steinquad.training.hessian_free import HessianFree
from steinquad.training.lbfgs import LBFGS

__version__ = "0.1.0"

__all__ = [
    "BSN",
    "LBFGS",
    "Adam",
    "BayesianQuadrature",
    "Check",
    "Choose",
    "Command",
    "ControlFunctional",
    "Dataset",
    "Draws",
    "Estimate",
    "Features",
    "GaussNewton",
    "HessianFree",
    "InputError",
    "LogDensity",
    "MonteCarlo",
    "Polynomial",
    "PosteriorSummary",
    "Product",
    "QuasiMonteCarlo",
    "Regression",
    "Statistic",
    "Status",
    "Study",
    "Subset",
    "Support",
    "Truncated",
    "designs",
    "distribution",
    "estimate",
    "integrate",
    "kernels",
    "multipliers",
    "posterior_expectation",
    "problems",
    "targets",
]
