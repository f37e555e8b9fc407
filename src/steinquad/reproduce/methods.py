"""The problems, methods and designs of the paper, by the names that specs and records use."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from steinquad.designs import IID, Design, Grid, Sobol
from steinquad.estimators.base import Method
from steinquad.estimators.bayesian_quadrature import BayesianQuadrature
from steinquad.estimators.bsn import BSN
from steinquad.estimators.choose import Choose
from steinquad.estimators.control_functional import ControlFunctional
from steinquad.estimators.monte_carlo import MonteCarlo
from steinquad.kernels import RBF, Matern
from steinquad.kernels.stein_kernel import RadialRBF
from steinquad.problems import Problem, genz
from steinquad.problems.genz import FAMILIES
from steinquad.stein import multipliers
from steinquad.training.lbfgs import LBFGS

__all__ = ["DESIGNS", "METHODS", "PROBLEMS", "build_method", "build_problem", "takes_steps"]

PROBLEMS = tuple(f"genz-{family}" for family in FAMILIES)
DESIGNS: Mapping[str, Design] = {"iid": IID(), "sobol": Sobol(), "grid": Grid()}


@dataclass(frozen=True)
class Entry:
    """How to build a method."""

    build: Callable[..., Method]
    options: Mapping[str, Any] = field(default_factory=dict)


def _quadrature(kernel: Any) -> Entry:
    # As in the paper: likelihood, one lengthscale, a prior mean of zero.
    options = {"lengthscales": "isotropic", "mean": "zero", "criterion": "likelihood"}
    return Entry(BayesianQuadrature, {"kernel": kernel, **options})


def _published(**options: Any) -> Entry:
    return Entry(BSN.paper, options)


METHODS: Mapping[str, Entry] = {
    "MC": Entry(MonteCarlo),
    "BQ": _quadrature(RBF()),
    "BQ Matern 1/2": _quadrature(Matern(0.5)),
    "Stein-CF": Entry(ControlFunctional, {"kernel": RadialRBF(), "criterion": "likelihood"}),
    "BSN.paper": _published(),
    "Default": Entry(Choose),  # what `sq.integrate` does by itself
    "BSN.paper tanh": _published(activation="tanh"),
    "BSN.paper Gauss": _published(activation="gauss"),
    "BSN.paper sigmoid": _published(activation="sigmoid"),
    "BSN.paper TanhShrink": _published(activation="tanhshrink"),
    "BSN.paper width 64": _published(width=64),
    "BSN.paper h=16, l=1": _published(width=16, depth=2),
    "BSN.paper h=16, l=2": _published(width=16),
    "BSN.paper h=32, l=1": _published(depth=2),
    "BSN.paper h=64, l=1": _published(width=64, depth=2),
    "BSN.paper h=32, l=4": _published(depth=5),
    "BSN.paper m=1/(|x|^2+1)": _published(multiplier=multipliers.InverseQuadratic()),
    "BSN.paper m=1/sqrt(|x|^2+1)": _published(multiplier=multipliers.InverseRoot()),
    "BSN.paper m=pi(x)": _published(multiplier=multipliers.Density()),
    "BSN.paper m=diag(x)": _published(multiplier=multipliers.Coordinate()),
}


def takes_steps(name: str) -> bool:
    """Whether the answer of a method depends on the setting `max_steps`."""
    return METHODS[name].build == BSN.paper


def build_method(name: str, max_steps: int | None = None) -> Method:
    """The method of that name; `max_steps` of training for the published network."""
    entry = METHODS[name]
    options = dict(entry.options)
    if max_steps is not None and takes_steps(name):
        options["optimizer"] = LBFGS(max_steps=max_steps, rtol=0.0)
    return entry.build(**options)


def build_problem(name: str, d: int) -> Problem[float]:
    """The integral of that name in d dimensions."""
    return genz(name.removeprefix("genz-"), d)
