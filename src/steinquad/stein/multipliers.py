"""What multiplies the vector field before the Stein operator: m(x) and the boundary factors.

`S_m[u] = S[m u]`, so the diffusion matrix of the paper, the factor that vanishes on the boundary
of the support and a change of units are one thing: a diagonal multiplier, known at each point by
its diagonal `value` and by `slope_i = d value_i / d x_i`. Products of multipliers follow the
product rule, and nothing else in the library knows which multipliers there are.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from steinquad._types import Array
from steinquad.errors import InputError
from steinquad.points import Points
from steinquad.support import Support

__all__ = [
    "Boundary",
    "Constant",
    "Coordinate",
    "Density",
    "InverseQuadratic",
    "InverseRoot",
    "Multiplier",
    "PaperBoundary",
    "ProductOf",
]


class Multiplier(ABC):
    """A diagonal m(x); subclass it to add one (`examples/04_own_multiplier.py`).

    `__call__` is all that is needed, `fit` and `varying` where it takes something from the data or
    differs by coordinate.

    A field u becomes m u before the Stein operator acts, which keeps the mean zero.
    """

    @abstractmethod
    def __call__(self, points: Points) -> tuple[Array, Array]:
        """`(value, slope)`, both (n, d): the diagonal of m and `d m_ii / d x_i`."""

    def fit(self, points: Points, support: Support) -> "Multiplier":
        """The same multiplier with whatever it takes from data and support fixed.

        A new object, before any call.

        Args:
            points: the training points with their scores.
            support: the box on which the measure lives.

        Returns:
            A multiplier that is ready to be called; by default this one.
        """
        return self

    @property
    def varying(self) -> tuple[int, ...] | None:
        """Coordinates with a value of their own; () for a scalar m(x), None for every one.

        The divergence costs one tangent for each of these and nothing for the others.
        """
        return ()


@dataclass(frozen=True)
class Constant(Multiplier):
    """m = I/C with C given, or "std" or "max" of the scores (paper, section 5.2).

    The scale of the field, and of the prior of the network with it; 1 leaves the field as it is.
    """

    c: float | Literal["std", "max"] = 1.0

    def __post_init__(self) -> None:
        if self.c in ("std", "max"):
            return
        if isinstance(self.c, str) or not (np.isfinite(self.c) and self.c > 0):
            raise InputError(f"c is {self.c!r}; give a positive number, 'std' or 'max'.")

    def fit(self, points: Points, support: Support) -> "Constant":
        """C from the scores, where it is named and not given.

        "std" is the standard deviation and "max" the largest absolute value over all entries of
        the scores, so that the scaled drift is of order one.
        """
        if self.c == "std":
            return Constant(float(points.score.std()))
        if self.c == "max":
            return Constant(float(np.abs(points.score).max()))
        return self

    def __call__(self, points: Points) -> tuple[Array, Array]:
        """1/C everywhere."""
        if isinstance(self.c, str):
            raise InputError(f"c is {self.c!r}, which needs data; call fit first.")
        return np.full_like(points.x, 1.0 / self.c), np.zeros_like(points.x)


@dataclass(frozen=True)
class InverseQuadratic(Multiplier):
    """m = I / (|x|^2 + 1): bounded features under heavy tails.

    There a field that grows, times its score, may have no variance.

    The distance is from the origin in the user's units, so center and scale the coordinates before
    if they are far from it.
    """

    def __call__(self, points: Points) -> tuple[Array, Array]:
        """Value and slope at each point."""
        x = points.x
        value = 1.0 / (np.sum(x * x, axis=1, keepdims=True) + 1.0)
        return np.broadcast_to(value, x.shape), -2.0 * x * value**2


@dataclass(frozen=True)
class InverseRoot(Multiplier):
    """m = I / sqrt(|x|^2 + 1).

    Between `Constant` and `InverseQuadratic`, for tails a little heavier than normal ones: a field
    that grows linearly becomes a bounded one.
    """

    def __call__(self, points: Points) -> tuple[Array, Array]:
        """Value and slope at each point."""
        x = points.x
        value = 1.0 / np.sqrt(np.sum(x * x, axis=1, keepdims=True) + 1.0)
        return np.broadcast_to(value, x.shape), -x * value**3


@dataclass(frozen=True)
class Density(Multiplier):
    """m = pi(x) I, for measures whose log density is known.

    Features vanish where the measure does; one of the paper's choices.

    The density may be unnormalized, which only scales the field; in many dimensions its values
    span many orders of magnitude and few points keep any influence.
    """

    def __call__(self, points: Points) -> tuple[Array, Array]:
        """Value and slope at each point."""
        if points.log_density is None:
            raise InputError(
                "multiplier Density() needs the log density of the measure, which is not known; "
                "pass a measure that has one, or another multiplier."
            )
        value = np.exp(points.log_density)[:, None]
        return np.broadcast_to(value, points.x.shape), value * points.score


@dataclass(frozen=True)
class Coordinate(Multiplier):
    """m = diag(x): every component of the field multiplied by its coordinate.

    One of the paper's choices; the divergence needs a tangent for each coordinate.

    Component i vanishes where x_i does, which suits measures on the positive half-line.
    """

    def __call__(self, points: Points) -> tuple[Array, Array]:
        """x itself."""
        return points.x, np.ones_like(points.x)

    @property
    def varying(self) -> None:
        """Every coordinate has its own value.

        None stands for all of them: the diagonal entry `x_i` differs between coordinates, so no
        part of the divergence can be computed as one trace.
        """
        return None


@dataclass(frozen=True)
class Boundary(Multiplier):
    """Factor i, on u_i only, vanishes on the faces of coordinate i.

    `(1 - exp(-(x - a)/s)) (1 - exp(-(b - x)/s))` with s the spread of the draws there: one formula
    for intervals and half-lines, flat where the mass is however far away the other side lies.
    Enough for the flux through each face; the product over coordinates would collapse in a box
    (median of prod 4 x (1 - x): .07 at d = 5, 3e-3 at d = 10).
    """

    support: Support | None = None
    scale: Array | None = None

    def fit(self, points: Points, support: Support) -> "Boundary":
        """Faces from the support, scale from the draws.

        Args:
            points: draws, whose standard deviation in each coordinate becomes the width s of the
                factor.
            support: the box; open sides get no factor.
        """
        return replace(self, support=support, scale=points.x.std(axis=0))

    def __call__(self, points: Points) -> tuple[Array, Array]:
        """Value and slope at each point."""
        assert self.support is not None and self.scale is not None, "call fit first"
        value, slope = np.ones_like(points.x), np.zeros_like(points.x)
        for i in self.support.bounded:
            x, s = points.x[:, i], self.scale[i]
            # exp(-inf) = 0: an open side contributes the factor 1 and the slope 0.
            left, right = (x - self.support.low[i]) / s, (self.support.high[i] - x) / s
            value[:, i] = np.expm1(-left) * np.expm1(-right)
            slope[:, i] = (np.exp(-right) * np.expm1(-left) - np.exp(-left) * np.expm1(-right)) / s
        return value, slope

    @property
    def varying(self) -> tuple[int, ...]:
        """The bounded coordinates.

        The factor is 1 for all others, which share the multiplier and cost no tangent in the
        divergence. Known once it is fitted.
        """
        assert self.support is not None, "call fit first"
        return self.support.bounded


@dataclass(frozen=True)
class PaperBoundary(Multiplier):
    """The paper's scalar factor `prod_i (x_i - a_i)(b_i - x_i)`, open sides left out.

    `Boundary` is what we use: this product collapses in many dimensions.

    As it is scalar, all coordinates share it and the divergence is one trace.
    """

    support: Support | None = None

    def fit(self, points: Points, support: Support) -> "PaperBoundary":
        """Faces from the support.

        The points are not used: the factor has no scale of its own, and therefore the units of a
        product of squared coordinates.

        Args:
            points: ignored.
            support: the box whose finite sides make the factors.
        """
        return replace(self, support=support)

    def __call__(self, points: Points) -> tuple[Array, Array]:
        """Value and slope at each point."""
        assert self.support is not None, "call fit first"
        x, low, high = points.x, self.support.low, self.support.high
        left = np.where(np.isfinite(low), x - low, 1.0)
        right = np.where(np.isfinite(high), high - x, 1.0)
        factor = left * right
        dfactor = np.isfinite(low) * right - np.isfinite(high) * left
        # Product of the other coordinates' factors without dividing: a factor may be 0 on a face.
        others = np.stack(
            [np.prod(np.delete(factor, i, axis=1), axis=1) for i in range(x.shape[1])], axis=1
        )
        value = np.prod(factor, axis=1, keepdims=True)
        return np.broadcast_to(value, x.shape), dfactor * others


@dataclass(frozen=True)
class ProductOf(Multiplier):
    """Several multipliers, one after the other, by the product rule.

    For instance a constant and the boundary factors.

    Attributes:
        factors: the multipliers; their order does not matter, as diagonal matrices commute.
    """

    factors: tuple[Multiplier, ...]

    def fit(self, points: Points, support: Support) -> "ProductOf":
        """Fit each.

        Every factor sees the same points and support, so that none depends on the order in which
        they are listed.

        Args:
            points: the training points with their scores.
            support: the box on which the measure lives.
        """
        return ProductOf(tuple(factor.fit(points, support) for factor in self.factors))

    def __call__(self, points: Points) -> tuple[Array, Array]:
        """Product rule."""
        value, slope = np.ones_like(points.x), np.zeros_like(points.x)
        for factor in self.factors:
            v, dv = factor(points)
            value, slope = value * v, slope * v + value * dv
        return value, slope

    @property
    def varying(self) -> tuple[int, ...] | None:
        """Those of any factor.

        The union, in increasing order; None as soon as one factor varies in every coordinate, and
        () if all factors are scalar.
        """
        union: set[int] = set()
        for factor in self.factors:
            if factor.varying is None:
                return None
            union.update(factor.varying)
        return tuple(sorted(union))
