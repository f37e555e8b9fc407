"""The problems, methods and designs of the paper, by the names that specs and records use."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import steinquad as sq
from steinquad.designs import IID, Design, Grid, Sobol
from steinquad.kernels import RBF, Matern
from steinquad.kernels.stein_kernel import RadialRBF
from steinquad.paper.training import Training
from steinquad.problems import FAMILIES, Problem, genz, goodwin, wind_farm
from steinquad.problems.goodwin import PARAMETERS
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


# As in the paper: likelihood, one lengthscale, a prior mean of zero.
QUADRATURE = partial(
    sq.BayesianQuadrature, lengthscales="isotropic", mean="zero", criterion="likelihood"
)
# In w as it is: standardizing would do what C is there for.
SCALED = partial(sq.BSN.paper, standardize="none")

# Of the paper's network; Gauss-Newton is ours.
OPTIMIZERS: Mapping[str, Optimizer] = {
    "Adam": sq.Adam(),
    "Adam 32": sq.Adam(batch=32),
    "L-BFGS": sq.LBFGS(max_steps=10_000, rtol=0.0),
    "Hessian-free": sq.HessianFree(),
}


TRAININGS = {
    f"{network} {optimizer}{suffix}": partial(
        Training, stein=network == "BSN", optimizer=OPTIMIZERS[optimizer], activation=activation
    )
    for activation, suffix in (("celu", ""), ("relu", " ReLU"))
    for network in ("BSN", "plain")
    for optimizer in OPTIMIZERS
}
OURS = partial(Training, stein=True, activation="tanh", width=16, depth=2)

# Built for each run and not once, because an optimizer may be given another number of steps.
METHODS: Mapping[str, partial[Any]] = {
    "MC": partial(sq.MonteCarlo),
    "BQ": partial(QUADRATURE, kernel=RBF()),
    "BQ Matern 1/2": partial(QUADRATURE, kernel=Matern(0.5)),
    "Stein-CF": partial(sq.ControlFunctional, kernel=RadialRBF(), criterion="likelihood"),
    "BSN.paper": partial(sq.BSN.paper),
    "Default": partial(sq.Stack),  # what `sq.integrate` does by itself
    "BSN.paper tanh": partial(sq.BSN.paper, activation="tanh"),
    "BSN.paper Gauss": partial(sq.BSN.paper, activation="gauss"),
    "BSN.paper sigmoid": partial(sq.BSN.paper, activation="sigmoid"),
    "BSN.paper TanhShrink": partial(sq.BSN.paper, activation="tanhshrink"),
    "BSN.paper width 64": partial(sq.BSN.paper, width=64),
    "BSN.paper h=16, l=1": partial(sq.BSN.paper, width=16, depth=2),
    "BSN.paper h=16, l=2": partial(sq.BSN.paper, width=16),
    "BSN.paper h=32, l=1": partial(sq.BSN.paper, depth=2),
    "BSN.paper h=64, l=1": partial(sq.BSN.paper, width=64, depth=2),
    "BSN.paper h=32, l=4": partial(sq.BSN.paper, depth=5),
    "BSN.paper m=1/(|x|^2+1)": partial(sq.BSN.paper, multiplier=sq.multipliers.InverseQuadratic()),
    "BSN.paper m=1/sqrt(|x|^2+1)": partial(sq.BSN.paper, multiplier=sq.multipliers.InverseRoot()),
    "BSN.paper m=pi(x)": partial(sq.BSN.paper, multiplier=sq.multipliers.Density()),
    "BSN.paper m=diag(x)": partial(sq.BSN.paper, multiplier=sq.multipliers.Coordinate()),
    "BSN.paper C=1": partial(SCALED, multiplier=sq.multipliers.Constant(1.0)),
    "BSN.paper C=std": partial(SCALED, multiplier=sq.multipliers.Constant("std")),
    "BSN.paper C=max": partial(SCALED, multiplier=sq.multipliers.Constant("max")),
    **TRAININGS,
    "BSN default Gauss-Newton": partial(OURS, optimizer=sq.GaussNewton(patience=1000)),
}


def takes_steps(name: str) -> bool:
    """Whether the answer of a method, a key of `METHODS`, depends on the setting `max_steps`.

    True for the published network and for trainings that are followed. Only their runs carry that
    setting, so a record of another method serves whatever the number is.
    """
    # By equality: each access to a class method makes another object.
    return METHODS[name].func in (sq.BSN.paper, Training)


def build_method(name: str, max_steps: int | None = None) -> sq.Method | Training:
    """The method of that name, as the paper has it.

    Args:
        name: a key of `METHODS`.
        max_steps: of training, for a network that takes a number; ignored by the others.
    """
    method = METHODS[name]
    if max_steps is None or not takes_steps(name):
        return method()
    # Else that of `BSN.paper`, which is called without one.
    optimizer = method.keywords.get("optimizer", sq.LBFGS(rtol=0.0))
    return method(optimizer=replace(optimizer, max_steps=max_steps))


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
    if family == "genz":
        return genz(member, d)
    if family == "wind":
        return wind_farm(inputs="direction") if name == ONE_INPUT else wind_farm()
    whole, column = goodwin(), PARAMETERS.index(member)
    return Problem(
        name=f"{whole.name}-{member}",
        integrand=lambda w: whole.integrand(w)[:, column],
        measure=whole.measure,
        truth=float(whole.truth[column]),
        source=whole.source,
    )
