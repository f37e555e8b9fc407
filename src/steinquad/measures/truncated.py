"""A scalar measure cut to an interval, as a whole."""

import math
from typing import Any

import numpy as np
import scipy.special

from steinquad._types import Array, as_numbers, as_points
from steinquad.errors import InputError, shown
from steinquad.measures.base import EVERYTHING, Measure
from steinquad.measures.checks import as_probabilities
from steinquad.measures.convert import as_measure
from steinquad.measures.factors import Factors
from steinquad.support import Support

__all__ = ["Truncated"]

# The mass of the interval is a difference of two values of the cdf: below these, absolutely and
# as a share of the larger value, fewer than about seven digits of it are left.
SMALLEST_MASS, SMALLEST_SHARE = 1e-12, 1e-9


class Truncated(Measure):
    """`base` given that it lies between `low` and `high`.

    Only the base's cdf is needed, so mixtures are cut as a whole: the weight of each component
    changes with its mass inside the interval.

    Args:
        base: a scalar measure with a cdf and a log density, anything `as_measure` takes.
        low: left side, None for the base's own.
        high: right side, None for the base's own.

    >>> import scipy.stats as st
    >>> Truncated(st.norm(), low=0.0).cdf([[0.6744897501960817]]).round(12)
    array([[0.5]])
    """

    provides = EVERYTHING

    def __init__(self, base: Any, low: float | None = None, high: float | None = None) -> None:
        self.base = as_measure(base)
        if self.base.dim != 1:
            raise InputError(
                f"base has dim {self.base.dim}; Truncated cuts scalar measures, "
                "so truncate the blocks of a Product one by one."
            )
        lacking = {"cdf", "log_density"} - self.base.provides
        if lacking:
            raise InputError(
                f"base {type(self.base).__name__} has no {sorted(lacking)[0]}; Truncated needs "
                "a cdf and a log density, so pass a LogDensity with a support instead."
            )
        self.support = _intersection(self.base.support, _side("low", low), _side("high", high))
        self.names = self.base.names
        self._below = self._base_cdf(self.support.low[0])
        top = self._base_cdf(self.support.high[0])
        self._mass = top - self._below
        if not self._mass > max(SMALLEST_MASS, SMALLEST_SHARE * top):
            raise InputError(
                f"base has mass {self._mass:.3g} in {self.support}, too little to compute with; "
                "widen low to high, or pass a LogDensity with a support."
            )

    def score(self, x: Array) -> Array:
        """The base's score: a constant factor of the density does not change it.

        The sides enter Stein's identity through the boundary factors of the field, which is why
        the support, and not the score, carries them. (n, 1) -> (n, 1).
        """
        return self.base.score(x)

    def log_density(self, x: Array) -> Array:
        """Log density at each point, (n, 1) -> (n,), normalized on the interval, else -inf.

        The base's log density less the logarithm of its mass in the interval; normalized only if
        the base's is.
        """
        x = as_points("x", x, 1)
        value = self.base.log_density(x) - math.log(self._mass)
        return np.where(self.support.contains(x), value, -np.inf)

    def cdf(self, x: Array) -> Array:
        """Distribution function on the interval, (n, 1) -> (n, 1): 0 and 1 beyond its sides.

        It is `(F(x) - F(low)) / (F(high) - F(low))` with F the base's, clipped to [0, 1] against
        rounding at the sides.
        """
        inner = np.clip(as_points("x", x, 1), self.support.low, self.support.high)
        return np.clip((self.base.cdf(inner) - self._below) / self._mass, 0.0, 1.0)

    def icdf(self, p: Array) -> Array:
        """Inverse of `cdf`: through the base's, or by root finding where it has none.

        (n, 1) -> (n, 1). Results never leave the interval, and probabilities 0 and 1 give its
        sides exactly; probabilities outside [0, 1] are refused.
        """
        if "icdf" not in self.base.provides:
            return super().icdf(p)
        p = as_probabilities(p, 1)
        low, high = self.support.low, self.support.high
        inner = np.clip(self.base.icdf(np.clip(self._below + p * self._mass, 0.0, 1.0)), low, high)
        return np.where(p <= 0, low, np.where(p >= 1, high, inner))  # the sides without rounding

    def factors(self) -> Factors | None:
        """Every component of the base cut by itself, its weight times the mass that it keeps.

        Weights are combined as logarithms, so that components of which almost nothing is left do
        not underflow before they are compared; those of weight zero are dropped.
        """
        base = self.base.factors()
        if base is None or not base.plain:
            return None
        low, high = float(self.support.low[0]), float(self.support.high[0])
        cut = [marginals[0].truncate(low, high) for marginals in base.components]
        with np.errstate(divide="ignore"):
            logs = np.log(base.weights) + np.array([log_mass for _, log_mass in cut])
        weights = scipy.special.softmax(logs)
        kept = np.flatnonzero(weights > 0)
        return Factors(base.affine, weights[kept], tuple((cut[k][0],) for k in kept))

    def _base_cdf(self, side: float) -> float:
        if math.isinf(side):
            return float(side > 0)
        return float(self.base.cdf(np.array([[side]]))[0, 0])


def _side(name: str, value: Any) -> float | None:
    if value is None:
        return None
    try:
        side = float(as_numbers(name, value))
    except (OverflowError, TypeError, ValueError):
        side = math.nan
    if math.isnan(side):
        raise InputError(f"{name} is {shown(value)}; pass a number, or None for an open side.")
    return side


def _intersection(support: Support, low: float | None, high: float | None) -> Support:
    left = support.low[0] if low is None else max(low, support.low[0])
    right = support.high[0] if high is None else min(high, support.high[0])
    if not left < right:
        raise InputError(
            f"low to high leaves nothing of the base's support {support}; give low < high in it."
        )
    return Support.box(left, right, 1)
