"""Stein images of quadratics in the coordinates as they are, for many dimensions.

`S[C grad phi] = (C score) . grad phi + sum_ij C_ij d_i d_j phi` has mean zero for every matrix C;
here phi = y_i, y_i^2 / 2 and y_i y_j of centered coordinates y, and -C is the regression of y on
the score. Under a normal distribution `y = -C score` exactly, so the image of y_i is -y_i and that
of y_i^2 / 2 is C_ii - y_i^2: means are exact with d features and variances with 2 d, whatever the
correlations, where polynomials of whitened coordinates need all d (d + 3) / 2.
"""

from dataclasses import dataclass, replace

import numpy as np

from steinquad._types import Array
from steinquad.dataset import Dataset
from steinquad.measures.affine import Affine
from steinquad.measures.base import Measure
from steinquad.stein.features import Features
from steinquad.stein.product_screening import strongest_products

__all__ = ["ScoreQuadratics"]


@dataclass(frozen=True, eq=False)
class ScoreQuadratics(Features):
    """Linear functions (order 1), squares (order 2) and products (order 3) of coordinates.

    Attributes:
        products: how many, those that `fit` finds most promising for its outputs; None for all.
        affine: coordinates y.
        matrix: C, in those coordinates.
        pairs: i and j of each product.
        name: for tables.
        highest: order.
    """

    products: int | None = None
    affine: Affine | None = None
    matrix: Array | None = None
    pairs: tuple[np.ndarray, np.ndarray] | None = None
    name: str = "Stein(quadratics)"
    highest: int = 3

    def obstacle(self, data: Dataset, measure: Measure | None) -> str | None:
        """Scores on all of R^d are needed.

        There are no boundary factors here: a matrix C that mixes coordinates would not keep the
        field tangential to the faces of a box. Use `ScorePolynomials` on bounded supports.
        """
        if data.score is None or (data.support is not None and data.support.bounded):
            return "score is missing or the support has bounds; pass scores on all of R^d."
        return None

    def fit(self, data: Dataset, measure: Measure | None) -> "ScoreQuadratics":
        """Scale the coordinates, regress them on the scores, and choose the products.

        The regression is weighted by the weights of the draws; products are screened against what
        features of the first two orders leave of the outputs.

        Args:
            data: points, outputs and scores on all of R^d.
            measure: not used.
        """
        assert data.score is not None
        weights = data.effective_weights
        affine = Affine.fit(data.x, "diagonal", weights)
        root = np.sqrt(weights)[:, None]
        y, score = affine.points(data.x), affine.score(data.score)
        centered = score - weights @ score / weights.sum()
        solution = np.linalg.lstsq(root * centered, root * y, rcond=None)[0]
        matrix, all_of_them = -solution.T, data.dim * (data.dim - 1) // 2
        count = all_of_them if self.products is None else min(self.products, all_of_them)
        pairs = np.triu_indices(data.dim if count else 0, 1)
        fitted = replace(self, affine=affine, matrix=matrix, pairs=pairs)
        if count in (0, all_of_them):
            return fitted
        lower, drift = fitted(data.x, data.score, 2), score @ matrix.T
        pairs = strongest_products(y, drift, lower, data.fx, weights, count)
        return replace(fitted, pairs=pairs)

    def size(self, order: int) -> int:
        """Those of the first two orders are d each.

        Order 3 adds one feature for each chosen pair, at most d (d - 1) / 2; higher orders are the
        same as order 3.
        """
        assert self.affine is not None and self.pairs is not None
        dim = len(self.affine.shift)
        return (dim, 2 * dim, 2 * dim + len(self.pairs[0]))[min(order, 3) - 1]

    def degrees(self, order: int) -> Array:
        """1 and 2.

        Linear features come first, with degree 1; squares and products of coordinates follow with
        degree 2. A prior may treat the two groups differently.
        """
        return np.where(np.arange(self.size(order)) < self.size(1), 1.0, 2.0)

    def __call__(self, x: Array, score: Array | None, order: int) -> Array:
        """The images, (n, size)."""
        assert self.affine is not None and self.matrix is not None and score is not None
        y, c = self.affine.points(x), self.matrix
        drift = self.affine.score(score) @ c.T
        parts = [drift]
        if order >= 2:
            parts.append(y * drift + np.diag(c))
        if order >= 3:
            assert self.pairs is not None
            i, j = self.pairs
            parts.append(y[:, i] * drift[:, j] + y[:, j] * drift[:, i] + c[i, j] + c[j, i])
        return np.concatenate(parts, axis=1)
