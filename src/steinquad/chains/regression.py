"""Regressions on Stein polynomials, of which each is fitted without one block of the draws.

Features are factored once for all outputs, `Phi = Q R`; nested families of features are leading
blocks of R, so that every order costs a small triangular solve.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from steinquad._types import Array
from steinquad.dataset import Dataset
from steinquad.stein.features import Features
from steinquad.stein.multi_indices import HYPERBOLIC_FROM
from steinquad.stein.score_polynomials import ScorePolynomials
from steinquad.stein.score_quadratics import ScoreQuadratics

__all__ = ["SPARSE", "BlockFit", "Candidate", "candidates"]

# Numbers in the features beyond squares: all products of coordinates, and higher polynomials.
MOST_PRODUCTS, MOST_POLYNOMIALS = 12_000_000, 7_000_000
SPARSE = 4  # products for each parameter where all are too many
HIGHEST_ORDER = 10
DRAWS_A_FEATURE = 4  # held-in draws for each feature at least
FREE = 2  # the order up to which weights are not shrunk
RIDGES = (1e-20, 1e-2, 1e-1)  # on features beyond FREE, relative to their variance


@dataclass(frozen=True, eq=False)
class BlockFit:
    """A regression on the draws outside of a block, and the features of the draws in it.

    Attributes:
        r: triangular factor of the features outside, centered and of unit variance.
        projected: `Q^T f` there, (features, k).
        phi: features in the block, (block, features).
        mean: of the features over all draws, (features,).
        total: weight of the draws outside.
        sizes: number of features up to each order.
    """

    r: Array
    projected: Array
    phi: Array
    mean: Array
    total: float
    sizes: Mapping[int, int]

    def imitation(self, order: int) -> float:
        """How well features up to an order imitate a constant, `m^T S^-1 m`.

        m is their mean and S their covariance over the draws. The expectation of m is zero, so for
        sound features this is their number over that of independent draws. Where the draws have
        not seen the region by which features of heavy tails come to mean zero, a combination of
        them is constant but for there: no residual tells the answer from another, and this is
        large. The variance of an intercept beside features is 1 plus this times that of an
        average.
        """
        size = self.sizes[order]
        r = self.r[:size, :size]
        # Features that depend on each other leave zeros on the diagonal of R.
        tiny = np.finfo(float).eps * np.abs(np.diag(r)).max()
        r = r + np.diag(np.where(np.abs(np.diag(r)) < tiny, tiny, 0.0))
        half = scipy.linalg.solve_triangular(r.T, self.mean[:size], lower=True, check_finite=False)
        return float(self.total * np.sum(half**2))

    def prediction(self, order: int, ridge: float) -> Array:
        """What features up to an order say of the outputs in the block, `Phi w`, (block, k).

        Args:
            order: of the features.
            ridge: on weights beyond order `FREE`; w has the least `|R w - Q^T f|^2 + |D w|^2`.
        """
        size = self.sizes[order]
        shrunk = np.arange(size) >= self.sizes[min(FREE, order)]
        diagonal = np.sqrt(self.total * np.where(shrunk, ridge, RIDGES[0]))
        # Factored once more rather than squared: R may be nearly singular.
        stacked = np.concatenate([self.r[:size, :size], np.diag(diagonal)])
        q, upper = np.linalg.qr(stacked)
        z = q[:size].T @ self.projected[:size]
        return self.phi[:, :size] @ scipy.linalg.solve_triangular(upper, z, check_finite=False)


@dataclass(frozen=True, eq=False)
class Candidate:
    """Nested features to be tried.

    Attributes:
        features: to be fitted to a part of the draws.
        orders: to be tried, in increasing order, each with its name for the table.
    """

    features: Features
    orders: Mapping[int, str]

    def ridges(self, order: int) -> Sequence[float]:
        """The penalties to be tried with features of this order; only high orders are shrunk."""
        return RIDGES if order > FREE else RIDGES[:1]

    def fit_outside(self, data: Dataset, values: Array, block: np.ndarray) -> BlockFit:
        """Fit the features, and the outputs by them, to all draws but those of a block.

        Args:
            data: draws with scores.
            values: outputs to be explained, (n, k).
            block: rows that the fit must not see.
        """
        assert data.score is not None
        outside = np.ones(data.n, dtype=bool)
        outside[block] = False
        features = self.features.fit(data.take(np.flatnonzero(outside)), None)
        highest = max(self.orders)
        phi = features(data.x, data.score, highest)
        w = data.effective_weights[outside]
        own, y = phi[outside], values[outside]
        own = own - w @ own / w.sum()
        scale = np.sqrt(w @ own**2 / w.sum())
        scale[scale == 0] = 1.0  # a feature that is constant outside of the block
        root = np.sqrt(w)[:, None]
        q, r = np.linalg.qr(root * own / scale)
        every = data.effective_weights / data.effective_weights.sum()
        return BlockFit(
            r=r,
            projected=q.T @ (root * (y - w @ y / w.sum())),
            phi=phi[block] / scale,
            mean=every @ phi / scale,
            total=float(w.sum()),
            sizes={order: features.size(order) for order in range(1, highest + 1)},
        )


def candidates(data: Dataset, held_in: int, sparse: int = SPARSE) -> Iterator[Candidate]:
    """The features worth trying on such draws, those of low orders first.

    Args:
        data: draws with scores.
        held_in: how many of them there are to fit the features to, at the least.
        sparse: products of two coordinates for each parameter, where all would be too many.
    """
    most = held_in // DRAWS_A_FEATURE
    if data.dim > 1:
        yield from _quadratics(data, most, sparse)
    polynomials = ScorePolynomials().fit(data, None)
    lowest = 1 if data.dim == 1 else 3  # the lower ones have been tried
    kind = "order" if data.dim < HYPERBOLIC_FROM else "hyperbolic order"
    orders = {
        order: f"{kind} {order}"
        for order in polynomials.orders(min(most, MOST_POLYNOMIALS // data.n))
        if lowest <= order <= HIGHEST_ORDER and not polynomials.trouble(data, order)
    }
    if orders:
        yield Candidate(ScorePolynomials(), orders)


def _quadratics(data: Dataset, most: int, sparse: int) -> Iterator[Candidate]:
    """All products of coordinates if there is room for them, else the strongest."""
    d = data.dim
    names = {k: name for k, name in {1: "order 1", 2: "order 2, squares"}.items() if k * d <= most}
    every, room = d * (d - 1) // 2, min(most, MOST_PRODUCTS // data.n) - 2 * d
    count = every if every <= room else min(room, sparse * d)
    if count == every:
        names[3] = "order 2"
    elif count >= d:
        names[3] = f"order 2, {count} products"
    if names:
        yield Candidate(ScoreQuadratics(products=count if 3 in names else 0), names)
