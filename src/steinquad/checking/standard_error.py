"""Standard errors of averages: of independent draws, of Markov chains, of replicates."""

from typing import Any

import numpy as np
from scipy.special import ndtri, stdtrit

from steinquad._types import Array

__all__ = [
    "FALSE_ALARM",
    "MANY_GROUPS",
    "ROUNDING",
    "above_rounding",
    "autocorrelated",
    "beyond_chance",
    "effective_sample_size",
    "far_from_average",
    "freedom_left",
    "group_sums",
    "robust_standard_error",
    "spread_of_sums",
    "standard_error",
    "tail_freedom",
    "weighted_mean",
]

# Chance that sound draws are called autocorrelated, a sound fit far off, or sound scores wrong.
FALSE_ALARM = 1e-4
SHORTEST = 4  # draws of a chain from which ArviZ finds an effective sample size
ROUNDING = 1e-14  # of an estimate, relative to the largest value
MANY_GROUPS = 8  # from so many on, the spread of their averages is a standard error by itself


def standard_error(
    values: Array, weights: Array, groups: np.ndarray | None = None
) -> tuple[Array, float]:
    """Standard error of a weighted mean, (n, m) -> (m,), and its degrees of freedom.

    Args:
        values: (n, m).
        weights: (n,), those of `Dataset.effective_weights`.
        groups: None for independent draws. Eight or more groups: the spread between their
            averages. Fewer: the effective sample size (ArviZ) of Markov chains of what each draw,
            with its weight, contributes to the mean.

    Returns:
        The standard errors, and degrees of freedom for Student's t, the least over columns: of
        many groups their number less one, else that of the effective draws, or what
        `tail_freedom` leaves where that is less; at least 1.
    """
    most = float(np.min(tail_freedom(values, weights)))
    if groups is None:
        return _independent(values, weights), max(min(float(weights.sum()) - 1, most), 1.0)
    labels, sizes = np.unique(groups, return_counts=True)
    if len(labels) >= MANY_GROUPS:
        return _between(values, weights, groups), float(len(labels) - 1)
    if sizes.min() < SHORTEST:
        return robust_standard_error(values, weights)
    n = len(values)
    contributions = n * _centered(values, weights)
    size = effective_sample_size(contributions, groups)
    spread = contributions.std(axis=0, ddof=1)
    dof = min(float(size.min()) / n * float(weights.sum()) - 1, most)
    return spread / np.sqrt(size), max(dof, 1.0)


def above_rounding(std: Array, fx: Array) -> Array:
    """Standard errors (k,) no smaller than the values (n, k) can tell; zero for constants.

    A fit that is exact but for rounding has residuals that are accidental, and so would be their
    standard error.

    Args:
        std: standard errors.
        fx: values of f, whose largest size sets the floor.
    """
    floored = np.maximum(std, ROUNDING * np.max(np.abs(fx), axis=0) * np.any(std > 0))
    return np.where(np.ptp(fx, axis=0) == 0, 0.0, floored)


def effective_sample_size(values: Array, groups: np.ndarray) -> Array:
    """Number of independent draws with as good an average, by ArviZ, (n, m) -> (m,).

    Args:
        values: (n, m), chain by chain in the order of the draws.
        groups: the chain of each draw, (n,). All are cut to the last draws of the length of the
            shortest; the ratio to the number of draws is taken from these.

    Returns:
        Sizes in draws, which may exceed n for chains with negative correlation; n where a column
        does not vary.
    """
    from arviz_stats.base.array import array_stats  # imports scipy.stats, which is slow

    n = len(values)
    # ArviZ takes a range below 1e-15 for a constant: pass it values of unit scale.
    scale = values.std(axis=0)
    scaled = (values - values.mean(axis=0)) / np.where(scale > 0, scale, 1.0)
    labels, counts = np.unique(groups, return_counts=True)
    shortest = int(counts.min())
    chains = np.stack([scaled[groups == g][-shortest:] for g in labels])
    sizes = np.full(values.shape[1], float(n))
    for j in np.flatnonzero(np.ptp(chains, axis=(0, 1)) > 0):
        size = array_stats.ess(chains[:, :, j], chain_axis=0, draw_axis=1, method="mean")
        sizes[j] = float(np.asarray(size)) * n / (shortest * len(chains))
    return sizes


def robust_standard_error(values: Array, weights: Array) -> tuple[Array, float]:
    """Standard error for draws of which it is not known whether they are independent.

    The larger of the one for independent draws and the one from the means of sqrt(n) consecutive
    batches, which sees the autocorrelation of a Markov chain. Below 100 draws there are too few
    batches, and independence is presumed.

    Args:
        values: (n, m), in the order in which they were drawn.
        weights: (n,).

    Returns:
        Standard errors of the weighted mean, (m,), and degrees of freedom.
    """
    n = len(values)
    independent = _independent(values, weights)
    batches = int(np.sqrt(n))
    if batches < 10:
        return independent, float(n - 1)
    labels = np.repeat(np.arange(batches), [len(p) for p in np.array_split(range(n), batches)])
    return np.maximum(independent, _between(values, weights, labels)), float(batches - 1)


def autocorrelated(values: Array) -> bool:
    """Whether consecutive values are positively correlated beyond what chance explains.

    The lag-one autocorrelation of independent draws is about normal with variance 1/n; the level
    is shared among the columns. Fewer than 50 values are never called so.

    Args:
        values: (n, m), in the order in which they were drawn.
    """
    n = len(values)
    if n < 50:
        return False
    centered = values - weighted_mean(values, np.ones(n))
    power = np.sum(centered**2, axis=0)
    lag = np.sum(centered[1:] * centered[:-1], axis=0)
    ratio = np.divide(lag, power, out=np.zeros_like(lag), where=power > 0)
    return bool(np.max(ratio) * np.sqrt(n) > -ndtri(FALSE_ALARM / values.shape[1]))


def far_from_average(mean: Array, values: Array, weights: Array, groups: Any) -> Array:
    """Which estimates (m,) lie further from the average of the values than chance explains.

    The average is always a valid answer. A fit that moves it by more than a few of its own
    standard errors relies on functions that are not of mean zero, or are so only thanks to
    regions that no point has seen.

    Args:
        mean: the estimates, (m,).
        values: of f, a sample of the measure, (n, m).
        weights: of the points, (n,).
        groups: of dependent points, or None.

    Returns:
        The distance in standard errors over what chance explains; above 1 is too far.
    """
    error, dof = standard_error(values, weights, groups)
    return beyond_chance(mean - weighted_mean(values, weights), error, dof)


def beyond_chance(gap: Array, error: Array, dof: float) -> Array:
    """Distances (m,) over what chance explains of them; above 1 is too far.

    Args:
        gap: differences that should be zero.
        error: their standard errors.
        dof: degrees of freedom of these.
    """
    gap, limit = np.abs(gap), stdtrit(dof, 1 - FALSE_ALARM / 2) * error
    return np.divide(gap, limit, out=np.zeros_like(gap), where=limit > 0)


def group_sums(values: Array, weights: Array, groups: np.ndarray) -> Array:
    """What each group adds to the difference of the weighted mean from itself, (groups, m).

    For equal groups the averages of the groups less that of all, over the number of groups.

    Args:
        values: (n, m).
        weights: (n,).
        groups: label of each point, (n,).
    """
    centered = _centered(values, weights)
    return np.stack([centered[groups == g].sum(axis=0) for g in np.unique(groups)])


def spread_of_sums(sums: Array) -> Array:
    """Standard error of a mean by what each group adds to it, (groups, m) -> (m,).

    Args:
        sums: as `group_sums` gives them, of at least two groups.
    """
    return np.sqrt(np.sum(sums**2, axis=0) * len(sums) / (len(sums) - 1))


def tail_freedom(values: Array, weights: Array) -> Array:
    """Degrees of freedom that the kurtosis leaves: n for normal values, few if few points tell.

    A mean square of n values with kurtosis kappa varies like a chi-square with 2 n / (kappa - 1)
    degrees of freedom; a residual that is large at a handful of points is known by those only.

    Returns:
        (m,) for values (n, m); inf where they do not vary.
    """
    squares = _centered(values, weights) ** 2
    total = squares.sum(axis=0)
    freedom = np.full(len(total), np.inf)
    varying = total > 0
    share = np.sum(squares[:, varying] ** 2, axis=0) / total[varying] ** 2
    freedom[varying] = freedom_left(share, len(values))
    return freedom


def freedom_left(share: Array, n: int) -> Array:
    """Degrees of freedom, 2 n / (kappa - 1), of a mean square of n values with kurtosis kappa.

    Args:
        share: kappa / n, the sum of fourth powers over the square of that of squares.
        n: number of values.
    """
    return 2.0 / np.maximum(share - 1.0 / n, 1e-12)


def weighted_mean(values: Array, weights: Array) -> Array:
    """Of every column, (n, m) -> (m,); exact for values that are all the same.

    The first value is subtracted before and added after, so that a constant column has a mean
    without rounding error and its residuals are exactly zero.
    """
    return values[0] + weights @ (values - values[0]) / weights.sum()


def _centered(values: Array, weights: Array) -> Array:
    w = weights / weights.sum()
    return w[:, None] * (values - weighted_mean(values, weights))


def _independent(values: Array, weights: Array) -> Array:
    w = weights / weights.sum()
    square, cube = float(np.sum(w**2)), float(np.sum(w**3))
    # The residuals are smaller than the errors; n / (n - 1) for equal weights.
    lost = 1 - 2 * cube / square + square
    total = np.sum(_centered(values, weights) ** 2, axis=0)
    unknown = np.where(total > 0, np.inf, 0.0)  # one draw has all the weight
    return np.sqrt(np.divide(total, lost, out=unknown, where=lost > 1e-9))


def _between(values: Array, weights: Array, groups: np.ndarray) -> Array:
    return spread_of_sums(group_sums(values, weights, groups))
