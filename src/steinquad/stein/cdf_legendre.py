"""Legendre polynomials of the distribution functions: mean zero under independent coordinates.

If x_i has the continuous distribution function F_i, then `U_i = F_i(x_i)` is uniform, and products
of orthonormal Legendre polynomials of `2 U_i - 1` have mean zero as long as the U_i are
independent. They are bounded, need no score, and no boundary factor.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.polynomial import legendre

from steinquad._types import Array
from steinquad.dataset import Dataset
from steinquad.measures.base import Measure
from steinquad.measures.factors import Factors
from steinquad.stein.features import PolynomialFeatures
from steinquad.stein.multi_indices import index_set, products

__all__ = ["CdfLegendre"]


@dataclass(frozen=True)
class CdfLegendre(PolynomialFeatures):
    """Tensor Legendre polynomials of the exact distribution functions; normals are whitened.

    Orthonormal, so that regression on them is well conditioned; for product measures.

    Attributes:
        distribution: measure with a cdf, or its independent factors; set by `fit`.
        name: for tables.
    """

    distribution: Measure | Factors | None = None
    name: str = "Legendre(cdf)"
    needs_score: bool = False

    def obstacle(self, data: Dataset, measure: Measure | None) -> str | None:
        """Independent coordinates with a known cdf are needed, perhaps after whitening.

        A measure that has no cdf of its own may still have one component of independent factors in
        whitened coordinates, as a multivariate normal does; mixtures do not.
        """
        del data
        if _distribution(measure) is not None:
            return None
        what = "no measure was given" if measure is None else f"{type(measure).__name__} has none"
        return (
            "polynomials of the cdf need independent coordinates with known distribution "
            f"functions, and {what}; use features='score', or a measure with a cdf."
        )

    def fit(self, data: Dataset, measure: Measure | None) -> "CdfLegendre":
        """Remember the distribution functions.

        Nothing is estimated from the points, which is why these features keep mean zero exactly.

        Args:
            data: only its dimension is read.
            measure: one for which `obstacle` gave None.
        """
        return replace(self, distribution=_distribution(measure), dim=data.dim)

    def uniform(self, x: Array) -> Array:
        """The points as uniform variables, (n, d).

        Each coordinate through its distribution function, whitened first if need be.
        """
        if isinstance(self.distribution, Factors):
            z = self.distribution.affine.points(x)
            marginals = self.distribution.components[0]
            return np.stack([each.cdf(z[:, i]) for i, each in enumerate(marginals)], axis=1)
        assert self.distribution is not None, "call fit first"
        return self.distribution.cdf(x)

    def __call__(self, x: Array, score: Array | None, order: int) -> Array:
        """Products of orthonormal Legendre polynomials."""
        del score
        t = 2.0 * self.uniform(x) - 1.0
        norms = np.sqrt(2.0 * np.arange(order + 1) + 1.0)
        tables = [np.asarray(legendre.legvander(t_i, order) * norms, np.float64) for t_i in t.T]
        # Column by column in memory: a regression goes through them one after the other.
        return np.asfortranarray(products(tables, index_set(self.dim, order)))


def _distribution(measure: Measure | None) -> Measure | Factors | None:
    if measure is None:
        return None
    if "cdf" in measure.provides:
        return measure
    known = measure.factors()
    return known if known is not None and known.independent else None
