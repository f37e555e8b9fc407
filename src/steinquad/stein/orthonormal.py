"""Polynomials that are orthonormal under the distribution of one coordinate.

Every distribution with finite moments has them, by the three-term recurrence

    b_(k+1) p_(k+1)(t) = (t - a_k) p_k(t) - b_k p_(k-1)(t),   p_0 = 1,

so all but the constant integrate to zero and products over independent coordinates do too. For a
normal they are Hermite's, for a uniform Legendre's; any other has its coefficients by the
procedure of Stieltjes on a quadrature of its density.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
import scipy.special

from steinquad._types import Array
from steinquad.measures.marginal import Marginal

__all__ = ["NormalScores", "Orthonormal", "Polynomials", "hermite"]

HIGHEST = 20  # degree up to which coefficients are computed
NODES, WEIGHTS = np.polynomial.legendre.leggauss(24)  # of each panel of a quadrature
HALVINGS = 50  # of the panels at an end, and of those in which a density has a kink
EXACT = 1e-15  # difference that halving a panel makes, below which it is left as it is
NEGLIGIBLE = 1e-13  # of the largest p_k^2 density, beyond which a tail is cut off
MASS_ERROR = 1e-9  # of the quadrature, beyond which a distribution counts as unknown
SCORE_LIMIT = 8.0  # of a normal score, where probabilities next to 1 have no digits left


class Polynomials(Protocol):
    """A family p_0 = 1, p_1, p_2, ... of one coordinate, orthonormal under its distribution."""

    @property
    def highest(self) -> int:
        """Largest degree that there is."""
        ...

    def __call__(self, x: Array, degree: int) -> Array:
        """Values of p_0 to p_degree, (n,) -> (n, degree + 1)."""
        ...


@dataclass(frozen=True, eq=False)
class Orthonormal:
    """Polynomials in the coordinate itself; made by `Orthonormal.of`.

    Attributes:
        center: subtracted from x.
        unit: by which x is then divided.
        a: diagonal of the recurrence in these units, (m,).
        b: beside the diagonal, (m,), the first one 0.
    """

    center: float
    unit: float
    a: Array
    b: Array

    @classmethod
    def of(cls, marginal: Marginal) -> "Orthonormal | None":
        """The family of a distribution, or None where quadrature does not find its moments.

        Args:
            marginal: of one coordinate. Families are kept, so equal coordinates share one.
        """
        return _family(marginal)

    @property
    def highest(self) -> int:
        """Largest degree whose coefficients are known; fewer where high moments do not exist."""
        return len(self.a)

    def __call__(self, x: Array, degree: int) -> Array:
        """Values of p_0 to p_degree by the recurrence, (n,) -> (n, degree + 1)."""
        t = (x - self.center) / self.unit
        values = np.ones((len(t), degree + 1))
        for k in range(degree):
            ahead = (t - self.a[k]) * values[:, k]
            if k:
                ahead -= self.b[k] * values[:, k - 1]
            values[:, k + 1] = ahead / self.b[k + 1]
        return values


@dataclass(frozen=True, eq=False)
class NormalScores:
    """Hermite polynomials of the normal score `Phi^-1(F(x))` of a coordinate.

    For distributions with heavy tails, whose own polynomials grow faster than draws can tell.

    Attributes:
        marginal: gives the distribution function F.
    """

    marginal: Marginal
    highest: int = HIGHEST

    def __call__(self, x: Array, degree: int) -> Array:
        """Values of the first polynomials of the scores, (n,) -> (n, degree + 1)."""
        scores = scipy.special.ndtri(self.marginal.cdf(x))
        return hermite()(np.clip(scores, -SCORE_LIMIT, SCORE_LIMIT), degree)


def hermite(center: float = 0.0, unit: float = 1.0, highest: int = HIGHEST) -> Orthonormal:
    """Those of a normal distribution.

    Args:
        center: its mean.
        unit: its standard deviation.
        highest: largest degree.
    """
    return Orthonormal(center, unit, np.zeros(highest), np.sqrt(np.arange(highest + 1.0)))


@lru_cache(maxsize=256)
def _family(marginal: Marginal) -> Orthonormal | None:
    if marginal.kind == "normal" and not marginal.truncated:
        return hermite(marginal.loc, marginal.scale)
    if marginal.kind == "uniform":
        k = np.arange(HIGHEST + 1.0)
        b = k / np.sqrt(np.maximum(4 * k**2 - 1, 1.0))
        half = (marginal.high - marginal.low) / 2
        return Orthonormal(marginal.loc, half, np.zeros(HIGHEST), b)
    nodes, weights = _quadrature(marginal)
    if not abs(weights.sum() - 1.0) < MASS_ERROR:
        return None
    family = _stieltjes(nodes, weights, marginal)
    return family if family.highest else None


def _quadrature(marginal: Marginal) -> tuple[Array, Array]:
    """Nodes and weights of the distribution, either side of the median by itself.

    A finite side is approached in probabilities, where a density may be infinite; an open one in
    x, because a probability next to 1 has no digits left.
    """
    sides, median = [], float(marginal.icdf(np.array([0.5]))[0])
    for probability, side in ((0.0, marginal.low), (1.0, marginal.high)):
        if np.isfinite(side):
            edges = probability + (0.5 - probability) * 0.5 ** np.arange(HALVINGS)
            sides.append(_refined(np.append(edges, probability), marginal, probable=True))
        else:
            far = float(marginal.icdf(np.array([abs(probability - 1e-6)]))[0]) - median
            edges = median + far * np.append(0.0, 0.1 * 1.25 ** np.arange(HALVINGS))
            sides.append(_refined(edges, marginal, probable=False))
    nodes, weights = (np.concatenate(part) for part in zip(*sides, strict=True))
    order = np.argsort(nodes)
    return nodes[order], weights[order]


def _refined(edges: Array, marginal: Marginal, *, probable: bool) -> tuple[Array, Array]:
    """A composite rule between edges, in probabilities or in x, halved where that matters."""

    def rule(starts: Array, ends: Array) -> tuple[Array, Array]:
        half = np.abs(ends - starts)[:, None] / 2
        at = ((starts + ends) / 2)[:, None] + half * NODES
        if probable:
            return marginal.icdf(at.ravel()).reshape(at.shape), half * WEIGHTS
        return at, half * WEIGHTS * marginal.pdf(at.ravel()).reshape(at.shape)

    def size(rule: tuple[Array, Array]) -> Array:
        nodes, weights = rule
        return np.sum(weights * (1.0 + ((nodes - marginal.loc) / marginal.scale) ** 2), axis=1)

    starts, ends = edges[:-1], edges[1:]
    kept: list[tuple[Array, Array]] = []
    for _ in range(HALVINGS):
        whole, middle = rule(starts, ends), (starts + ends) / 2
        halves = size(rule(starts, middle)) + size(rule(middle, ends))
        with np.errstate(invalid="ignore"):
            rough = np.abs(halves - size(whole)) > EXACT * np.maximum(halves, 1.0)
        kept.append((whole[0][~rough], whole[1][~rough]))
        starts, ends, middle = starts[rough], ends[rough], middle[rough]
        if not len(starts):
            break
        starts, ends = np.append(starts, middle), np.append(middle, ends)
    kept.append(rule(starts, ends))
    nodes, weights = (np.concatenate([each[i].ravel() for each in kept]) for i in (0, 1))
    return nodes, weights


def _stieltjes(nodes: Array, weights: Array, marginal: Marginal) -> Orthonormal:
    """The recurrence under a discrete measure, as far as its tails are negligible."""
    weights = weights / weights.sum()
    center = float(weights @ nodes)
    unit = float(np.sqrt(weights @ (nodes - center) ** 2))
    t = (nodes - center) / unit
    before, now = np.zeros_like(t), np.ones_like(t)
    a, b = [], [0.0]
    for _ in range(HIGHEST):
        a.append(float(weights @ (t * now**2)))
        ahead = (t - a[-1]) * now - b[-1] * before
        b.append(float(np.sqrt(weights @ ahead**2)))
        before, now = now, ahead / b[-1]
        mass = weights * now**2
        open_ends = [i for i, side in ((0, marginal.low), (-1, marginal.high)) if np.isinf(side)]
        if any(mass[i] > NEGLIGIBLE * mass.max() for i in open_ends):
            a.pop()  # the moment is cut off with the tail, or infinite
            b.pop()
            break
    return Orthonormal(center, unit, np.array(a), np.array(b))
