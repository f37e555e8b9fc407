"""Polynomial chaos: products of orthonormal polynomials of independent coordinates.

Each product has mean zero, variance one and no correlation with any other, so the variance of a
model is the sum of its squared coefficients.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal
from weakref import WeakKeyDictionary

import numpy as np

from steinquad._types import Array
from steinquad.measures.base import Measure
from steinquad.measures.factors import Factors
from steinquad.measures.marginal import Marginal
from steinquad.stein.orthonormal import NormalScores, Orthonormal, Polynomials

__all__ = ["Chaos", "hyperbolic"]


# Of every measure that is alive: quantiles of some distributions are found by descent.
_kept: WeakKeyDictionary[Measure, dict[str, "Chaos | None"]] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class Chaos:
    """The families of all coordinates; made by `Chaos.of`.

    Attributes:
        factors: of the measure, with the coordinates in which they are independent.
        families: of polynomials, one for each coordinate.
    """

    factors: Factors
    families: tuple[Polynomials, ...]

    @classmethod
    def of(
        cls, measure: Measure | None, coordinates: Literal["own", "scores"] = "own"
    ) -> "Chaos | None":
        """The chaos of a measure with independent coordinates, perhaps after whitening, or None.

        Args:
            measure: what the points were drawn from, when known.
            coordinates: "own" for polynomials of each coordinate itself where its distribution
                has them, "scores" for those of the normal scores of all that are neither normal
                nor uniform.
        """
        if measure is None:
            return None
        kept = _kept.setdefault(measure, {})
        if coordinates not in kept:
            kept[coordinates] = cls._made(measure, coordinates)
        return kept[coordinates]

    @classmethod
    def _made(cls, measure: Measure, coordinates: Literal["own", "scores"]) -> "Chaos | None":
        known = measure.factors()
        if known is None or not known.independent:
            return None
        families: list[Polynomials] = []
        for marginal in known.components[0]:
            own = coordinates == "own" or _classical(marginal)
            families.append((own and Orthonormal.of(marginal)) or NormalScores(marginal))
        return cls(known, tuple(families))

    @property
    def classical(self) -> bool:
        """Whether normal scores would be the same: every coordinate is normal or uniform."""
        return all(map(_classical, self.factors.components[0]))

    def tables(self, x: Array, degree: int) -> list[Array]:
        """Polynomials of every coordinate up to a degree, or their highest, at points (n, d)."""
        z = self.factors.affine.points(x)
        return [
            family(z[:, i], min(degree, family.highest)) for i, family in enumerate(self.families)
        ]

    def products(self, tables: Sequence[Array], indices: np.ndarray) -> Array:
        """Values of the products, (n, len(indices)), from the tables of the coordinates.

        Args:
            tables: of `tables`, to a degree as high as that of any index.
            indices: degrees in each coordinate, (S, d).
        """
        values = np.ones((len(tables[0]), len(indices)))
        for i, table in enumerate(tables):
            used = np.flatnonzero(indices[:, i])
            values[:, used] *= table[:, indices[used, i]]
        return values

    def __call__(self, x: Array, indices: np.ndarray) -> Array:
        """Values of the products at points, (n, d) -> (n, len(indices)).

        Polynomials are computed of those coordinates only that the products have.
        """
        z = self.factors.affine.points(x)
        values = np.ones((len(z), len(indices)))
        for i in np.flatnonzero(indices.any(axis=0)):
            used = np.flatnonzero(indices[:, i])
            table = self.families[i](z[:, i], int(indices[:, i].max()))
            values[:, used] *= table[:, indices[used, i]]
        return values

    def allowed(self, indices: np.ndarray) -> np.ndarray:
        """Of multi-indices (S, d) whose polynomials exist; under heavy tails few do."""
        return indices[(indices <= [family.highest for family in self.families]).all(axis=1)]


def _classical(marginal: Marginal) -> bool:
    """Whether it is uniform or normal, with polynomials that are those of its scores or better."""
    return marginal.kind == "uniform" or (marginal.kind == "normal" and not marginal.truncated)


@lru_cache(maxsize=64)
def hyperbolic(dim: int, order: int, norm: float, most: int) -> np.ndarray | None:
    """Multi-indices with `0 < sum_i k_i^norm <= order^norm`, (S, dim); None for more than `most`.

    Norm 1 has all of total degree `order`; the smaller it is, the fewer products are among them
    beside the powers of single coordinates.
    """
    powers = np.arange(order + 1, dtype=np.float64) ** norm
    indices, spent = np.zeros((1, dim), dtype=int), np.zeros(1)
    # Coordinate by coordinate, so that too many are noticed early.
    for i in range(dim):
        # The powers are sums of roots: rounding must not drop indices on the edge.
        fits = spent[:, None] + powers <= order**norm + 1e-9
        if fits.sum() > most + 1:
            return None
        heads, degrees = np.nonzero(fits)
        indices, spent = indices[heads], spent[heads] + powers[degrees]
        indices[:, i] = degrees
    return indices[1:]  # the constant has nothing to add
