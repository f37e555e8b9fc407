"""The six Genz families under a standard normal, with their integrals in closed form.

Genz's functions live on the unit cube; composed with the normal distribution function they become
functions on R^d with the same integral under N(0, I_d).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr

from steinquad._types import Array, as_count, as_points
from steinquad.errors import InputError
from steinquad.problems.problem import Problem, standard_normal

__all__ = ["FAMILIES", "genz"]


@dataclass(frozen=True)
class Family:
    """One family: the function of points z in the cube, its integral, and the paper's a and u."""

    function: Callable[[Array, float, float], Array]
    integral: Callable[[int, float, float], float]
    a: float = 5.0
    u: float = 0.5


TABLE = {
    "continuous": Family(
        lambda z, a, u: np.exp(-a * np.abs(z - u).sum(axis=1)),
        lambda d, a, u: (-(math.expm1(-a * u) + math.expm1(-a * (1 - u))) / a) ** d,
        a=1.3,
        u=0.55,
    ),
    "discontinuous": Family(
        # Genz cuts the first two coordinates; the paper cuts every one.
        lambda z, a, u: np.where(np.any(z > u, axis=1), 0.0, np.exp(a * z.sum(axis=1))),
        lambda d, a, u: (math.expm1(a * u) / a) ** d,
    ),
    "gaussian": Family(
        lambda z, a, u: np.exp(-(a**2) * ((z - u) ** 2).sum(axis=1)),
        lambda d, a, u: (
            (math.sqrt(math.pi) / (2 * a) * (math.erf(a * (1 - u)) + math.erf(a * u))) ** d
        ),
    ),
    "corner": Family(
        lambda z, a, u: (1 + a * z.sum(axis=1)) ** -(z.shape[1] + 1.0),
        # B(1/a, d+1) / (a^(d+1) d!): the gamma functions telescope into a product, no overflow.
        lambda d, a, u: 1.0 / math.prod(1.0 + k * a for k in range(1, d + 1)),
    ),
    "oscillatory": Family(
        lambda z, a, u: np.cos(2 * math.pi * u + a * z.sum(axis=1)),
        # Real part of a product of d equal complex integrals: nothing cancels.
        lambda d, a, u: math.cos(2 * math.pi * u + d * a / 2) * (math.sin(a / 2) / (a / 2)) ** d,
    ),
    "product": Family(
        lambda z, a, u: np.prod(1 / (a**-2 + (z - u) ** 2), axis=1),
        lambda d, a, u: (a * (math.atan(a * (1 - u)) + math.atan(a * u))) ** d,
    ),
}

FAMILIES = tuple(TABLE)


def genz(family: str, d: int, a: float | None = None, u: float | None = None) -> Problem[float]:
    """One Genz integral under N(0, I_d).

    Args:
        family: one of `FAMILIES`.
        d: number of coordinates.
        a: steepness, the same in every coordinate; the paper's by default (1.3 for continuous,
            5 for the others).
        u: position of the peak, kink or jump in [0, 1]; the paper's by default (0.55 for
            continuous, 0.5 for the others). The corner family does not use it.

    >>> round(genz("corner", 2).truth, 6)
    0.015152
    """
    if family not in TABLE:
        raise InputError(f"family is {family!r}; choose one of {', '.join(FAMILIES)}.")
    entry, d = TABLE[family], as_count("d", d, 1)
    steep = _number("a", entry.a if a is None else a)
    place = _number("u", entry.u if u is None else u)
    if not steep > 0:
        raise InputError(f"a is {steep:g}; pass a positive number.")
    if not 0 <= place <= 1:
        raise InputError(f"u is {place:g}; pass a number in [0, 1].")

    def integrand(x: Any) -> Array:
        return entry.function(ndtr(as_points("x", x, d)), steep, place)

    return Problem(
        name=f"genz-{family}-{d}d",
        integrand=integrand,
        measure=standard_normal(d),
        truth=entry.integral(d, steep, place),
        source=f"Genz (1984) {family} family with a = {steep:g}, u = {place:g}, in the form of "
        "Ott, Tiemann, Hennig and Briol (UAI 2023); the truth is in closed form.",
    )


def _number(name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise InputError(f"{name} is {value!r}; pass one finite number.")
    return number
