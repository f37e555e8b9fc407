"""Statistics from simulated values alone, with intervals that presume nothing of f.

Chances have the exact binomial interval of Clopper and Pearson, quantiles that of order
statistics: for independent draws both cover at least 95 %. Randomized quasi-Monte Carlo points
spread more evenly than independent ones, so for them both are too wide rather than too short. The
std has the interval of a mean square, on a log scale, with the degrees of freedom that the
kurtosis of the squares leaves, and what the mean in them may be off by (second order, but all
there is for two values with the same chance): an asymptotic one.
"""

import numpy as np
from scipy.special import bdtr, betaincinv, ndtri, stdtrit

from steinquad._types import Array
from steinquad.checking.standard_error import standard_error
from steinquad.summaries.statistic import LEVEL, Statistic

__all__ = ["chance", "quantile", "spread"]

TAIL = (1 - LEVEL) / 2


def chance(values: Array, kind: str, limit: float) -> Statistic:
    """`P[f > limit]` or `P[f < limit]`, with the interval of Clopper and Pearson.

    Args:
        values: independent draws of f, (n,).
        kind: "above" or "below".
        limit: of the event; values equal to it are in neither.
    """
    n = len(values)
    k = int(np.sum(values > limit if kind == "above" else values < limit))
    low = float(betaincinv(k, n - k + 1, TAIL)) if k > 0 else 0.0
    high = float(betaincinv(k + 1, n - k, 1 - TAIL)) if k < n else 1.0
    return Statistic(kind, limit, k / n, low, high)


def quantile(values: Array, p: float) -> Statistic:
    """The value below which f lies with probability p, between two order statistics.

    Args:
        values: independent draws of f, (n,).
        p: probability, between 0 and 1.

    Returns:
        The median-unbiased quantile of the sample. An end of the interval is infinite where the
        sample is too small to bound the quantile on that side.
    """
    n = len(values)
    ordered = np.concatenate([[-np.inf], np.sort(values), [np.inf]])
    chances = bdtr(np.arange(n), n, p)  # that at most so many values lie below the quantile
    low, high = np.searchsorted(chances, [TAIL, 1 - TAIL])
    value = float(np.quantile(values, p, method="median_unbiased"))
    return Statistic("quantile", p, value, float(ordered[low]), float(ordered[high + 1]))


def spread(values: Array, groups: np.ndarray | None) -> Statistic:
    """The standard deviation, with an interval that is symmetric on a log scale.

    Args:
        values: draws of f, (n,).
        groups: replicates of a randomized design, (n,), or None for independent draws.

    Returns:
        Zero without an upper end where all values are equal: what f is where no point was, be it
        with a chance of 1 / n, may make it as large as you like.
    """
    n = len(values)
    squares = (values - values.mean()) ** 2 * (n / (n - 1))
    error, dof = standard_error(squares[:, None], np.ones(n), groups)
    variance = float(squares.mean())
    if variance == 0:
        return Statistic("std", None, 0.0, 0.0, float("inf"))
    std = float(np.sqrt(variance))
    # The log of a std has half the relative error of the variance (delta method).
    first = stdtrit(dof, 1 - TAIL) * float(error[0]) / (2 * variance)
    factor = float(np.exp(first + ndtri(1 - TAIL) ** 2 / (2 * n)))
    return Statistic("std", None, std, std / factor, std * factor)
