"""Bayesian numerical integration with Stein networks.

Give an integrand and a distribution, or draws with values and scores, and get the expectation with
an error bar from far fewer evaluations than Monte Carlo needs.
"""

from steinquad import designs, kernels, problems, report
from steinquad.api import estimate, integrate
from steinquad.chains import PosteriorSummary, posterior_expectation, targets
from steinquad.dataset import Dataset
from steinquad.errors import InputError
from steinquad.estimate import Estimate
from steinquad.fit import Check, Context, Fit, Status
from steinquad.measures import Draws, LogDensity, Product, Truncated
from steinquad.methods.base import Method
from steinquad.methods.bayesian_quadrature import BayesianQuadrature
from steinquad.methods.bsn import BSN
from steinquad.methods.control_functional import ControlFunctional
from steinquad.methods.monte_carlo import MonteCarlo
from steinquad.methods.polynomial import Polynomial
from steinquad.methods.polynomial_chaos import PolynomialChaos
from steinquad.methods.quasi_monte_carlo import QuasiMonteCarlo
from steinquad.methods.regression import Regression
from steinquad.methods.stack import Stack
from steinquad.methods.subset import Subset
from steinquad.points import Points
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
    "Command",
    "Context",
    "ControlFunctional",
    "Dataset",
    "Draws",
    "Estimate",
    "Features",
    "Fit",
    "GaussNewton",
    "HessianFree",
    "InputError",
    "LogDensity",
    "Method",
    "MonteCarlo",
    "Points",
    "Polynomial",
    "PolynomialChaos",
    "PosteriorSummary",
    "Product",
    "QuasiMonteCarlo",
    "Regression",
    "Stack",
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
    "report",
    "targets",
]
