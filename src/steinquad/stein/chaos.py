"""Polynomial chaos: products of orthonormal polynomials of independent coordinates.

Each product has mean zero, variance one and no correlation with any other, so the variance of a
model is the sum of its squared coefficients.
"""

from dataclasses import dataclass
from typing import Literal
from weakref import WeakKeyDictionary

import numpy as np

from steinquad._types import Array
from steinquad.measures.base import Measure
from steinquad.measures.factors import Factors
from steinquad.measures.marginal import Marginal
from steinquad.stein.multi_indices import products
from steinquad.stein.orthonormal import NormalScores, Orthonormal, Polynomials

__all__ = ["Chaos"]

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

    def tables(self, x: Array, degrees: int | np.ndarray) -> list[Array]:
        """Polynomials of every coordinate at points (n, d), from degree 0 on; see `products`.

        Args:
            x: the points.
            degrees: the largest, of each coordinate (d,) or of all; no more than there are.
        """
        z = self.factors.affine.points(x)
        most = np.minimum(degrees, [family.highest for family in self.families]).tolist()
        return [
            family(z[:, i], k) if k else np.ones((len(z), 1))
            for i, (family, k) in enumerate(zip(self.families, most, strict=True))
        ]

    def __call__(self, x: Array, indices: np.ndarray) -> Array:
        """Values of the products at points, (n, d) -> (n, len(indices)).

        Polynomials are computed of those coordinates only that the products have.
        """
        return products(self.tables(x, indices.max(axis=0, initial=0)), indices)

    def allowed(self, indices: np.ndarray) -> np.ndarray:
        """Of multi-indices (S, d) whose polynomials exist; under heavy tails few do."""
        return indices[(indices <= [family.highest for family in self.families]).all(axis=1)]


def _classical(marginal: Marginal) -> bool:
    """Whether it is uniform or normal, with polynomials that are those of its scores or better."""
    return marginal.kind == "uniform" or (marginal.kind == "normal" and not marginal.truncated)
