"""Distributions of chaospy, said with those of `scipy.stats`."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.stats as st

from steinquad.errors import InputError
from steinquad.measures.by_functions import Foreign, scalar_of

__all__ = ["from_chaospy"]

# Standard distributions of chaospy by the names of their classes, with chaospy's names of their
# parameters. These are shifted and scaled,
SHIFTED: dict[str, Callable[..., Any]] = {
    "cauchy": lambda loc, scale: st.cauchy(loc, scale),
    "chi": lambda loc, scale, df: st.chi(df, loc, scale),
    "chi_squared": lambda loc, scale, df, nc: (
        st.ncx2(df, nc, loc, scale) if nc else st.chi2(df, loc, scale)
    ),
    "gamma": lambda loc, scale, a: st.gamma(a, loc, scale),
    "inverse_gamma": lambda loc, scale, a: st.invgamma(a, loc, scale),
    "laplace": lambda loc, scale: st.laplace(loc, scale),
    "log_uniform": lambda loc, scale, lo, up: st.loguniform(np.exp(lo), np.exp(up), loc, scale),
    "log_weibull": lambda loc, scale: st.gumbel_r(loc, scale),
    "log_normal": lambda loc, scale, a: st.lognorm(a, loc, scale),
    "logistic": lambda loc, scale, c: (
        st.logistic(loc, scale) if c == 1 else st.genlogistic(c, loc, scale)
    ),
    "normal": lambda loc, scale: st.norm(loc, scale),
    "pareto1": lambda loc, scale, b: st.pareto(b, loc, scale),
    "pareto2": lambda loc, scale, c: st.lomax(c, loc, scale),
    "reciprocal": lambda loc, scale, lower, upper: st.loguniform(lower, upper, loc, scale),
    "student_t": lambda loc, scale, a: st.t(a, loc, scale),
    "trunc_normal": lambda loc, scale, a, b, mu, sigma: st.truncnorm(
        (a - mu) / sigma, (b - mu) / sigma, loc + scale * mu, scale * sigma
    ),
    "weibull": lambda loc, scale, a: st.weibull_min(a, loc, scale),
}
# and these are stretched between two sides.
BETWEEN: dict[str, Callable[..., Any]] = {
    "beta_": lambda low, high, a, b: st.beta(a, b, low, high - low),
    "triangle": lambda low, high, a: st.triang(a, low, high - low),
    "uniform": lambda low, high: st.uniform(low, high - low),
}


def from_chaospy(dist: Any) -> Any:
    """A chaospy distribution as one of `scipy.stats`, a dict of such, or a measure.

    Args:
        dist: scalar, `J` of independent ones, or `MvNormal`. Others whose coordinates depend on
            each other are refused with the line that integrates over independent ones.

    Returns:
        What `as_measure` takes: SciPy's distribution where it is the same one, which is checked,
        a measure by chaospy's functions where there is none, and a dict of these for several
        coordinates.
    """
    name, dim = f"{type(dist).__name__} of chaospy", _dim(dist)
    if not dim:
        raise InputError(f"measure is a {name}; pass a chaospy distribution, such as chaospy.J.")
    if getattr(dist, "interpret_as_integer", False):
        raise InputError(f"measure {name} is discrete; the Stein operator needs a density on R^d.")
    instead = (
        "integrate over independent coordinates, sq.integrate(lambda u: "
        f"f(measure.inv(u.T).T), [scipy.stats.uniform()] * {dim}, ...)"
    )
    if type(dist).__name__ == "MvNormal":
        normal = _normal(dist)
        if normal is not None:
            return normal
    if dist.stochastic_dependent and dim == 1:
        raise InputError(
            f"measure {name} has parameters that are random; join it with them, chaospy.J(...)."
        )
    if dist.stochastic_dependent:
        raise InputError(f"measure {name} has coordinates that depend on each other; {instead}.")
    if dim == 1:
        return _scalar(dist, name, instead)
    return {f"x{i}": from_chaospy(part) for i, part in enumerate(dist)}


def _dim(dist: Any) -> int:
    """Number of coordinates, 0 of what is no distribution."""
    methods = ("pdf", "cdf", "inv", "stochastic_dependent", "lower", "upper")
    # Of the class: a property may fail where parameters are random.
    return len(dist) if all(hasattr(type(dist), method) for method in methods) else 0


def _scalar(dist: Any, name: str, instead: str) -> Any:
    def log_density(x: np.ndarray) -> Any:
        return np.log(np.asarray(dist.pdf(x), dtype=np.float64))

    try:
        low, high = float(dist.lower[0]), float(dist.upper[0])
    except (AssertionError, AttributeError, TypeError, ValueError) as error:
        raise InputError(  # of sums of products, such as 3 * Normal() + 2
            f"measure {name} fails inside chaospy, whatever it is asked ({error}); leave the "
            "arithmetic to f, such as sq.integrate(lambda x: f(3 * x + 2), chaospy.Normal(), ...)."
        ) from None
    foreign = Foreign(name, log_density, dist.cdf, dist.inv, low, high, instead)
    return scalar_of(foreign, lambda: _known(dist))


def _known(dist: Any, shift: float = 0.0, scale: float = 1.0) -> Any:
    """SciPy's distribution of the same name and parameters, None where there is none.

    chaospy keeps parameters in attributes of its own: whoever asks compares the functions, too.
    """
    held, inner = _parameters(dist), getattr(dist, "_dist", None)
    name = type(inner).__name__
    if inner is None or ({"lower", "upper"} <= held.keys() and name not in BETWEEN):
        return None
    if name in BETWEEN:
        low, high = (shift + scale * held[side] for side in ("lower", "upper"))
        return BETWEEN[name](low, high, **_parameters(inner))
    shift, scale = shift + scale * held["shift"], scale * held["scale"]
    if name in SHIFTED:
        return SHIFTED[name](shift, scale, **_parameters(inner))
    return _known(inner, shift, scale)


def _parameters(dist: Any) -> dict[str, float]:
    held: dict[str, Any] = getattr(dist, "_parameters", {})
    return {name: np.asarray(value, dtype=np.float64).item() for name, value in held.items()}


def _normal(dist: Any) -> Any:
    """SciPy's multivariate normal, if mean and covariance are where they were, else None."""
    held: dict[str, Any] = getattr(dist, "_parameters", {})
    try:
        mean, covariance = (np.asarray(held[k], np.float64) for k in ("mean", "covariance"))
        multivariate: Any = st.multivariate_normal  # whose stubs take no matrix
        normal = multivariate(mean, covariance)
        x = mean + np.sqrt(np.diag(covariance)) * np.linspace(-1.0, 1.0, len(mean))
        same = np.allclose(dist.pdf(x[:, None]), normal.pdf(x), rtol=1e-9, atol=0)
    except (KeyError, TypeError, ValueError, np.linalg.LinAlgError):
        return None
    return normal if same else None
