"""Adaptive points: more of them where f is hard to predict, by chances that are known and kept.

    scouts   the first SCOUTS points, independent draws: how far a model fitted to some of them is
             from the others says where points are needed, and nothing else ever does
    pairs    all further points: the first of a pool of CANDIDATES independent draws, and another
             one of that pool, taken at random with chances that follow what the scouts say

So at least half of all points are independent draws, and point i depends on the seed, on i and on
the outputs of the scouts only. Given those, pairs are independent of each other, and because the
first of a pool is as good as any, candidate j is one of the two that are taken with a chance pi_j
that is known and adds up to 2. With weights 2 / (CANDIDATES pi_j), at most 2, an average over
pairs is that over their pools, whatever is averaged: unbiased, where one without weights is not.
"""

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from steinquad._types import Array
from steinquad.api import estimate
from steinquad.dataset import Dataset
from steinquad.measures.base import Measure
from steinquad.methods.bayesian_quadrature import BayesianQuadrature
from steinquad.methods.monte_carlo import MonteCarlo
from steinquad.methods.polynomial import Polynomial
from steinquad.methods.stack import Stack
from steinquad.studies.points import BLOCK, NumberedPoints
from steinquad.studies.store import Choice, Store

__all__ = ["SCOUTS", "Chosen", "chances", "choose", "folds_of", "hard_to_predict", "is_choice"]

SCOUTS = 100
CANDIDATES = 128  # in the pool of a pair
PAIRS = 64  # that are chosen together
UNIFORM = 0.1  # share of the choices that is the same everywhere, whatever the scouts say
FEWEST = 20  # scouts without failure that can say something
ROUNDING = 1e-10  # of f: a model that misses less misses nothing
NOISE = 0.95  # share of the spread of those sizes that a model of nothing leaves
FOLDS = 5
STREAM = 2**41  # of random numbers, apart from those of the points

Hardness = Callable[[Array], Array]  # (n, d) -> (n,), at least 0


def is_choice(number: np.ndarray) -> np.ndarray:
    """Which points of an adaptive study were chosen; all others are independent draws.

    Chosen points lie where f is hard to predict, so they may enter an average by their weights
    only.

    Args:
        number: of the points, an array of any shape.

    Returns:
        Booleans of that shape: the second point of every pair, so none among the scouts.
    """
    return (number >= SCOUTS) & ((number - SCOUTS) % 2 == 1)


def folds_of(numbers: np.ndarray, seed: int) -> list[np.ndarray]:
    """Rows of the folds of a cross-fit, whole pairs each; the scouts are in none of them.

    Args:
        numbers: of the points that the rows belong to, those that failed left out.
        seed: of the order in which pairs are dealt to folds.
    """
    pairs = (numbers - SCOUTS) // 2
    order = np.random.default_rng(seed).permutation(int(pairs.max()) + 1)
    fold = np.where(pairs >= 0, order[np.maximum(pairs, 0)] % FOLDS, FOLDS)
    return [np.flatnonzero(fold == k) for k in range(FOLDS)]


def hard_to_predict(x: Array, fx: Array, measure: Measure, *, seed: int) -> Hardness | None:
    """Expected size of what a model misses, as a function of points, up to a factor.

    The sizes at these points, by fits that have not seen them, are themselves fitted.

    Args:
        x: points, (n, d).
        fx: values, (n, k); every output counts as much.
        measure: what the points were drawn from.
        seed: of the fits.

    Returns:
        The function, or None where there are too few points or nothing but noise.
    """
    if len(x) < FEWEST:
        return None
    method = Stack((MonteCarlo(), Polynomial(), BayesianQuadrature()))
    check = estimate(Dataset(x, fx), measure=measure, method=method, seed=seed).check
    if check is None or check.predicted is None:
        return None
    missed = np.abs(fx - check.predicted)
    missed = missed[:, missed.mean(axis=0) > ROUNDING * np.abs(fx).max(axis=0)]
    if missed.shape[1] == 0:
        return None
    sizes = missed / missed.mean(axis=0)  # every output counts as much
    model = estimate(Dataset(x, sizes), measure=measure, method=method, seed=seed)
    check = model.fit.check
    if model.status.final or check is None or np.all(check.residual > NOISE * sizes.std(axis=0)):
        return None
    return lambda at: np.sqrt(np.mean(np.maximum(model.predict(at), 0.0) ** 2, axis=1))


def chances(hardness: Array) -> tuple[Array, Array]:
    """With which probabilities the candidates of a pool are taken.

    The first point is any candidate, all with the same probability; the second is drawn by
    `choice` among the others.

    Args:
        hardness: of every candidate, (m, CANDIDATES), at least 0.

    Returns:
        choice: probabilities of a choice, which add up to 1 in every row.
        taken: probability to be one of the two that are taken, adding up to 2.
    """
    count = hardness.shape[1]
    total = hardness.sum(axis=1, keepdims=True)
    shares = np.divide(hardness, total, out=np.full_like(hardness, 1.0 / count), where=total > 0)
    choice = UNIFORM / count + (1.0 - UNIFORM) * shares
    # Candidate j is second with chance choice_j / (1 - choice_i) if i is first, summed over
    # i other than j; each candidate is first with chance 1 / count.
    odds = 1.0 / (1.0 - choice)
    return choice, (1.0 + choice * (odds.sum(axis=1, keepdims=True) - odds)) / count


def choose(points: NumberedPoints, block: int, hardness: Hardness | None) -> list[Choice]:
    """The pairs of a block, each point with its chance; the same for the same arguments.

    Args:
        points: independent draws by number, which give the first of every pair.
        block: pairs are chosen PAIRS together; block 0 follows the scouts.
        hardness: what `hard_to_predict` gave; None takes all candidates with the same chance.
    """
    measure, dim = points.measure, points.measure.dim
    own = np.random.SeedSequence([points.seed, STREAM, block])
    draws, picks = own.generate_state(2, np.uint64)
    fresh = measure.sample(PAIRS * (CANDIDATES - 1), seed=int(draws >> 1))
    numbers = SCOUTS + 2 * (block * PAIRS + np.arange(PAIRS))
    first = np.array([points[int(number)] for number in numbers])
    pools = np.concatenate([first[:, None], fresh.reshape(PAIRS, CANDIDATES - 1, dim)], axis=1)
    sizes = np.ones((PAIRS, CANDIDATES))
    if hardness is not None:
        predicted = hardness(pools.reshape(-1, dim)).reshape(PAIRS, CANDIDATES)
        sizes = predicted if np.isfinite(predicted).all() else sizes
    choice, taken = chances(sizes)
    rng = np.random.default_rng(picks)
    rows: list[Choice] = []
    for i, number in enumerate(numbers.tolist()):
        others = choice[i, 1:] / choice[i, 1:].sum()
        j = 1 + int(rng.choice(CANDIDATES - 1, p=others))
        for k, at in ((0, number), (j, number + 1)):
            rows.append(Choice(at, pools[i, k].tolist(), CANDIDATES, float(taken[i, k])))
    return rows


class Chosen:
    """The points of an adaptive study by number, as far as they are chosen.

    Independent draws are computed from the seed, chosen points are read from the store: they
    depend on outputs, and have to stay where they were evaluated.

    Args:
        points: independent draws by number, of the kind `adaptive`.
        store: with the choices so far; `choose_until` needs it open for writing.
    """

    def __init__(self, points: NumberedPoints, store: Store) -> None:
        self.points, self.store = points, store
        self._block = lru_cache(maxsize=8)(self._read)

    def choose_until(self, stop: int, scouts: tuple[Array, Array]) -> None:
        """Choose and store the points that are not chosen yet, up to the number `stop`.

        Whole blocks of pairs are chosen, so that some beyond `stop` may be stored already. Where
        nothing is missing no model is fitted.

        Args:
            stop: numbers below this are needed.
            scouts: points (n, d) and values (n, k) of those scouts that are done.
        """
        needed = -(-(stop - SCOUTS) // (2 * PAIRS))
        known = self.store.count_choices() // (2 * PAIRS)
        if needed <= known:
            return
        hardness = hard_to_predict(*scouts, self.points.measure, seed=self.points.seed)
        for block in range(known, needed):
            self.store.keep_choices(choose(self.points, block, hardness))

    def __getitem__(self, number: int) -> tuple[float, ...]:
        """The coordinates of a point."""
        if not is_choice(np.array(number)):
            return self.points[number]
        return tuple(self._block(number // BLOCK)[number].input)

    def weight(self, number: int) -> float:
        """By which a point counts in an average: 1 unless it was chosen, or paired with a choice.

        Args:
            number: of the point.

        Returns:
            The inverse of the chance with which the point was taken, scaled so that weights are 1
            in expectation and at most 2.
        """
        known = self._block(number // BLOCK)
        return known[number].weight if number in known else 1.0

    def _read(self, block: int) -> dict[int, Choice]:
        return {row.number: row for row in self.store.choices(block * BLOCK, (block + 1) * BLOCK)}
