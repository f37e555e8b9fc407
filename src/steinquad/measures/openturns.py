"""Distributions of OpenTURNS, said with those of `scipy.stats`."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.stats as st

from steinquad._types import Array
from steinquad.errors import InputError
from steinquad.measures.by_functions import Foreign, scalar_of

__all__ = ["from_openturns"]

# By the names of the classes of OpenTURNS, with their parameters in its order.
FAMILIES: dict[str, Callable[..., Any]] = {
    "Arcsine": lambda a, b: st.arcsine(a, b - a),
    "Beta": lambda alpha, beta, a, b: st.beta(alpha, beta, a, b - a),
    "Chi": lambda nu: st.chi(nu),
    "ChiSquare": lambda nu: st.chi2(nu),
    "Exponential": lambda rate, gamma: st.expon(gamma, 1 / rate),
    "FisherSnedecor": lambda d1, d2: st.f(d1, d2),
    "Frechet": lambda beta, alpha, gamma: st.invweibull(alpha, gamma, beta),
    "Gamma": lambda k, rate, gamma: st.gamma(k, gamma, 1 / rate),
    "GeneralizedExtremeValue": lambda mu, sigma, xi: st.genextreme(-xi, mu, sigma),
    "Gumbel": lambda beta, gamma: st.gumbel_r(gamma, beta),
    "InverseGamma": lambda k, rate: st.invgamma(k, scale=1 / rate),
    "InverseNormal": lambda mu, rate: st.invgauss(mu / rate, scale=rate),
    "Laplace": lambda mu, rate: st.laplace(mu, 1 / rate),
    "LogNormal": lambda mu, sigma, gamma: st.lognorm(sigma, gamma, np.exp(mu)),
    "LogUniform": lambda low, high: st.loguniform(np.exp(low), np.exp(high)),
    "Logistic": lambda mu, beta: st.logistic(mu, beta),
    "Normal": lambda mu, sigma: st.norm(mu, sigma),
    "Pareto": lambda beta, alpha, gamma: st.pareto(alpha, gamma, beta),
    "Rayleigh": lambda beta, gamma: st.rayleigh(gamma, beta),
    "Student": lambda nu, mu, sigma: st.t(nu, mu, sigma),
    "Trapezoidal": lambda a, b, c, d: st.trapezoid((b - a) / (d - a), (c - a) / (d - a), a, d - a),
    "Triangular": lambda a, m, b: st.triang((m - a) / (b - a), a, b - a),
    "TruncatedNormal": lambda mu, sigma, a, b: st.truncnorm(
        (a - mu) / sigma, (b - mu) / sigma, mu, sigma
    ),
    "Uniform": lambda a, b: st.uniform(a, b - a),
    "WeibullMax": lambda beta, alpha, gamma: st.weibull_max(alpha, gamma, beta),
    "WeibullMin": lambda beta, alpha, gamma: st.weibull_min(alpha, gamma, beta),
}


def from_openturns(dist: Any) -> Any:
    """An OpenTURNS distribution as one of `scipy.stats`, a dict of such, or a measure.

    Args:
        dist: scalar, of several independent coordinates, or a multivariate normal, also as
            normal marginals with a normal copula. Other copulas are refused with the line that
            integrates over independent coordinates.

    Returns:
        What `as_measure` takes: SciPy's distribution where it is the same one, which is checked,
        a measure by the functions of OpenTURNS where there is none, and a dict of these by the
        description of the coordinates.
    """
    name = f"{_kind(dist)} of openturns"
    if not hasattr(dist, "computeCDF") or not hasattr(dist, "getDimension"):
        raise InputError(
            f"measure is a {name}; pass a distribution, such as openturns.JointDistribution."
        )
    if not dist.isContinuous():
        raise InputError(f"measure {name} is discrete; the Stein operator needs a density on R^d.")
    dim = dist.getDimension()
    instead = (
        "integrate over independent normals, T = openturns.DistributionTransformation("
        f"openturns.Normal({dim}), measure) and sq.integrate(lambda z: f(numpy.array(T(z))), "
        f"[scipy.stats.norm()] * {dim}, ...)"
    )
    if dim == 1:
        return _scalar(dist, name, instead)
    marginals = [dist.getMarginal(i) for i in range(dim)]
    if dist.hasIndependentCopula():
        return dict(zip(_names(dist, dim), map(from_openturns, marginals), strict=True))
    copula = _kind(dist.getCopula())
    if copula == "NormalCopula" and all(_kind(part) == "Normal" for part in marginals):
        # Not under their names: SciPy's normal has none, and they are no blocks of a product.
        normal: Any = st.multivariate_normal  # whose stubs take no matrix
        return normal(np.array(dist.getMean()), np.array(dist.getCovariance()))
    raise InputError(f"measure {name} has coordinates that depend on each other; {instead}.")


def _kind(dist: Any) -> str:
    """The class, of what is wrapped in the general one, too."""
    held = dist.getImplementation() if hasattr(dist, "getImplementation") else dist
    return held.getClassName() if hasattr(held, "getClassName") else type(dist).__name__


def _names(dist: Any, dim: int) -> list[str]:
    """Of the coordinates, where all are different; `X0` and so on are those of OpenTURNS."""
    given = list(dist.getDescription())
    plain = [f"X{i}" for i in range(dim)]
    usable = all(given) and len(set(given)) == dim and given != plain
    return given if usable else [f"x{i}" for i in range(dim)]


def _scalar(dist: Any, name: str, instead: str) -> Any:
    def columns(method: Callable[[Any], Any]) -> Callable[[Array], Any]:
        return lambda x: np.array(method(x[:, None]))

    def icdf(p: Array) -> Any:
        return np.array(dist.computeQuantile(p))

    range_ = dist.getRange()
    low = range_.getLowerBound()[0] if range_.getFiniteLowerBound()[0] else -np.inf
    high = range_.getUpperBound()[0] if range_.getFiniteUpperBound()[0] else np.inf
    log_density, cdf = columns(dist.computeLogPDF), columns(dist.computeCDF)
    foreign = Foreign(name, log_density, cdf, icdf, low, high, instead)
    family = FAMILIES.get(_kind(dist))
    return scalar_of(foreign, None if family is None else lambda: family(*dist.getParameter()))
