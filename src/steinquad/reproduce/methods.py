"""The problems, methods and designs of the paper, by the names that specs and records use."""

from collections.abc import Callable, Mapping, Sequence
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
from steinquad.problems import Problem, genz, goodwin, wind_farm
from steinquad.problems.genz import FAMILIES
from steinquad.problems.goodwin import PARAMETERS
from steinquad.stein import multipliers
from steinquad.training.lbfgs import LBFGS

__all__ = [
    "CHAINS",
    "COSTLY",
    "DESIGNS",
    "METHODS",
    "PROBLEMS",
    "build_method",
    "build_problem",
    "designs_of",
    "takes_steps",
]

# Problems whose points or values are kept for all methods, with their number of coordinates.
COSTLY: Mapping[str, int] = {**{f"goodwin-{name}": 4 for name in PARAMETERS}, "wind-farm": 7}
PROBLEMS = (*(f"genz-{family}" for family in FAMILIES), *COSTLY)
# Options of `goodwin_mala`: as in the paper, from one draw of the prior and with nothing dropped,
# or so that no chain is caught on its way and none of the way is kept.
CHAINS: Mapping[str, Mapping[str, int]] = {
    "mala": {"warmup": 0, "candidates": 1},
    "mala-warm": {"warmup": 2000, "candidates": 20},
}
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


def _scaled(c: Any) -> Entry:
    # In w as it is: standardizing would do what C is there for.
    return _published(multiplier=multipliers.Constant(c), standardize="none")


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
    "BSN.paper C=1": _scaled(1.0),
    "BSN.paper C=std": _scaled("std"),
    "BSN.paper C=max": _scaled("max"),
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


def designs_of(problem: str) -> Sequence[str]:
    """Where the points of a problem can be placed."""
    if problem.startswith("goodwin-"):
        return tuple(CHAINS)
    return ("iid",) if problem in COSTLY else tuple(DESIGNS)


def build_problem(name: str, d: int) -> Problem[float]:
    """The integral of that name in d dimensions."""
    family, _, member = name.partition("-")
    if family == "goodwin":
        return _parameter(PARAMETERS.index(member))
    return wind_farm() if name == "wind-farm" else genz(member, d)


def _parameter(column: int) -> Problem[float]:
    """The posterior mean of one parameter of the Goodwin oscillator."""
    whole = goodwin()
    return Problem(
        name=f"{whole.name}-{PARAMETERS[column]}",
        integrand=lambda w: whole.integrand(w)[:, column],
        measure=whole.measure,
        truth=float(whole.truth[column]),
        source=whole.source,
    )
