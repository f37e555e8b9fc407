"""Distributions of `scipy.stats` as measures."""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
import scipy.stats

from steinquad._types import Array, as_points
from steinquad.errors import InputError
from steinquad.measures._scipy_scores import STANDARD_SCORES, numerical_score
from steinquad.measures.base import EVERYTHING, Measure
from steinquad.measures.checks import as_draw_request, as_names, as_probabilities
from steinquad.measures.factors import Factors, Gaussian, Terms, flattened
from steinquad.measures.kernel_density import KernelDensity
from steinquad.measures.marginal import Marginal
from steinquad.support import Support

__all__ = ["ScipyMeasure", "ScipyMultivariateNormal", "from_scipy"]

NEW_NORMALS = (scipy.stats.Normal, type(scipy.stats.Normal()))  # without parameters: another class


class ScipyMeasure(Measure):
    """A univariate continuous distribution of `scipy.stats`, frozen or of the newer kind.

    The score is a closed form for the common families and a checked numerical derivative of
    `logpdf` for any other.

    Args:
        dist: for example `scipy.stats.gamma(2.0, scale=3.0)` or `scipy.stats.Normal(mu=1.0)`.
        names: the name of the coordinate, `x0` by default.
    """

    provides = EVERYTHING

    def __init__(self, dist: Any, names: Sequence[str] | None = None) -> None:
        _check(dist)
        self.dist = dist
        low, high = (float(side) for side in dist.support())
        self.support = Support.box(low, high, 1)
        self.names = as_names(names, 1)
        self._icdf = dist.ppf if hasattr(dist, "ppf") else dist.icdf
        self._family = _family(dist)
        if self._family is not None and self._family.name in STANDARD_SCORES:
            self._score = self._family.score
        else:
            width = float(self._icdf(0.75) - self._icdf(0.25))
            self._score = partial(numerical_score, dist.logpdf, low=low, high=high, width=width)

    def score(self, x: Array) -> Array:
        """Derivative of the log density at each point, (n, 1) -> (n, 1).

        By a closed form where there is one; a numerical derivative that does not converge is an
        `InputError`.

        Outside the support the value may be NaN or infinite, which is not reported.
        """
        z = as_points("x", x, 1)[:, 0]
        with np.errstate(all="ignore"):  # outside the support it need not be a number
            return np.asarray(self._score(z), dtype=np.float64)[:, None]

    def log_density(self, x: Array) -> Array:
        """Normalized log density at each point, (n, 1) -> (n,), -inf outside the support.

        The sides are applied here, whatever the distribution's own formula gives beyond them, and
        warnings of overflow or of log 0 are silenced.
        """
        x = as_points("x", x, 1)
        with np.errstate(all="ignore"):
            value = np.asarray(self.dist.logpdf(x[:, 0]), dtype=np.float64)
        return np.where(self.support.contains(x), value, -np.inf)

    def sample(self, n: int, *, seed: int) -> Array:
        """Draws (n, d) from SciPy's own sampler; the same seed gives the same draws.

        Frozen distributions draw by `rvs`, those of the newer kind by `sample`, both from a NumPy
        generator made of the seed.
        """
        n, seed = as_draw_request(n, seed)
        rng = np.random.default_rng(seed)
        if hasattr(self.dist, "rvs"):
            draws = self.dist.rvs(size=n, random_state=rng)
        else:
            draws = self.dist.sample((n,), rng=rng)
        return np.asarray(draws, dtype=np.float64).reshape(n, 1)

    def cdf(self, x: Array) -> Array:
        """SciPy's distribution function at each point, (n, 1) -> (n, 1).

        Accuracy in the tails is SciPy's; families without a formula integrate their density
        numerically, which is slow.
        """
        return np.asarray(self.dist.cdf(as_points("x", x, 1)), dtype=np.float64)

    def icdf(self, p: Array) -> Array:
        """SciPy's inverse of `cdf`, (n, 1) -> (n, 1); probabilities outside [0, 1] are refused.

        That is `ppf` of a frozen distribution and `icdf` of one of the newer kind; 0 and 1 give
        the sides of the support.
        """
        return np.asarray(self._icdf(as_probabilities(p, 1)), dtype=np.float64)

    def factors(self) -> Factors | None:
        """One marginal of a kind of its own for normals and uniforms; mixtures have several.

        All other families become one marginal known by its functions, against which kernels are
        integrated by quadrature.
        """
        return Factors.of(self._terms())

    def _terms(self) -> Terms | None:
        if isinstance(self.dist, scipy.stats.Mixture):
            inner = [ScipyMeasure(part)._terms() for part in self.dist.components]
            return flattened(zip(map(float, self.dist.weights), inner, strict=True))
        low, high = self.support.low[0], self.support.high[0]
        kind, family = type(self.dist), self._family
        if family is not None and family.name in ("norm", "truncnorm", "halfnorm"):
            marginal = Marginal.normal(family.loc, family.scale, low, high)
        elif kind in NEW_NORMALS:
            marginal = Marginal.normal(self.dist.mu, self.dist.sigma)
        elif kind is scipy.stats.Uniform or (family is not None and family.name == "uniform"):
            marginal = Marginal.uniform(low, high)
        else:
            marginal = self._marginal(_name(self.dist))
        return [(1.0, (marginal,))]


class ScipyMultivariateNormal(Measure):
    """A frozen `scipy.stats.multivariate_normal`; its covariance must not be singular.

    It has a score and a log density but no cdf, since its coordinates may be correlated; `factors`
    whitens it.

    Args:
        dist: for example `scipy.stats.multivariate_normal([0.0, 1.0], [[2.0, 1.0], [1.0, 2.0]])`.
        names: coordinate names, `x0, x1, ...` by default.
    """

    provides = frozenset({"log_density", "sample"})

    def __init__(self, dist: Any, names: Sequence[str] | None = None) -> None:
        self.dist = dist
        self.mean = np.atleast_1d(np.asarray(dist.mean, dtype=np.float64))
        self.support = Support.real(len(self.mean))
        self.names = as_names(names, self.dim)
        try:
            self._factor = scipy.linalg.cho_factor(np.atleast_2d(dist.cov), lower=True)
        except np.linalg.LinAlgError:
            raise InputError(
                "measure multivariate_normal has a singular covariance, so no density on "
                f"R^{self.dim}; integrate over fewer coordinates."
            ) from None

    def score(self, x: Array) -> Array:
        """`-C^-1 (x - mean)` at each point, (n, d) -> (n, d), with C factorized once.

        Solving with the Cholesky factor avoids forming the inverse, which would lose digits for
        strongly correlated coordinates.
        """
        x = as_points("x", x, self.dim)
        return -scipy.linalg.cho_solve(self._factor, (x - self.mean).T).T

    def log_density(self, x: Array) -> Array:
        """Normalized log density at each point, (n, d) -> (n,).

        SciPy's `logpdf`, which returns a scalar for a single row; the shape is restored here. The
        support is all of R^d, so it is finite at finite points.
        """
        x = as_points("x", x, self.dim)
        return np.asarray(self.dist.logpdf(x), dtype=np.float64).reshape(len(x))

    def sample(self, n: int, *, seed: int) -> Array:
        """Draws (n, d) from SciPy's own sampler; the same seed gives the same draws.

        The generator is made of the seed alone, so neither earlier calls nor NumPy's global state
        change the result.
        """
        n, seed = as_draw_request(n, seed)
        draws = self.dist.rvs(size=n, random_state=np.random.default_rng(seed))
        return np.asarray(draws, dtype=np.float64).reshape(n, self.dim)

    def factors(self) -> Factors | None:
        """Independent standard normals in whitened coordinates.

        With L the Cholesky factor of the covariance, `z = L^-1 (x - mean)`; a diagonal covariance
        needs no change of coordinates and gives normals of x itself.
        """
        covariance = np.atleast_2d(np.asarray(self.dist.cov, np.float64))
        return Factors.of([(1.0, Gaussian(self.mean, covariance))])


def from_scipy(dist: Any, names: Sequence[str] | None = None) -> Measure:
    """The measure of a `scipy.stats` distribution.

    Args:
        dist: a univariate continuous distribution, frozen or of the newer kind, a frozen
            multivariate normal, or a kernel density estimate; all else is refused with the reason.
        names: coordinate names, `x0, x1, ...` by default.
    """
    if isinstance(dist, scipy.stats.gaussian_kde):
        return KernelDensity(dist, names)
    if isinstance(dist, type(scipy.stats.multivariate_normal([0.0]))):
        return ScipyMultivariateNormal(dist, names)
    return ScipyMeasure(dist, names)


class _Family(NamedTuple):
    name: str
    shapes: tuple[Any, ...]
    loc: float
    scale: float

    def score(self, x: Array) -> Array:
        """By the closed form: x = loc + scale z divides the standard score by the scale."""
        standard = STANDARD_SCORES[self.name]
        return standard((x - self.loc) / self.scale, *self.shapes) / self.scale


def _family(dist: Any) -> _Family | None:
    """Name and parameters of a frozen distribution of one of SciPy's own families, else None."""
    generic: Any = getattr(dist, "dist", None)
    name = getattr(generic, "name", "")
    # The name alone would also match a user's own family of the same name.
    if generic is None or type(generic) is not type(getattr(scipy.stats, name, None)):
        return None
    return _Family(name, *generic._parse_args(*dist.args, **dist.kwds))


def _name(dist: Any) -> str:
    """For messages: the family of a frozen distribution, the class of one of the newer kind."""
    return getattr(getattr(dist, "dist", None), "name", None) or type(dist).__name__


def _check(dist: Any) -> None:
    """Refuse what is not one scalar continuous distribution, with the reason."""
    kind = _name(dist)
    if isinstance(dist, scipy.stats.rv_continuous | scipy.stats.rv_discrete):
        name = getattr(dist, "name", None) or kind
        raise InputError(
            f"measure scipy.stats.{name} is not frozen; call it with its parameters first, "
            f"for example {name}(loc=0.0, scale=1.0)."
        )
    ancestors = {base.__name__ for base in type(dist).__mro__}
    discrete = isinstance(getattr(dist, "dist", None), scipy.stats.rv_discrete)
    if discrete or "DiscreteDistribution" in ancestors:
        raise InputError(f"measure {kind} is discrete; the Stein operator needs a density on R^d.")
    if type(dist).__module__.endswith("_multivariate"):
        raise InputError(
            f"measure {kind} is not supported; of the multivariate distributions of scipy.stats "
            "only multivariate_normal lives on R^d with a known score, so use numpyro's or pass a "
            "log density to LogDensity."
        )
    needed = {"logpdf", "cdf", "support"}
    if not needed <= set(dir(dist)) or not {"ppf", "icdf"} & set(dir(dist)):
        raise InputError(f"measure is a {kind}; pass a continuous scipy.stats distribution.")
    probe = np.asarray(dist.cdf(0.0))
    if probe.ndim:
        raise InputError(
            f"measure {kind} has parameters of shape {probe.shape}; pass scalars, and use "
            "Product for several coordinates."
        )
    if np.isnan(probe):
        raise InputError(f"measure {kind} has parameters outside their domain; check them.")
