"""Statistics through a fitted model of f, corrected where it is wrong.

A model g can be evaluated at any number of fresh draws, so its own distribution is known. How far
that of f is from it is learnt at the simulated points, each compared with a model that has not
seen it. For the chance of an event A

    P[f in A] = P[g in A] + E[1(f in A) - 1(g in A)],

and the last term is a difference of two chances in matched pairs: +1 at some points, -1 at others,
0 at most of them. Its interval comes from the score test of Tango (Statistics in Medicine 17,
1998), which has one also where all pairs agree: n points without a disagreement say no more
than that disagreements have a probability of about 4 / n. A bad model so costs width, not cover.
A quantile is where that test does not refuse its probability.

The std has no place here. A square is not bounded as an indicator is: what a model misses in tails
that no point has reached can be most of it, and n small residuals say nothing of that (an
exponential of a normal by polynomials, n = 120: such intervals covered 55 %).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from scipy.optimize import root_scalar
from scipy.special import ndtri

from steinquad._types import Array
from steinquad.summaries.simulated import TAIL
from steinquad.summaries.statistic import Statistic

__all__ = ["Surrogate", "chance", "quantile", "score_statistic"]

CRITICAL = -float(ndtri(TAIL))
ROUNDING = 1e-9  # of the range of the values
CELLS = 4000  # of equal probability under g, between which the ends of a quantile are found


@dataclass(frozen=True, eq=False)
class Surrogate:
    """Cross-fitted models of one output.

    Attributes:
        held: predictions at the simulated points, each by the model of the folds without it, (n,).
        fresh: predictions of every fold's model at the same fresh draws, (folds, m).
        shares: of the simulated points that are in each fold, (folds,).
    """

    held: Array
    fresh: Array
    shares: Array

    @cached_property
    def _sorted(self) -> Array:
        return np.sort(self.fresh, axis=1)

    def below(self, limits: Array, side: Literal["left", "right"]) -> Array:
        """`P[g < limit]`, or at most for the side `right`, averaged over the folds, (k,).

        Shares of the fresh draws, each fold's model weighted by its share of the simulated
        points.
        """
        parts = [np.searchsorted(row, limits, side) for row in self._sorted]
        return self.shares @ np.stack(parts) / self.fresh.shape[1]

    def noise(self, chances: Array) -> Array:
        """Variance of a chance from finitely many fresh draws, or a little more.

        Binomial, as if the folds' models were one: their average over the same draws varies no
        more. `chances` are from `below`, (k,).
        """
        return chances * (1 - chances) / self.fresh.shape[1]


def score_statistic(more: Array, less: Array, n: int, delta: Array, noise: Array) -> Array:
    """Standard normal if the chances in matched pairs differ by `delta`; decreases in it.

    Args:
        more: pairs of which only the first is in the event.
        less: those of which only the second is.
        n: all pairs.
        delta: difference of the two chances that is tested.
        noise: variance of what `delta` was found with.

    Returns:
        The statistic, infinite where the variance is zero and the counts do not match `delta`.
    """
    b = (2 * n - more + less) * delta - more - less
    c = -less * delta * (1 - delta)
    # Most likely chance q of pairs with only the second, given delta: 2 n q^2 + b q + c = 0.
    only_second = (np.sqrt(np.maximum(b**2 - 8 * n * c, 0.0)) - b) / (4 * n)
    variance = n * np.maximum(2 * only_second + delta * (1 - delta), 0.0) + n**2 * noise
    gap = more - less - n * delta
    sure = np.where(gap == 0, 0.0, np.copysign(np.inf, gap))
    return np.divide(gap, np.sqrt(variance), out=sure, where=variance > 0)


def chance(values: Array, model: Surrogate, kind: str, limit: float) -> Statistic:
    """`P[f > limit]` or `P[f < limit]` through a model, with the interval of the score test.

    Args:
        values: of f at the simulated points, (n,).
        model: cross-fitted models of this output.
        kind: "above" or "below".
        limit: of the event.

    Returns:
        The model's chance plus what pairs of value and prediction disagree by, and the chances
        that the test does not refuse.
    """
    if kind == "above":
        inside, guessed = values > limit, model.held > limit
        of_model = 1 - model.below(np.array([limit]), "right")
    else:
        inside, guessed = values < limit, model.held < limit
        of_model = model.below(np.array([limit]), "left")
    n, noise = len(values), model.noise(of_model)
    more, less = float(np.sum(inside & ~guessed)), float(np.sum(guessed & ~inside))

    def excess(p: float, sign: float) -> float:
        delta = p - of_model
        statistic = score_statistic(np.array([more]), np.array([less]), n, delta, noise)
        # Without variance the statistic is infinite, which a root finder cannot bracket.
        return float(np.clip(statistic[0], -1e9, 1e9)) - sign * CRITICAL

    def end(sign: float) -> float:
        if excess(0.0, sign) <= 0:
            return 0.0
        if excess(1.0, sign) >= 0:
            return 1.0
        return float(root_scalar(excess, (sign,), bracket=(0.0, 1.0)).root)

    value = float(np.clip(of_model[0] + (more - less) / n, 0.0, 1.0))
    return Statistic(kind, limit, value, end(1.0), end(-1.0))


def quantile(values: Array, model: Surrogate, p: float) -> Statistic:
    """The value below which f lies with probability p, through a model.

    Args:
        values: of f at the simulated points, (n,).
        model: cross-fitted models of this output.
        p: probability, between 0 and 1.

    Returns:
        Where the corrected distribution function reaches p, and an interval of all limits at
        which the score test does not refuse p; its ends are infinite where the sample does not
        bound them.
    """
    n = len(values)
    cells = np.quantile(model.fresh, np.linspace(0.0, 1.0, CELLS + 1))
    # A model that is exact but for rounding: no limit lies between it and the value.
    exact = np.abs(model.held - values) <= ROUNDING * np.ptp(values)
    held = np.where(exact, values, model.held)
    grid = np.unique(np.concatenate([values, held, cells]))
    of_model = model.below(grid, "right")
    first, second = np.minimum(values, held), np.maximum(values, held)

    def counts(rows: np.ndarray) -> Array:
        """How many of these pairs have a grid point between them."""
        begun = np.searchsorted(np.sort(first[rows]), grid, "right")
        return (begun - np.searchsorted(np.sort(second[rows]), grid, "right")).astype(np.float64)

    more, less = counts(values < held), counts(values > held)
    statistic = score_statistic(more, less, n, p - of_model, model.noise(of_model))
    # Ends are moved out to the next point of the grid, beyond which nothing changes.
    first_kept = int(np.argmax(statistic >= -CRITICAL))
    last_kept = len(grid) - 1 - int(np.argmax(statistic[::-1] <= CRITICAL))
    low = grid[first_kept - 1] if first_kept > 0 else -np.inf
    high = grid[last_kept + 1] if last_kept + 1 < len(grid) else np.inf
    reached = np.maximum.accumulate(of_model + (more - less) / n) >= p
    value = grid[int(np.argmax(reached))] if reached.any() else grid[-1]
    return Statistic("quantile", p, float(value), float(low), float(high))
