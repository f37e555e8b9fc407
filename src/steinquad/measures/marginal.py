"""The distribution of one coordinate: normals, uniforms, and what is known by its functions."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
import scipy.special
from numpy.typing import ArrayLike

from steinquad._types import Array

__all__ = ["Functions", "Marginal", "gap"]

SHORT_NODES, SHORT_WEIGHTS = np.polynomial.legendre.leggauss(16)


def gap(a: ArrayLike, b: ArrayLike, width: ArrayLike | None = None) -> Array:
    """`int_a^b exp(-(t^2 - m^2)/2) dt` with m the point of [a, b] nearest to 0.

    The normal mass of an interval less its largest exponential: neither far in a tail nor for a
    short interval are digits lost, and nothing overflows.

    Args:
        a: left sides, -inf where open.
        b: right sides, inf where open.
        width: `b - a`, where it is known better than by the difference of two rounded sides.
    """
    a, b, width = np.broadcast_arrays(
        np.asarray(a, np.float64),
        np.asarray(b, np.float64),
        np.subtract(b, a) if width is None else np.asarray(width, np.float64),
    )
    left = b < 0
    a, b = np.where(left, -b, a), np.where(left, -a, b)
    half, root = math.sqrt(math.pi / 2), math.sqrt(2)
    with np.errstate(invalid="ignore", over="ignore"):  # infinities of the branches not taken
        across = half * (scipy.special.erf(b / root) - scipy.special.erf(a / root))
        a = np.maximum(a, 0.0)
        decay = np.where(np.isinf(b), 0.0, np.exp(-width * (b + a) / 2))
        far = half * (scipy.special.erfcx(a / root) - decay * scipy.special.erfcx(b / root))
        # That difference cancels where the interval is short: quadrature is exact there.
        short = np.where(width * np.maximum(b, 1.0) < 1.0, width, 0.0)
    t = short[..., None] * (1 + SHORT_NODES) / 2
    near = short / 2 * (np.exp(-t * (2 * a[..., None] + t) / 2) @ SHORT_WEIGHTS)
    return np.where(a > 0, np.where(short > 0, near, far), across)


class Functions(NamedTuple):
    """What a marginal of kind "other" is known by: a name for messages, and three functions.

    Each function maps arrays (n,) to arrays (n,); `pdf` and `cdf` are asked only inside the
    support.

    Attributes:
        name: how messages call the distribution.
        pdf: normalized density.
        cdf: distribution function.
        icdf: its inverse on [0, 1].
    """

    name: str
    pdf: Callable[[Array], Array]
    cdf: Callable[[Array], Array]
    icdf: Callable[[Array], Array]


@dataclass(frozen=True)
class Marginal:
    """The distribution of one coordinate, made by `normal`, `uniform` or `other`.

    The kind decides which closed forms apply to it: kernel means and moments are known for
    (truncated) normals and for uniforms, and found by quadrature for all else.

    Attributes:
        kind: "normal", truncated or not, "uniform" or "other".
        loc: of the parent normal of a "normal", the mean of a "uniform", the median of an "other".
        scale: of the parent normal, the standard deviation, half the width of the middle 68 %.
        low: left side of the support.
        high: right side of the support.
        functions: of an "other" only.

    >>> half = Marginal.normal(0.0, 1.0, low=0.0)
    >>> half.cdf(np.array([0.0, 0.6744897501960817])).round(12)
    array([0. , 0.5])
    """

    kind: Literal["normal", "uniform", "other"]
    loc: float
    scale: float
    low: float = -math.inf
    high: float = math.inf
    functions: Functions | None = None

    @classmethod
    def normal(
        cls, loc: float, scale: float, low: float = -math.inf, high: float = math.inf
    ) -> "Marginal":
        """A normal, given that it lies between `low` and `high`.

        Args:
            loc: mean of the normal before it is cut.
            scale: its standard deviation, positive.
            low: left side, -inf for none.
            high: right side, inf for none.
        """
        return cls("normal", float(loc), float(scale), float(low), float(high))

    @classmethod
    def uniform(cls, low: float, high: float) -> "Marginal":
        """The uniform between two finite sides; its `loc` and `scale` are mean and deviation.

        Args:
            low: left side, finite.
            high: right side, finite and above `low`.
        """
        low, high = float(low), float(high)
        return cls("uniform", (low + high) / 2, (high - low) / math.sqrt(12), low, high)

    @classmethod
    def other(cls, functions: Functions, low: float, high: float) -> "Marginal":
        """A distribution known by its functions only, on the support from `low` to `high`.

        Three quantiles are computed at once, for `loc` and `scale`.

        Quantiles serve because they exist for every distribution, while mean and variance may be
        infinite.

        Args:
            functions: density, distribution function and its inverse.
            low: left side, -inf for none.
            high: right side, inf for none.
        """
        below, middle, above = functions.icdf(np.array([0.16, 0.5, 0.84]))
        half_width = float(above - below) / 2
        return cls("other", float(middle), half_width, float(low), float(high), functions)

    @property
    def truncated(self) -> bool:
        """Whether a side of the support is finite: closed forms for all of R do not apply.

        Every uniform is truncated in this sense, a normal only if it was cut, and an "other" if it
        lives on an interval or a half-line.
        """
        return math.isfinite(self.low) or math.isfinite(self.high)

    @property
    def sides(self) -> tuple[float, float]:
        """The support in units of `scale` about `loc`; infinite where it is open.

        Integrals of normals are computed in these units, where the parent is the standard normal
        and only the two sides are left as parameters.
        """
        return (self.low - self.loc) / self.scale, (self.high - self.loc) / self.scale

    @cached_property
    def mode(self) -> float:
        """Of a normal, the point of its support nearest to `loc`, in the units of `sides`.

        The density is largest there. Exponentials are taken relative to this point, so that a
        normal cut far in its tail neither underflows nor divides zero by zero.
        """
        return min(max(0.0, self.sides[0]), self.sides[1])

    @cached_property
    def mass(self) -> float:
        """Of a normal, `gap` over its support: its mass there, less the density at `mode`.

        That is `int exp(-(z^2 - mode^2)/2) dz` over the sides, which does not underflow however
        far in a tail they lie.
        """
        return float(gap(*self.sides))

    def pdf(self, x: Array) -> Array:
        """Density at each point, (n,) -> (n,): zero outside the support.

        On the sides themselves an "other" has density zero, because its formula may be undefined
        there.
        """
        x = np.asarray(x, dtype=np.float64)
        inside = (x >= self.low) & (x <= self.high)
        if self.functions is not None:
            inside &= (x != self.low) & (x != self.high)
            value = self.functions.pdf(np.where(inside, x, self.loc))
        elif self.kind == "uniform":
            value = np.full(x.shape, 1 / (self.high - self.low))
        else:
            z = np.where(inside, (x - self.loc) / self.scale, self.mode)
            value = np.exp(-(z - self.mode) * (z + self.mode) / 2) / (self.scale * self.mass)
        return np.where(inside, value, 0.0)

    def cdf(self, x: Array) -> Array:
        """Distribution function at each point, (n,) -> (n,): exactly 0 and 1 beyond the sides.

        For normals it is a ratio of two `gap`s and keeps its digits however far in a
        tail the support begins.
        """
        x = np.asarray(x, dtype=np.float64)
        inner = np.clip(x, self.low, self.high)
        if self.functions is not None:
            value = self.functions.cdf(inner)
        elif self.kind == "uniform":
            value = (inner - self.low) / (self.high - self.low)
        else:
            value = self._normal_cdf((inner - self.loc) / self.scale)
        return np.where(x <= self.low, 0.0, np.where(x >= self.high, 1.0, value))

    def icdf(self, p: Array) -> Array:
        """Quantiles of probabilities in [0, 1], (n,) -> (n,): the inverse of `cdf`.

        Never outside the support; far truncations keep their digits.
        """
        p = np.asarray(p, dtype=np.float64)
        if self.functions is not None:
            value = self.functions.icdf(p)
        elif self.kind == "uniform":
            value = self.low + p * (self.high - self.low)
        else:
            value = self.loc + self.scale * self._normal_icdf(p)
        inner = np.clip(value, self.low, self.high)
        return np.where(p <= 0, self.low, np.where(p >= 1, self.high, inner))

    def truncate(self, low: float, high: float) -> tuple["Marginal", float]:
        """This marginal given that it lies between `low` and `high`, and the log of that mass.

        Where nothing is left the marginal is unchanged and the logarithm minus infinity.

        The logarithm survives where the mass itself underflows, so that mixtures cut far in a tail
        can still compare their components.

        Args:
            low: left side; the marginal's own is kept where it is further right.
            high: right side; the marginal's own is kept where it is further left.
        """
        low, high = max(low, self.low), min(high, self.high)
        if not low < high:
            return self, -math.inf
        if self.kind == "normal":
            new = Marginal.normal(self.loc, self.scale, low, high)
            # Both masses are relative to the density at their own mode: bring them to one scale.
            shift = (new.mode - self.mode) * (new.mode + self.mode) / 2
            return new, math.log(new.mass / self.mass) - shift
        if self.kind == "uniform":
            return Marginal.uniform(low, high), math.log((high - low) / (self.high - self.low))
        below, top = (float(side) for side in self.cdf(np.array([low, high])))
        mass = top - below
        if not mass > 0:
            return self, -math.inf
        functions = Functions(
            f"{self} cut to ({low:g}, {high:g})",
            lambda x: self.pdf(x) / mass,
            lambda x: np.clip((self.cdf(x) - below) / mass, 0.0, 1.0),
            lambda p: self.icdf(np.clip(below + p * mass, 0.0, 1.0)),
        )
        return Marginal.other(functions, low, high), math.log(mass)

    def _normal_cdf(self, z: Array) -> Array:
        a, b = self.sides
        z = np.clip(z, a, b)
        near = np.clip(0.0, a, z)  # of [a, z] to 0
        with np.errstate(invalid="ignore"):
            fall = np.exp(-(near - self.mode) * (near + self.mode) / 2)
        return np.where(fall > 0, fall * gap(a, z) / self.mass, 0.0)

    def _normal_icdf(self, p: Array) -> Array:
        a, b = self.sides
        log_mass = math.log(self.mass / math.sqrt(2 * math.pi)) - self.mode**2 / 2
        with np.errstate(divide="ignore"):
            below = np.logaddexp(scipy.special.log_ndtr(a), np.log(p) + log_mass)
            above = np.logaddexp(scipy.special.log_ndtr(-b), np.log1p(-p) + log_mass)
        # From the nearer tail: the logarithm of a probability close to 1 has no digits left.
        small = below < -math.log(2)
        z = scipy.special.ndtri_exp(np.minimum(np.where(small, below, above), 0.0))
        z = np.clip(np.where(small, z, -z), a, b)
        if self.mode == 0:
            return z
        # Far in a tail the logarithms carry the digits of mode^2 / 2: two Newton steps.
        for _ in range(2):
            slope = np.exp(-(z - self.mode) * (z + self.mode) / 2) / self.mass
            with np.errstate(divide="ignore", invalid="ignore"):
                step = (self._normal_cdf(z) - p) / slope
            z = np.clip(np.where(np.isfinite(step), z - step, z), a, b)
        return z

    def __str__(self) -> str:
        if self.functions is not None:
            return self.functions.name
        inside = f" on ({self.low:g}, {self.high:g})" if self.truncated else ""
        return f"{self.kind}({self.loc:g}, {self.scale:g}){inside}"
