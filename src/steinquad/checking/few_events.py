"""Which outputs take two values, one of them too seldom for a standard error."""

from dataclasses import replace

import numpy as np

from steinquad._types import Array
from steinquad.binomial import Binomial
from steinquad.checking.standard_error import SHORTEST, effective_sample_size
from steinquad.dataset import Dataset
from steinquad.fit import ConstantModel, Fit, Status

__all__ = ["few_events", "fit_of_events", "with_limits"]

FEW = 10  # points with either value, below which a standard error says little


def few_events(data: Dataset) -> Binomial | None:
    """The outputs with fewer than ten points of one of two values; None where there is none.

    Zeros and ones are an indicator, also where all are zero, unless another output has other
    values: a zero is then more likely to be one of them. Other values count if both repeat.

    Args:
        data: values without noise; points that are no sample have no binomial limits.
    """
    if not data.sampled or data.noise is not None:
        return None
    low, high = data.fx.min(axis=0), data.fx.max(axis=0)
    at_low, at_high = data.fx == low, data.fx == high
    repeat = (at_low.sum(axis=0) > 1) & (at_high.sum(axis=0) > 1) & (high > low)
    two = (at_low | at_high).all(axis=0) & repeat
    if np.isin(data.fx, (0.0, 1.0)).all():
        low, high = np.zeros_like(low), np.ones_like(high)
        two = np.ones_like(two)
    weights = data.effective_weights
    share = weights @ (data.fx == high) / weights.sum()
    size = np.full(data.outputs, float(weights.sum()))
    if data.groups is not None:
        size = np.minimum(size, _size_of_groups(data.fx, data.groups))
    applies = two & (np.minimum(share, 1 - share) * size < FEW)
    return Binomial(applies, low, high, share, size) if applies.any() else None


def fit_of_events(few: Binomial, data: Dataset) -> Fit:
    """The average with its limits, where no output has anything to fit.

    Args:
        few: applies to every output that varies.
        data: of which the outputs are.
    """
    mean, std = _inserted(few, data.fx[0], np.zeros(data.outputs))
    return Fit(
        theta0=mean,
        covariance=np.diag(std**2),
        model=ConstantModel(mean, std),
        status=Status("constant" if data.constant.all() else "converged", str(few)),
        fitted=np.tile(mean, (data.n, 1)),
        binomial=few,
    )


def with_limits(fit: Fit, few: Binomial) -> Fit:
    """The fit with average and limits for the outputs that have them; the others stay.

    Args:
        fit: of all outputs.
        few: applies to some of them.
    """
    if fit.status.code == "not_finite":
        return fit
    mean, std = _inserted(few, fit.mean, fit.std)
    covariance = np.where(np.logical_or.outer(few.applies, few.applies), 0.0, fit.covariance)
    np.fill_diagonal(covariance, std**2)
    status = Status(fit.status.code, f"{fit.status.message}; {few}")
    check = fit.check
    if check is not None:  # it is no opinion on what is counted
        check = replace(
            check,
            mean=np.where(few.applies, mean, check.mean),
            std=np.where(few.applies, std, check.std),
        )
    return replace(
        fit,
        correction=mean - fit.theta0,
        covariance=covariance,
        status=status,
        check=check,
        binomial=few,
    )


def _inserted(few: Binomial, mean: Array, std: Array) -> tuple[Array, Array]:
    return np.where(few.applies, few.mean, mean), np.where(few.applies, few.std, std)


def _size_of_groups(values: Array, groups: np.ndarray) -> Array:
    """Effective numbers of draws; of values that never vary no more than chains."""
    _, counts = np.unique(groups, return_counts=True)
    sizes = np.full(values.shape[1], float(len(counts)))
    varying = np.ptp(values, axis=0) > 0
    if counts.min() >= SHORTEST and varying.any():
        sizes[varying] = effective_sample_size(values[:, varying], groups)
    return sizes
