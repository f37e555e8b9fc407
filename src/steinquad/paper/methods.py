"""The problems, methods and designs of the paper, by the names that specs and records use."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from steinquad.designs import IID, Design, Grid, Sobol
from steinquad.kernels import RBF, Matern
from steinquad.kernels.stein_kernel import RadialRBF
from steinquad.methods.base import Method
from steinquad.methods.bayesian_quadrature import BayesianQuadrature
from steinquad.methods.bsn import BSN
from steinquad.methods.choose import Choose
from steinquad.methods.control_functional import ControlFunctional
from steinquad.methods.monte_carlo import MonteCarlo
from steinquad.paper.training import Training
from steinquad.problems import Problem, genz, goodwin, wind_farm
from steinquad.problems.genz import FAMILIES
from steinquad.problems.goodwin import PARAMETERS
from steinquad.stein import multipliers
from steinquad.training.adam import Adam
from steinquad.training.gauss_newton import GaussNewton
from steinquad.training.hessian_free import HessianFree
from steinquad.training.lbfgs import LBFGS
from steinquad.training.optimizer import Optimizer

__all__ = [
    "CHAINS",
    "COSTLY",
    "DESIGNS",
    "DIMENSIONS",
    "METHODS",
    "PROBLEMS",
    "build_method",
    "build_problem",
    "designs_of",
    "takes_steps",
]

# Problems whose points or values are kept for all methods.
COSTLY = (*(f"goodwin-{name}" for name in PARAMETERS), "wind-farm")
ONE_INPUT = "wind-farm-direction"  # the others nominal
PROBLEMS = (*(f"genz-{family}" for family in FAMILIES), *COSTLY, ONE_INPUT)
# Of the problems that have not any number of coordinates.
DIMENSIONS: Mapping[str, int] = {**dict.fromkeys(COSTLY, 4), "wind-farm": 7, ONE_INPUT: 1}
# Options of `goodwin_mala`: as in the paper, from one draw of the prior and with nothing dropped,
# or so that no chain is caught on its way and none of the way is kept.
CHAINS: Mapping[str, Mapping[str, int]] = {
    "mala": {"warmup": 0, "candidates": 1},
    "mala-warm": {"warmup": 2000, "candidates": 20},
}
DESIGNS: Mapping[str, Design] = {"iid": IID(), "sobol": Sobol(), "grid": Grid()}


@dataclass(frozen=True)
class Entry:
    """How to build a method: a class or constructor, and the options it is called with.

    Built for each run and not once, because a class or an optimizer may be given another number of
    steps.

    Attributes:
        build: what is called.
        options: keyword arguments of that call.
    """

    build: Callable[..., Method | Training]
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


# Of the paper's network; Gauss-Newton is ours.
OPTIMIZERS: Mapping[str, Optimizer] = {
    "Adam": Adam(),
    "Adam 32": Adam(batch=32),
    "L-BFGS": LBFGS(max_steps=10_000, rtol=0.0),
    "Hessian-free": HessianFree(),
}


def _trainings() -> dict[str, Entry]:
    published = {
        f"{network} {optimizer}{suffix}": Entry(
            Training,
            {
                "stein": network == "BSN",
                "optimizer": OPTIMIZERS[optimizer],
                "activation": activation,
            },
        )
        for activation, suffix in (("celu", ""), ("relu", " ReLU"))
        for network in ("BSN", "plain")
        for optimizer in OPTIMIZERS
    }
    ours: dict[str, Any] = {"activation": "tanh", "width": 16, "depth": 2}
    default = Entry(Training, {"stein": True, "optimizer": GaussNewton(patience=1000), **ours})
    return {**published, "BSN default Gauss-Newton": default}


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
    **_trainings(),
}


def takes_steps(name: str) -> bool:
    """Whether the answer of a method, a key of `METHODS`, depends on the setting `max_steps`.

    True for the published network and for trainings that are followed. Only their runs carry that
    setting, so a record of another method serves whatever the number is.
    """
    return METHODS[name].build in (BSN.paper, Training)


def build_method(name: str, max_steps: int | None = None) -> Method | Training:
    """The method of that name, as the paper has it.

    Args:
        name: a key of `METHODS`.
        max_steps: of training, for a network that takes a number; ignored by the others.
    """
    entry = METHODS[name]
    options = dict(entry.options)
    if max_steps is not None and takes_steps(name):
        optimizer = options.get("optimizer", LBFGS(rtol=0.0))
        options["optimizer"] = replace(optimizer, max_steps=max_steps)
    return entry.build(**options)


def designs_of(problem: str) -> Sequence[str]:
    """The names of the designs that a problem can have: chains for Goodwin, draws for farms.

    Genz families and the wind farm of one input, which are cheap to evaluate at any points, can
    have any of `DESIGNS`.

    Args:
        problem: one of `PROBLEMS`.
    """
    if problem.startswith("goodwin-"):
        return tuple(CHAINS)
    return ("iid",) if problem in COSTLY else tuple(DESIGNS)


def build_problem(name: str, d: int) -> Problem[float]:
    """The integral of that name, one of `PROBLEMS`, in d dimensions.

    `d` counts for the Genz families only; `DIMENSIONS` has that of the others.

    Returns:
        Integrand, measure and true value; of the Goodwin oscillator one parameter, whose posterior
        mean is the integral.
    """
    family, _, member = name.partition("-")
    if family == "goodwin":
        return _parameter(PARAMETERS.index(member))
    if family == "wind":
        return wind_farm(inputs="direction") if name == ONE_INPUT else wind_farm()
    return genz(member, d)


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
