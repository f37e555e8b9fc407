"""Standard errors of averages: of independent draws, of Markov chains, of replicates."""

import numpy as np

from steinquad._types import Array

__all__ = ["autocorrelated", "robust_standard_error", "standard_error"]

FALSE_ALARM = 1e-4  # chance that independent draws are called autocorrelated
MANY_GROUPS = 8  # from so many on, the spread of their averages is a standard error by itself


def standard_error(
    values: Array, weights: Array, groups: np.ndarray | None = None
) -> tuple[Array, float]:
    """Standard error of a weighted mean, (n, m) -> (m,), and its degrees of freedom.

    Args:
        values: (n, m).
        weights: (n,), those of `Dataset.effective_weights`.
        groups: None for independent draws. Eight or more groups: the spread between their
            averages. Fewer: the effective sample size of Markov chains (ArviZ), or, for weighted
            chains, the averages of consecutive batches.
    """
    if groups is None:
        return _independent(values, weights), max(float(weights.sum()) - 1, 1.0)
    labels, sizes = np.unique(groups, return_counts=True)
    if len(labels) >= MANY_GROUPS:
        return _between(values, weights, groups), float(len(labels) - 1)
    if np.ptp(weights) > 0 or sizes.min() < 4:
        return robust_standard_error(values, weights)
    size = effective_sample_size(values, groups)
    spread = values.std(axis=0, ddof=1)
    return spread / np.sqrt(size), max(float(size.min()) - 1, 1.0)


def effective_sample_size(values: Array, groups: np.ndarray) -> Array:
    """Of the average of chains, (n, m) -> (m,); chains are cut to the shortest for the ratio."""
    from arviz_stats.base import array_stats

    n = len(values)
    shortest = int(np.unique(groups, return_counts=True)[1].min())
    chains = np.stack([values[groups == g][-shortest:] for g in np.unique(groups)])
    sizes = np.full(values.shape[1], float(n))
    for j in np.flatnonzero(np.ptp(values, axis=0) > 0):
        size = array_stats.ess(chains[:, :, j], chain_axis=0, draw_axis=1, method="mean")
        sizes[j] = float(size) * n / (shortest * len(chains))
    return sizes


def robust_standard_error(values: Array, weights: Array) -> tuple[Array, float]:
    """The same for draws of which it is not known whether they are independent.

    The larger of the one for independent draws and the one from the means of sqrt(n) consecutive
    batches, which sees the autocorrelation of a Markov chain.
    """
    n = len(values)
    independent = _independent(values, weights)
    batches = int(np.sqrt(n))
    if batches < 10:
        return independent, float(n - 1)
    labels = np.repeat(np.arange(batches), [len(p) for p in np.array_split(range(n), batches)])
    return np.maximum(independent, _between(values, weights, labels)), float(batches - 1)


def autocorrelated(values: Array) -> bool:
    """Whether consecutive values are positively correlated beyond what chance explains."""
    n = len(values)
    if n < 50:
        return False
    centered = values - values.mean(axis=0)
    power = np.sum(centered**2, axis=0)
    lag = np.sum(centered[1:] * centered[:-1], axis=0)
    ratio = np.divide(lag, power, out=np.zeros_like(lag), where=power > 0)
    from scipy.special import ndtri

    return bool(np.max(ratio) * np.sqrt(n) > -ndtri(FALSE_ALARM / values.shape[1]))


def _independent(values: Array, weights: Array) -> Array:
    n = len(values)
    w = weights / weights.sum()
    centered = values - w @ values
    return np.sqrt(np.sum((w[:, None] * centered) ** 2, axis=0) * n / max(n - 1, 1))


def _between(values: Array, weights: Array, groups: np.ndarray) -> Array:
    w = weights / weights.sum()
    centered = w[:, None] * (values - w @ values)
    labels = np.unique(groups)
    sums = np.stack([centered[groups == g].sum(axis=0) for g in labels])
    return np.sqrt(np.sum(sums**2, axis=0) * len(labels) / (len(labels) - 1))
