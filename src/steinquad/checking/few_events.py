"""Which outputs take two values, one of them too seldom for a standard error."""

import numpy as np

from steinquad._types import Array
from steinquad.binomial import Binomial
from steinquad.checking.standard_error import SHORTEST, effective_sample_size
from steinquad.dataset import Dataset

__all__ = ["few_events"]

FEW = 10  # points with either value, below which a standard error says little


def few_events(data: Dataset) -> Binomial | None:
    """The outputs with fewer than ten points of one of two values; None where there is none.

    Each output by itself: zeros and ones are an indicator, also where all are the same. Of other
    values there are exactly two, one of which repeats, or both where one is zero: a single value
    among zeros may be any size that a rare loss can have.

    Args:
        data: values without noise; points that are no sample have no binomial limits.
    """
    if not data.sampled or data.noise is not None:
        return None
    low, high = data.fx.min(axis=0), data.fx.max(axis=0)
    at_low, at_high = data.fx == low, data.fx == high
    counts = np.sort([at_low.sum(axis=0), at_high.sum(axis=0)], axis=0)
    repeat = np.where((low == 0) | (high == 0), counts[0], counts[1]) > 1
    two = (at_low | at_high).all(axis=0) & repeat & (high > low)
    indicator = np.isin(data.fx, (0.0, 1.0)).all(axis=0)
    two |= indicator
    if not two.any():
        return None
    low, high = np.where(indicator, 0.0, low), np.where(indicator, 1.0, high)
    at_high = data.fx == high
    raw = np.minimum(at_high.sum(axis=0), (~at_high).sum(axis=0))
    weights = data.effective_weights / data.effective_weights.sum()
    rarer = np.where(weights @ at_high > 0.5, ~at_high, at_high)
    rare = weights @ rarer  # exactly zero where there is none
    share = np.where(weights @ at_high > 0.5, 1 - rare, rare)
    worth = _worth(data, two)
    heaviest = np.minimum(weights.max() / worth, 1.0)
    size = np.divide(rare * worth, weights**2 @ rarer, out=1 / heaviest, where=rare > 0)
    applies = two & (raw * worth < FEW)
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
