"""Stein images of gradients of polynomials: mean zero under any measure with a score.

`S[grad phi] = score . grad phi + laplacian phi` for Hermite polynomials phi of the whitened
coordinates ("zero-variance control variates"); under a standard normal that is -degree times phi
itself. On a bounded support the fields carry the boundary factors and coordinates are only scaled.
"""

from dataclasses import dataclass, replace

import numpy as np

from steinquad._types import Array
from steinquad.dataset import Dataset, still_obstacle
from steinquad.measures.affine import Affine
from steinquad.measures.base import Measure
from steinquad.points import Points, missing_score
from steinquad.stein.features import PolynomialFeatures
from steinquad.stein.multi_indices import index_set
from steinquad.stein.multipliers import Boundary, Constant, Multiplier
from steinquad.stein.orthonormal import hermite
from steinquad.support import Support

__all__ = ["ScorePolynomials", "heavy_tail"]

# Between the 90 and 99 % quantiles of |z|, -z score grows as |z|^2 under normal tails, as |z|
# under exponential ones, and levels off under power tails (Student t, nu = 5: |z|^0.8).
SLOWEST_GROWTH = 0.85
FEWEST_FOR_TAILS = 500


@dataclass(frozen=True)
class ScorePolynomials(PolynomialFeatures):
    """Stein images of the gradients of Hermite polynomials in standardized coordinates.

    For any measure with a score, few dimensions and tails that are not heavy.

    Attributes:
        affine: standardized coordinates; set by `fit`.
        multiplier: boundary factors, or none; set by `fit`.
        name: for tables.
        highest: order worth trying.
    """

    affine: Affine | None = None
    multiplier: Multiplier | None = None
    name: str = "Stein(polynomials)"
    highest: int = 30

    def obstacle(self, data: Dataset, measure: Measure | None) -> str | None:
        """Scores and coordinates that vary are needed.

        They may come with the data or from the measure. The support may have bounds, where
        boundary factors make the fields vanish, but tails should not be heavy; see `trouble`.
        """
        return missing_score(data, measure) or still_obstacle(data)

    def fit(self, data: Dataset, measure: Measure | None) -> "ScorePolynomials":
        """Whiten, or scale and add boundary factors where the support is bounded.

        Whitening would mix a bounded coordinate with others, whose boundary factor could then no
        longer vanish on its faces alone.

        Args:
            data: points with scores; its support decides which of the two.
            measure: not used.
        """
        assert data.score is not None
        support = data.support or Support.real(data.dim)
        multiplier: Multiplier = Boundary() if support.bounded else Constant()
        return replace(
            self,
            affine=Affine.fit(
                data.x, "diagonal" if support.bounded else "whiten", data.effective_weights
            ),
            multiplier=multiplier.fit(Points(data.x, data.score), support),
            dim=data.dim,
        )

    def __call__(self, x: Array, score: Array | None, order: int) -> Array:
        """`sum_i drift_i d_i phi + m_i d_i^2 phi`, over the degree of phi."""
        assert self.affine is not None and self.multiplier is not None and score is not None
        value, slope = self.multiplier(Points(x, score))
        z = self.affine.points(x)
        drift = self.affine.score(value * score + slope)
        tables = [_hermite(z[:, i], order) for i in range(self.dim)]
        # What coordinate i contributes where the others are not differentiated.
        images = [drift[:, i] * tables[i][1] + value[:, i] * tables[i][2] for i in range(self.dim)]
        indices = index_set(self.dim, order)
        result = np.zeros((len(indices), len(x)))
        for row, index in zip(result, indices, strict=True):
            active = np.flatnonzero(index)
            for i in active:
                term = images[i][index[i]].copy()
                for j in active:
                    if j != i:
                        term *= tables[j][0][index[j]]
                row += term
            # Under a standard normal the image is -degree times phi: all columns of unit size.
            row /= index.sum()
        return result.T

    def trouble(self, data: Dataset, order: int) -> str | None:
        """Heavy tails: a polynomial of order p grows as |x|^(p - 2) there.

        The images have a finite variance only if twice that power is below the tail index. Bounded
        coordinates have no tails and are passed over; the first coordinate in trouble is named.
        """
        assert self.affine is not None and data.score is not None
        z, drift = self.affine.points(data.x), self.affine.score(data.score)
        for i in range(self.dim):
            bounded = data.support is not None and i in data.support.bounded
            index = None if bounded else heavy_tail(z[:, i], drift[:, i])
            if index is not None and 2 * (order - 2) >= index:
                return (
                    f"coordinate {data.names[i]} has heavy tails (tail index about {index:.1f}), "
                    f"where polynomials of order {order} may have no variance; use a lower order, "
                    "or sq.BSN(multiplier=sq.multipliers.InverseQuadratic())"
                )
        return None


def heavy_tail(z: Array, score: Array) -> float | None:
    """Tail index nu of a density that falls like |z|^-(nu + 1), None for lighter tails.

    Args:
        z: draws of one coordinate, (n,); with less than 500 nothing is said.
        score: derivative of the log density there, (n,).
    """
    if len(z) < FEWEST_FOR_TAILS:
        return None
    radius, pull = np.abs(z), -z * score
    inner, outer = np.quantile(radius, [0.9, 0.99])
    near = np.abs(radius - inner) < 0.1 * inner
    far = radius >= outer
    if not np.median(radius[far]) > inner > 0:
        return None
    low, high = np.median(pull[near]), np.median(pull[far])
    if low <= 0 or high <= 0:
        return None
    growth = np.log(high / low) / np.log(np.median(radius[far]) / inner)
    return float(max(high - 1.0, 0.0)) if growth < SLOWEST_GROWTH else None


def _hermite(z: Array, order: int) -> tuple[Array, Array, Array]:
    """Normalized Hermite polynomials and their first two derivatives, each (order + 1, n)."""
    values = hermite(highest=order)(z, order).T
    k = np.arange(order + 1.0)[:, None]
    first, second = np.zeros_like(values), np.zeros_like(values)
    first[1:] = np.sqrt(k[1:]) * values[:-1]
    second[2:] = np.sqrt(k[2:] * (k[2:] - 1)) * values[:-2]
    return values, first, second
