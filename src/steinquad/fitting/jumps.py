"""Boxes between the jumps of f.

Along coordinate i, f jumps at c where E[f | x_i] has two different limits from below and from
above. Both are estimated by a straight line through the m points on either side. Where f is smooth
their difference is within its standard error, or falls to an eighth when m is halved, at a kink to
a half; that of a jump stays. What lies on either side of the strongest jump is searched again, so
the boxes are the leaves of a tree.

Where exactly? Points near a jump are compared with those of their neighbors that lie on the one
and on the other side for certain. A point for which both are alike, where f does not jump, tells
nothing; the jump is between the last point that is clearly of the one side and the first that is
clearly of the other, as far as neighbors tell, and all that is known is that it is there.

What varies within a few dozen points looks like a jump. Whoever asks has to try the boxes.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.spatial import KDTree

from steinquad._types import Array
from steinquad.support import Support

__all__ = ["Box", "Cut", "boxes"]

CERTAIN = 6.0  # standard errors of a jump: one false alarm in 10^6 tests of about 10^3 a search
LEAST_WINDOW = 32  # points on either side
STAYS = 0.7  # of a jump that is seen with half as many points
FEWEST = 40  # points in a box
MOST_BOXES = 16
NEIGHBORS = 5
UNLIKELY = 3.0  # log likelihood ratio of places that are not believed
LEVEL = 0.25  # of a jump, by which y may vary among the points that are compared at it
FEWEST_COMPARED = 16
TIED = 1e-12  # variance of coordinates, in probability, that are the same
FLAT = 1e-10  # of the variance, below which values are equal but for rounding


@dataclass(frozen=True, eq=False)
class Cut:
    """A jump between two points.

    All that the points say is that f jumps somewhere in the slab between them; the shares give
    what this costs the integral, `share * jump` at most.

    Attributes:
        coordinate: along which.
        at: half way between the points, in units of x.
        share: probability of the slab between them.
        least: probability of what lies between the nearest points on either side of `at`.
        jump: how much larger f is just above it than just below, on average, (k,).
    """

    coordinate: int
    at: float
    share: float
    least: float
    jump: Array


@dataclass(frozen=True, eq=False)
class Box:
    """A box without jumps.

    Boxes of a partition do not overlap and their shares add up to one, so the integral is the sum
    of the means of f in the boxes, each times its share.

    Attributes:
        support: its sides.
        rows: the points in it.
        share: its probability.
    """

    support: Support
    rows: np.ndarray
    share: float


def boxes(
    x: Array, p: Array, fx: Array, support: Support, *, most: int = MOST_BOXES
) -> tuple[list[Box], list[Cut]]:
    """A partition of the support, of one box where f does not jump, and its cuts.

    Args:
        x: independent draws, (n, d).
        p: distribution function of every coordinate there, (n, d); coordinates are independent.
        fx: values, (n, k).
        support: of the measure.
        most: boxes.

    Returns:
        The boxes, which together fill the support, and a cut for each division. Their number is
        one less than that of the boxes.
    """
    spread = fx.std(axis=0)
    y = np.divide(fx - fx.mean(axis=0), spread, out=np.zeros_like(fx), where=spread > 0)
    waiting = [_Node(support, np.arange(len(x)), np.zeros(x.shape[1]), np.ones(x.shape[1]))]
    done, cuts = [], []
    while waiting:
        node = waiting.pop(0)
        room = len(waiting) + len(done) + 1 < most
        divided = node.divided(x, p, y) if room else None
        if divided is None:
            done.append(Box(node.support, node.rows, node.share))
        else:
            cut, *halves = divided
            cuts.append(replace(cut, jump=cut.jump * spread))
            waiting += halves
    return done, cuts


@dataclass(frozen=True, eq=False)
class _Node:
    """A box that may have jumps; `low` and `high` are its sides in probability."""

    support: Support
    rows: np.ndarray
    low: Array
    high: Array

    @property
    def share(self) -> float:
        return float(np.prod(self.high - self.low))

    def divided(self, x: Array, p: Array, y: Array) -> tuple[Cut, "_Node", "_Node"] | None:
        """Its clearest jump and what lies on either side; None where that is too little."""
        place = _locate(p[self.rows], y[self.rows])
        if place is None:
            return None
        i, own = place.coordinate, x[self.rows, place.coordinate]
        at = 0.5 * float(own[place.below] + own[place.above])
        under = own < at
        for side in (x[self.rows[under]], x[self.rows[~under]]):
            if len(side) < FEWEST or np.any(np.ptp(side, axis=0) == 0):
                return None
        here = np.arange(x.shape[1]) == i
        low, high = (np.where(here, place.p, side) for side in (self.low, self.high))
        upper = Support(self.support.low, np.where(here, at, self.support.high))
        lower = Support(np.where(here, at, self.support.low), self.support.high)
        below = _Node(upper, self.rows[under], self.low, high)
        above = _Node(lower, self.rows[~under], low, self.high)
        each = self.share / (self.high[i] - self.low[i])
        slab = np.ptp(p[self.rows[[place.below, place.above]], i])
        nearest = p[above.rows, i].min() - p[below.rows, i].max()
        return Cut(i, at, float(each * slab), float(each * nearest), place.jump), below, above


class _Jump(NamedTuple):
    coordinate: int
    position: int  # in the order of that coordinate: the jump is about before this point
    window: int
    statistic: float


def _strongest(p: Array, y: Array) -> _Jump | None:
    """The most certain jump along any coordinate at any window, if any is certain."""
    n, best = len(y), None
    for i in range(p.shape[1]):
        if len(np.unique(p[:, i])) < n / 2:
            continue  # any function of few values is one of steps
        order = np.argsort(p[:, i], kind="stable")
        sums = _Sums.of(p[order, i], y[order])
        window = LEAST_WINDOW
        while 4 * window <= n:
            statistic = sums.jumps(window)
            at = int(np.argmax(statistic))
            clearest = statistic[at] > max(CERTAIN, best.statistic if best else 0.0)
            if clearest and sums.stays(at + window, window):
                best = _Jump(i, at + window, window, float(statistic[at]))
            window *= 2
    return best


@dataclass(frozen=True, eq=False)
class _Sums:
    """Running sums, by which a line through any run of points costs nothing."""

    t: Array  # sorted, (n,)
    one: tuple[Array, Array]  # of t, t^2
    many: tuple[Array, Array, Array]  # of y, t y, y^2, (n + 1, k)

    @classmethod
    def of(cls, t: Array, y: Array) -> "_Sums":
        # Differences of running sums cancel less for coordinates around zero.
        centered = t - t.mean()

        def running(a: Array) -> Array:
            return np.concatenate([np.zeros_like(a[:1]), np.cumsum(a, axis=0)])

        one = (running(centered), running(centered**2))
        many = (running(y), running(centered[:, None] * y), running(y**2))
        return cls(centered, one, many)

    def jumps(self, m: int) -> Array:
        """Standard errors between the limits before points m, ..., n - m, of the clearest y."""
        gap, error = self.gaps(np.arange(m, len(self.t) - m + 1), m)
        return np.max(np.abs(gap) / error, axis=1)

    def stays(self, position: int, m: int) -> bool:
        """Whether half the points see about the same jump near this position."""
        output, gap = self.clearest(position, m)
        near = np.arange(position - m // 4, position + m // 4 + 1)
        narrow = self.gaps(near, m // 2)[0][:, output]
        return bool(np.max(narrow * np.sign(gap)) > STAYS * abs(gap))

    def clearest(self, position: int, m: int) -> tuple[int, float]:
        """The output that jumps most clearly before this point, and by how much."""
        gap, error = (a[0] for a in self.gaps(np.array([position]), m))
        output = int(np.argmax(np.abs(gap) / error))
        return output, float(gap[output])

    def gaps(self, positions: np.ndarray, m: int) -> tuple[Array, Array]:
        """Differences of the two limits before these points, and standard errors, (., k)."""
        before, after = self.t[positions - 1], self.t[np.minimum(positions, len(self.t) - 1)]
        below = self._limit(positions - m, m, 0.5 * (before + after))
        above = self._limit(positions, m, 0.5 * (before + after))
        error = np.sqrt(below[1] + above[1] + FLAT)
        error[before == after] = np.inf  # no jump is between equal points
        return above[0] - below[0], error

    def level(self, position: int, m: int) -> int:
        """Points on either side over which y varies less than it jumps here."""
        at, (output, gap) = np.array([position]), self.clearest(position, m)
        slopes = [self._limit(first, m, self.t[at - 1])[2][0, output] for first in (at - m, at)]
        width = float(self.t[min(position + m, len(self.t)) - 1] - self.t[position - m])
        varies, may_vary = float(np.max(np.abs(slopes))) * width / 2, LEVEL * abs(gap)
        return m if varies <= may_vary else int(m * may_vary / varies)

    def _limit(self, first: np.ndarray, m: int, at: Array) -> tuple[Array, Array, Array]:
        """A line through m points from each `first` on, its squared error there, its slope."""
        t, tt = (s[first + m] - s[first] for s in self.one)
        y, ty, yy = (s[first + m] - s[first] for s in self.many)
        center = t / m
        spread = tt - m * center**2
        still = spread <= TIED * m
        spread = np.where(still, np.inf, spread)  # equal points have no slope
        slope = (ty - center[:, None] * y) / spread[:, None]
        along = np.where(still, 0.0, spread)
        # What a line leaves is a difference of large sums and may be negative by rounding.
        left = np.maximum(yy - y**2 / m - slope**2 * along[:, None], 0.0)
        away = at - center
        error = left / (m - 2) * (1.0 / m + away**2 / spread)[:, None]
        return y / m + slope * away[:, None], error, slope


class _Place(NamedTuple):
    coordinate: int
    below: int  # the last point that is clearly below the jump
    above: int  # the first that is clearly above
    p: float  # half way between them
    jump: Array


def _locate(p: Array, y: Array) -> _Place | None:
    """Between which two points the clearest jump is; None if there is none where it should be."""
    strongest = _strongest(p, y)
    if strongest is None:
        return None
    n, wide = len(y), strongest.window
    order = np.argsort(p[:, strongest.coordinate], kind="stable")
    sums = _Sums.of(p[order, strongest.coordinate], y[order])
    output, expected = sums.clearest(strongest.position, wide)
    m = max(sums.level(strongest.position, wide), FEWEST_COMPARED)
    first, last = max(strongest.position - m // 2, 1), min(strongest.position + m // 2, n - 1)
    zone = order[first:last]
    certain = order[max(first - m, 0) : first], order[last : last + m]
    (low, unsure_low), (high, unsure_high) = (_beside(p[zone], p[s], y[s]) for s in certain)
    # Log likelihoods of being above rather than below; one noise for both, or where f is flat on
    # one side every point would seem to be of that side.
    unsure = unsure_low + unsure_high
    noise = unsure + np.mean(unsure, axis=0) / 2 + FLAT
    each = np.sum(((y[zone] - low) ** 2 - (y[zone] - high) ** 2) / (2 * noise), axis=1)
    each = np.clip(each, -2 * UNLIKELY, 2 * UNLIKELY)
    # Of the first so many points being below and the others above.
    against = np.concatenate([[0.0], np.cumsum(each)])
    best = int(np.argmin(against))
    start, stop = np.flatnonzero(against <= against[best] + UNLIKELY)[[0, -1]]
    below, above = int(order[first + start - 1]), int(order[first + stop])
    middle = 0.5 * float(p[below, strongest.coordinate] + p[above, strongest.coordinate])
    position = int(np.clip(first + best, wide, n - wide))
    jump = sums.gaps(np.array([position]), wide)[0][0]
    if jump[output] * np.sign(expected) <= 0:
        return None
    return _Place(strongest.coordinate, below, above, middle, jump)


def _beside(p: Array, others: Array, y: Array) -> tuple[Array, Array]:
    """Average of the nearest others, (points, k), and how well a value is known by it."""
    count = min(NEIGHBORS, len(others))
    _, nearest = KDTree(others).query(p, k=count)
    values = y[np.reshape(nearest, (len(p), count))]
    return values.mean(axis=1), values.var(axis=1)
