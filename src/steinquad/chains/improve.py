"""Control variates for many outputs at once, each with the features that held-out draws prefer.

Draws are held out in consecutive blocks. Features are fitted to the complement of each block, and
factored once, `Phi = Q R`, for all outputs; nested families of features are leading blocks of R.
What is left of an output, `f - Phi w` with Phi and w of the other blocks, has the mean of f and is
averaged; its autocorrelation is in the standard error. No features at all, the plain mean, is a
candidate too.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.linalg
from scipy.special import stdtrit

from steinquad._types import Array
from steinquad.chains.identity import least_effective_size
from steinquad.checking.cross_fit import ROUNDING, parts
from steinquad.checking.standard_error import (
    FALSE_ALARM,
    robust_standard_error,
    standard_error,
    tail_freedom,
)
from steinquad.dataset import Dataset
from steinquad.methods.base import constant_outputs
from steinquad.stein.features import HYPERBOLIC_FROM, Features
from steinquad.stein.score_polynomials import ScorePolynomials
from steinquad.stein.score_quadratics import ScoreQuadratics

__all__ = ["FEWEST", "Answers", "improve", "plain"]

FOLDS = 5
FEWEST = 20  # draws from which features are tried
# Numbers in the features beyond squares: all products of coordinates, and higher polynomials.
MOST_PRODUCTS, MOST_POLYNOMIALS = 12_000_000, 7_000_000
SPARSE = 4  # products for each parameter where all are too many
HIGHEST_ORDER = 10
DRAWS_A_FEATURE = 4  # held-in draws for each feature at least
RIDGES = (1e-20, 1e-2, 1e-1)  # on features beyond squares, relative to their variance
# Sound features imitate a constant by their number over that of independent draws; up to so many
# times that is believed, with some more features for the chance of few.
IMITATION, FEW_FEATURES = 3.0, 5
LEAST_FREEDOM = 10.0  # of residuals, by their kurtosis
PLAIN = "plain mean"
CLEARLY = 0.95  # of the standard error of fewer features, below which more are used


@dataclass(frozen=True, eq=False)
class Answers:
    """For k outputs, (k,) each.

    Attributes:
        plain: average of the draws.
        mcse: its standard error.
        mean: the better answer.
        std: its standard error.
        dof: degrees of freedom of `std`.
        plain_dof: those of `mcse`.
        method: what it was found with.
    """

    plain: Array
    mcse: Array
    mean: Array
    std: Array
    dof: Array
    plain_dof: Array
    method: tuple[str, ...]


def plain(data: Dataset) -> Answers:
    """Averages of the draws with standard errors that count their autocorrelation."""
    mean, std, dof = _average(data.fx, data)
    std[constant_outputs(data)] = 0.0
    names = tuple("constant" if c else PLAIN for c in constant_outputs(data))
    return Answers(mean, std, mean, std, dof, dof, names)


def improve(data: Dataset) -> Answers:
    """The best of the plain mean and Stein polynomials of every order, for every output.

    Args:
        data: draws with scores, in chains (`groups`).
    """
    before = plain(data)
    varying = np.flatnonzero(before.mcse > 0)
    if data.n < FEWEST or not len(varying):
        return before
    best = _Best(data, data.fx[:, varying], before.mcse[varying], before.plain_dof[varying])
    assert data.score is not None
    size = least_effective_size(data.score, data)
    blocks = parts(data, FOLDS, seed=0)  # chains are cut in their order
    for family in _families(data, min(data.n - len(block) for block in blocks)):
        for order in family.held_out(data, best.values, blocks):
            if order.imitation <= IMITATION * (order.size + FEW_FEATURES) / size:
                best.meet(order.name, np.sqrt(1 + order.imitation), order.fits)
    mean, std, dof, methods = before.mean, before.std, before.dof, list(before.method)
    changed = np.flatnonzero(best.name != PLAIN)
    if len(changed):
        at = varying[changed]
        mean, std, dof = mean.copy(), std.copy(), dof.copy()
        mean[at], error, dof[at] = _average(best.left[:, changed], data)
        error = np.maximum(error * best.spread[changed], best.error[changed])
        std[at] = np.hypot(error, best.truncation[changed])
        for j in changed:
            methods[varying[j]] = str(best.name[j])
    return Answers(before.plain, before.mcse, mean, std, dof, before.plain_dof, tuple(methods))


class _Best:
    """What is left of every output after the best features so far, (n, k), and its error."""

    def __init__(self, data: Dataset, values: Array, mcse: Array, dof: Array) -> None:
        self.weights = data.effective_weights
        self.values = values
        self.left = values.copy()
        self.error = robust_standard_error(values, self.weights)[0]
        self.least = ROUNDING * np.abs(values).max(axis=0)
        self.name = np.full(values.shape[1], PLAIN, dtype=object)
        self.spread = np.ones(values.shape[1])
        self.truncation = np.zeros(values.shape[1])
        # A fit that moves the average by more than chance explains is not believed, nor one
        # whose residuals are large at a handful of draws only.
        self.farthest = stdtrit(dof, 1 - FALSE_ALARM / 2) * mcse
        self.freedom = np.minimum(tail_freedom(values, self.weights), LEAST_FREEDOM)
        self.before: tuple[Array, Array] | None = None

    def meet(self, name: str, spread: float, fits: Iterator[Array]) -> None:
        """Take the fits of a further order for the outputs where one of them is better.

        Args:
            name: of the order.
            spread: factor by which errors of the weights widen the standard error.
            fits: what each leaves of the outputs, (n, k).
        """
        total = self.weights.sum()
        means, errors = self.weights @ self.values / total, np.full_like(self.error, np.inf)
        for left in fits:
            error = spread * robust_standard_error(left, self.weights)[0]
            error = np.maximum(error, self.least)
            mean = self.weights @ left / total
            closer = error < errors
            means[closer], errors[closer] = mean[closer], error[closer]
            moved = np.abs(mean - self.weights @ self.values / total)
            sound = tail_freedom(left, self.weights) >= self.freedom
            better = (error < CLEARLY * self.error) & sound & (moved <= self.farthest)
            self.left[:, better], self.error[better] = left[:, better], error[better]
            self.name[better], self.spread[better] = name, spread
            self.truncation[better] = self._truncation(mean, error)[better]
        self.before = means, errors

    def _truncation(self, mean: Array, error: Array) -> Array:
        """For the orders left out, (k,): the last step, fallen as the residuals have.

        No residual tells of tails that no draw has seen, but the step from the order before does.
        """
        if self.before is None:
            return np.zeros_like(mean)
        mean_before, error_before = self.before
        fallen = np.minimum(error / np.maximum(error_before, self.least), 1.0)
        return np.abs(mean - mean_before) * fallen


def _average(values: Array, data: Dataset) -> tuple[Array, Array, Array]:
    """Mean, standard error and its degrees of freedom, each output by itself."""
    weights = data.effective_weights
    found = [standard_error(values[:, [j]], weights, data.groups) for j in range(values.shape[1])]
    std = np.array([float(error[0]) for error, _ in found])
    return weights @ values / weights.sum(), std, np.array([dof for _, dof in found])


class _Order(NamedTuple):
    """Features of one order.

    Attributes:
        name: for the table.
        size: how many.
        imitation: how well they imitate a constant; see `_Factored.imitation`.
        fits: `f - Phi w` with the w of the other blocks, (n, k), for every penalty.
    """

    name: str
    size: int
    imitation: float
    fits: Iterator[Array]


@dataclass(frozen=True, eq=False)
class _Family:
    """Nested features.

    Attributes:
        features: to be fitted to a part of the draws.
        orders: to be tried, in increasing order, with their names.
        free: up to this order their weights are not shrunk.
    """

    features: Features
    orders: Mapping[int, str]
    free: int

    def held_out(
        self, data: Dataset, values: Array, blocks: Sequence[np.ndarray]
    ) -> Iterator["_Order"]:
        """Every order, fitted outside of each block."""
        factors = [self._factor(data, values, block) for block in blocks]
        for order, name in self.orders.items():
            imitation = float(np.mean([each.imitation(order) for each in factors]))
            left = self._left(order, values, blocks, factors)
            yield _Order(name, factors[0].sizes[order], imitation, left)

    def _left(
        self,
        order: int,
        values: Array,
        blocks: Sequence[np.ndarray],
        factors: Sequence["_Factored"],
    ) -> Iterator[Array]:
        for ridge in RIDGES if order > self.free else RIDGES[:1]:
            left = values.copy()
            for block, each in zip(blocks, factors, strict=True):
                left[block] -= each.prediction(order, self.free, ridge)
            yield left

    def _factor(self, data: Dataset, values: Array, block: np.ndarray) -> "_Factored":
        """Fit and factor the draws outside of a block."""
        rest = np.ones(data.n, dtype=bool)
        rest[block] = False
        others = data.take(np.flatnonzero(rest))
        features = self.features.fit(others, None)
        assert data.score is not None
        highest = max(self.orders)
        phi = features(data.x, data.score, highest)
        w = data.effective_weights[rest]
        own, y = phi[rest], values[rest]
        own = own - w @ own / w.sum()
        scale = np.sqrt(w @ own**2 / w.sum())
        scale[scale == 0] = 1.0
        root = np.sqrt(w)[:, None]
        q, r = np.linalg.qr(root * own / scale)
        projected = q.T @ (root * (y - w @ y / w.sum()))
        sizes = {order: features.size(order) for order in range(1, highest + 1)}
        every = data.effective_weights / data.effective_weights.sum()
        return _Factored(
            r, projected, phi[block] / scale, every @ phi / scale, float(w.sum()), sizes
        )


@dataclass(frozen=True, eq=False)
class _Factored:
    """The fit outside of a block, and the features in it."""

    r: Array
    projected: Array  # Q^T f
    phi: Array
    mean: Array  # of the features over all draws
    total: float
    sizes: Mapping[int, int]

    def imitation(self, order: int) -> float:
        """`m^T S^-1 m` for the mean m and the covariance S of the features over the draws.

        The expectation of m is zero, so for sound features this is their number over that of
        independent draws. Where the draws have not seen the region by which features of heavy
        tails come to mean zero, a combination of them is constant but for there: no residual
        tells the answer from another, and this is large. The variance of an intercept beside
        features is 1 plus this times that of an average.
        """
        size = self.sizes[order]
        r = self.r[:size, :size]
        tiny = np.finfo(float).eps * np.abs(np.diag(r)).max()
        r = r + np.diag(np.where(np.abs(np.diag(r)) < tiny, tiny, 0.0))
        half = scipy.linalg.solve_triangular(r.T, self.mean[:size], lower=True, check_finite=False)
        return float(self.total * np.sum(half**2))

    def prediction(self, order: int, free: int, ridge: float) -> Array:
        """`Phi w` in the block, for the w of least |R w - Q^T f|^2 + |D w|^2."""
        size = self.sizes[order]
        shrunk = np.arange(size) >= self.sizes[min(free, order)]
        diagonal = np.sqrt(self.total * np.where(shrunk, ridge, RIDGES[0]))
        # Factored once more rather than squared: R may be nearly singular.
        stacked = np.concatenate([self.r[:size, :size], np.diag(diagonal)])
        q, upper = np.linalg.qr(stacked)
        z = q[:size].T @ self.projected[:size]
        return self.phi[:, :size] @ scipy.linalg.solve_triangular(upper, z, check_finite=False)


def _families(data: Dataset, held_in: int) -> Iterator[_Family]:
    """The features worth trying with `held_in` draws to fit them to."""
    most = held_in // DRAWS_A_FEATURE
    if data.dim > 1:
        yield from _quadratics(data, most)
    polynomials = ScorePolynomials().fit(data, None)
    orders = polynomials.orders(min(most, MOST_POLYNOMIALS // data.n))
    lowest = 1 if data.dim == 1 else 3  # the lower ones have been tried
    orders = [
        order
        for order in orders
        if lowest <= order <= HIGHEST_ORDER and not polynomials.trouble(data, order)
    ]
    kind = "order" if data.dim < HYPERBOLIC_FROM else "hyperbolic order"
    if orders:
        yield _Family(ScorePolynomials(), {order: f"{kind} {order}" for order in orders}, free=2)


def _quadratics(data: Dataset, most: int) -> Iterator[_Family]:
    """All products of coordinates if there is room for them, else the strongest."""
    d = data.dim
    names = {k: name for k, name in {1: "order 1", 2: "order 2, squares"}.items() if k * d <= most}
    every, room = d * (d - 1) // 2, min(most, MOST_PRODUCTS // data.n) - 2 * d
    count = every if every <= room else min(room, SPARSE * d)
    if count == every:
        names[3] = "order 2"
    elif count >= d:
        names[3] = f"order 2, {count} products"
    if names:
        yield _Family(ScoreQuadratics(products=count if 3 in names else 0), names, free=2)
