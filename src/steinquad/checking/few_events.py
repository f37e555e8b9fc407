"""Which outputs take two values, one of them too seldom for a standard error."""

import numpy as np

from steinquad._types import Array
from steinquad.binomial import Binomial
from steinquad.checking.standard_error import SHORTEST, effective_sample_size
from steinquad.checking.tally import Tally
from steinquad.dataset import Dataset

__all__ = ["few_events", "few_of_counts"]

FEW = 10  # points with either value, below which a standard error says little


def few_events(data: Dataset) -> Binomial | None:
    """The outputs with fewer than ten points of one of two values; None where there is none.

    Each output by itself; `Tally.two_values` says which are of two values.

    Args:
        data: values without noise; points that are no sample have no binomial limits.
    """
    if not data.sampled or data.noise is not None:
        return None
    tally = Tally.of(data.fx)
    two, (low, high) = tally.two_values, tally.levels
    if not two.any():
        return None
    at_high = data.fx == high
    raw = np.minimum(tally.higher, tally.n - tally.higher)
    weights = data.effective_weights / data.effective_weights.sum()
    rarer = np.where(weights @ at_high > 0.5, ~at_high, at_high)
    rare = weights @ rarer  # exactly zero where there is none
    share = np.where(weights @ at_high > 0.5, 1 - rare, rare)
    worth = _worth(data, two)
    heaviest = np.minimum(weights.max() / worth, 1.0)
    size = np.divide(rare * worth, weights**2 @ rarer, out=1 / heaviest, where=rare > 0)
    applies = two & (raw * worth < FEW)
    return Binomial(applies, low, high, share, size, heaviest) if applies.any() else None


def few_of_counts(tally: Tally, worth: Array) -> Binomial | None:
    """The same of independent draws of equal weight, from how often each value was seen.

    Args:
        tally: of all draws.
        worth: how many independent draws each is worth, at most one, (k,).
    """
    (low, high), higher = tally.levels, tally.higher
    size = tally.n * worth
    applies = tally.two_values & (np.minimum(higher, tally.n - higher) * worth < FEW)
    heaviest = np.minimum(1 / size, 1.0)
    share = higher / tally.n
    return Binomial(applies, low, high, share, size, heaviest) if applies.any() else None


def _worth(data: Dataset, asked: np.ndarray) -> Array:
    """How many independent draws each draw is worth, at most one, (k,), for outputs asked for.

    Of a chain it is what the effective sample size has, of the values and of every coordinate:
    values that hardly vary do not tell how a chain moves. Randomized quasi-Monte Carlo replicates
    spread more evenly than independent draws, by which they are all worth one.
    """
    worth = np.ones(data.outputs)
    if data.groups is None:
        return worth
    _, counts = np.unique(data.groups, return_counts=True)
    if counts.min() < SHORTEST:
        return worth * len(counts) / data.n
    moves = effective_sample_size(data.x, data.groups).min()
    sizes = effective_sample_size(data.fx[:, asked], data.groups)
    worth[asked] = np.minimum(np.minimum(sizes, moves) / data.n, 1.0)
    return worth
