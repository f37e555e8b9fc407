"""A scalar measure that another package knows: by its own functions, or as one of SciPy's."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from steinquad._types import Array, as_points
from steinquad.errors import InputError
from steinquad.measures._invert import invert_cdf
from steinquad.measures._scipy_scores import numerical_score
from steinquad.measures.base import EVERYTHING, Measure
from steinquad.measures.checks import as_probabilities
from steinquad.measures.factors import Factors
from steinquad.support import Support

__all__ = ["ByFunctions", "Foreign", "scalar_of"]

# Probabilities at whose quantiles two distributions are compared, and how far they may differ.
COMPARED = np.array([1e-3, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 0.999])
SAME = 1e-6
# Share of a tail by which quantiles may miss their probability, those compared and one smaller.
INVERSE, INVERTED = 1e-10, np.append(1e-5, COMPARED)
# The integral of density times score over an interval is the rise of the density there, unless it
# jumps. That is checked between quantiles, closer ones in the tails; the limits are for a share of
# the largest density, to which a kink adds the error of the quadrature, and for a probability.
TAIL = np.geomspace(1e-3, 0.02, 8)
EDGES = np.concatenate([TAIL, np.linspace(0.02, 0.98, 82)[1:-1], 1 - TAIL[::-1]])
JUMP, MASS = 1e-2, 1e-3
NODES, WEIGHTS = np.polynomial.legendre.leggauss(6)


@dataclass(frozen=True)
class Foreign:
    """The functions of a scalar distribution of another package, of arrays (n,) to arrays (n,).

    Attributes:
        name: for messages, such as `Trapezoidal of openturns`.
        log_density: normalized, -inf outside the support.
        cdf: distribution function.
        icdf: its inverse on [0, 1]; where it is not exact it is not used.
        low: left side of the support, -inf where open.
        high: right side, inf where open.
        instead: what to write where it cannot be taken, for the end of a message.
    """

    name: str
    log_density: Callable[[Array], Any]
    cdf: Callable[[Array], Any]
    icdf: Callable[[Array], Any]
    low: float
    high: float
    instead: str


def scalar_of(foreign: Foreign, known: Callable[[], Any] | None) -> Any:
    """The distribution of `scipy.stats` that a foreign one is, or a measure by its functions.

    SciPy's are preferred for their closed forms: exact scores and, for normals and uniforms,
    kernel means.

    Args:
        foreign: the functions as they are.
        known: makes the frozen distribution that it should be from parameters of the other
            package; it is taken only if density and cdf agree, so that a parameter of another
            meaning does no harm. None where there is no such distribution.
    """
    if known is not None:
        try:
            candidate = known()
        except (AttributeError, IndexError, KeyError, TypeError, ValueError):
            candidate = None  # of another version, with other parameters
        if candidate is not None and _same(candidate, foreign):
            return candidate
    return ByFunctions(foreign)


class ByFunctions(Measure):
    """A scalar measure known by the functions of another package.

    The score is a numerical derivative of the log density, checked where it is computed. The
    density must not jump inside the support, since a score does not know of jumps and Stein's
    identity would fail; that is checked once, here.

    Args:
        foreign: the functions, and what messages call them.
    """

    provides = EVERYTHING

    def __init__(self, foreign: Foreign) -> None:
        self.foreign = foreign
        self.support, self.names = Support.box(foreign.low, foreign.high, 1), ("x0",)
        reached = _numbers(foreign.cdf, _numbers(foreign.icdf, INVERTED))
        # Quadrature halves its panels for ever where quantiles are rough.
        self._exact = _near(reached, INVERTED, INVERSE)
        lower, upper = self.icdf(np.array([[0.25], [0.75]]))[:, 0]
        self._width = float(upper - lower)
        self._check()

    def score(self, x: Array) -> Array:
        """Derivative of the log density at each point, (n, 1) -> (n, 1); NaN on the sides.

        Numerical, by extrapolated differences; a derivative that does not converge is an
        `InputError`.
        """
        z = as_points("x", x, 1)[:, 0]
        low, high = float(self.support.low[0]), float(self.support.high[0])
        score = numerical_score(self._log, z, low, high, self._width, kinks=True)
        return score[:, None]

    def log_density(self, x: Array) -> Array:
        """Normalized log density at each point, (n, 1) -> (n,): -inf outside the support.

        It is as exact as the other package's; the sides are applied here.
        """
        x = as_points("x", x, 1)
        return np.where(self.support.contains(x), self._log(x[:, 0]), -np.inf)

    def cdf(self, x: Array) -> Array:
        """The other package's distribution function at each point, (n, 1) -> (n, 1).

        It is 0 and 1 beyond the sides, and kept between them against rounding.
        """
        x = as_points("x", x, 1)
        low, high = self.support.low, self.support.high
        inner = np.clip(x, low, high)[:, 0]
        value = np.clip(_numbers(self.foreign.cdf, inner), 0.0, 1.0)[:, None]
        return np.where(x <= low, 0.0, np.where(x >= high, 1.0, value))

    def icdf(self, p: Array) -> Array:
        """Quantiles, (n, 1) -> (n, 1); 0 and 1 give the sides.

        The other package's where they are exact, else those of its distribution function.
        """
        p = as_probabilities(p, 1)
        if not self._exact:
            return invert_cdf(self.cdf, self.support, p)
        low, high = self.support.low, self.support.high
        inside = (p > 0) & (p < 1)
        value = _numbers(self.foreign.icdf, np.where(inside, p, 0.5)[:, 0])[:, None]
        return np.where(inside, np.clip(value, low, high), np.where(p <= 0, low, high))

    def factors(self) -> Factors | None:
        """One marginal that is known by its functions, for integrals by quadrature."""
        return Factors.of([(1.0, (self._marginal(self.foreign.name),))])

    def _log(self, x: Array) -> Array:
        """Of any shape: differences ask for several at a time."""
        x = np.asarray(x, dtype=np.float64)
        return _numbers(self.foreign.log_density, x.ravel()).reshape(x.shape)

    def _check(self) -> None:
        """Refuse a density that jumps, or that is not the derivative of the cdf."""
        edges = self.icdf(EDGES[:, None])[:, 0]
        half = np.diff(edges)[:, None] / 2
        x = edges[:-1, None] + half * (1 + NODES)
        density, ends = np.exp(self._log(x)), np.exp(self._log(edges))
        masses = np.cumsum((half * density) @ WEIGHTS) - (EDGES[1:] - EDGES[0])
        try:
            score = self.score(x.reshape(-1, 1)).reshape(x.shape)
        except InputError:
            score = np.full(x.shape, np.nan)
        rise = np.sum((half * density * score) @ WEIGHTS)
        jump = abs(rise - (ends[-1] - ends[0])) / density.max()
        if not (np.abs(masses).max() <= MASS and jump <= JUMP):
            raise InputError(
                f"measure {self.foreign.name} has a density that jumps, or that is not the "
                f"derivative of its cdf, so that Stein's identity fails; {self.foreign.instead}."
            )


def _same(candidate: Any, foreign: Foreign) -> bool:
    x = np.asarray(candidate.ppf(COMPARED), dtype=np.float64)
    if not np.isfinite(x).all():
        return False
    cdf, density = _numbers(foreign.cdf, x), np.exp(_numbers(foreign.log_density, x))
    theirs = np.asarray(candidate.pdf(x), dtype=np.float64)
    return _near(cdf, COMPARED, SAME) and np.allclose(density, theirs, rtol=SAME, atol=0)


def _near(cdf: Array, p: Array, share: float) -> bool:
    """Whether probabilities are those wanted, up to a share of the nearer tail."""
    return bool(np.all(np.abs(cdf - p) <= share * np.minimum(p, 1 - p)))


def _numbers(function: Callable[[Array], Any], x: Array) -> Array:
    """What the other package answers, as float64 of the shape of x (n,).

    Nothing is asked of no points, which not every package takes.
    """
    if not len(x):
        return np.empty(0)
    with np.errstate(all="ignore"):  # outside the support it need not be a number
        return np.asarray(function(x), dtype=np.float64).reshape(x.shape)
