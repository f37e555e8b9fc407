"""Inputs of uqtestfuns, said with distributions of `scipy.stats`."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.stats as st

from steinquad.errors import InputError
from steinquad.measures.by_functions import Foreign, scalar_of

__all__ = ["from_uqtestfuns"]

# By the names of uqtestfuns, with its parameters in their order.
FAMILIES: dict[str, Callable[..., Any]] = {
    "beta": lambda a, b, low, high: st.beta(a, b, low, high - low),
    "exponential": lambda rate: st.expon(scale=1 / rate),
    "gumbel": lambda mu, beta: st.gumbel_r(mu, beta),
    "lognormal": lambda mu, sigma: st.lognorm(sigma, scale=np.exp(mu)),
    "normal": lambda mu, sigma: st.norm(mu, sigma),
    "triangular": lambda low, high, mode: st.triang((mode - low) / (high - low), low, high - low),
    "trunc-normal": lambda mu, sigma, low, high: st.truncnorm(
        (low - mu) / sigma, (high - mu) / sigma, mu, sigma
    ),
    "uniform": lambda low, high: st.uniform(low, high - low),
}


def from_uqtestfuns(obj: Any) -> Any:
    """A `ProbInput` or a `Marginal` of uqtestfuns as what `as_measure` takes.

    Args:
        obj: the input of a test function, `fun.prob_input`, or one of its marginals.

    Returns:
        For an input a dict of its marginals by their names, `x0, x1, ...` where these are missing
        or repeat; for a marginal the distribution of `scipy.stats`, or a measure by its own
        functions where there is none.
    """
    name = f"{type(obj).__name__} of uqtestfuns"
    if hasattr(obj, "prob_input"):
        raise InputError(f"measure is the function {name}; pass its input, fun.prob_input.")
    if hasattr(obj, "marginals"):
        if getattr(obj, "copulas", None):
            raise InputError(
                f"measure {name} has copulas, which uqtestfuns does not say how to draw from; "
                "leave them out."
            )
        names = [part.name for part in obj.marginals]
        if not all(names) or len(set(names)) < len(names):
            names = [f"x{i}" for i in range(len(names))]
        return dict(zip(names, map(_scalar, obj.marginals), strict=True))
    if hasattr(obj, "distribution") and hasattr(obj, "icdf"):
        return _scalar(obj)
    raise InputError(f"measure is a {name}; pass the input of a test function, fun.prob_input.")


def _scalar(marginal: Any) -> Any:
    def log_density(x: np.ndarray) -> Any:
        return np.log(np.asarray(marginal.pdf(x), dtype=np.float64))

    kind = str(marginal.distribution)
    foreign = Foreign(
        f"{kind} of uqtestfuns",
        log_density,
        marginal.cdf,
        marginal.icdf,
        float(marginal.lower),
        float(marginal.upper),
        "integrate over a uniform coordinate, sq.integrate(lambda u: f(measure.icdf(u)), "
        "scipy.stats.uniform(), ...)",
    )
    family = FAMILIES.get(kind)
    return scalar_of(foreign, None if family is None else lambda: family(*marginal.parameters))
