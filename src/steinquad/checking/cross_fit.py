"""Cross-fitting: an honest second opinion on any fitted method.

With the data in K parts, `theta0^(-k) + average over part k of (f - g^(-k))` is unbiased for
independent draws, because everything that g^(-k) learnt (coordinates, scales, hyperparameters,
when to stop) it learnt elsewhere; and its standard error needs no model. Draws of a Markov chain
are split into consecutive blocks, and the standard error counts their correlation.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from steinquad._types import Array, Progress
from steinquad.checking.standard_error import standard_error
from steinquad.dataset import Dataset
from steinquad.errors import InputError
from steinquad.estimate import Check, Estimate, Status
from steinquad.measures.base import Measure
from steinquad.methods.base import Method

__all__ = ["above_rounding", "checked", "cross_fit", "held_out", "parts", "widened"]

ROUNDING = 1e-14  # of an estimate, relative to the largest value
OWN_SHARE = 10.0  # of the cross-fitted std up to which a wider one is heeded
TOO_FAR = 3.0  # standard errors between the two opinions that make an estimate suspect


def parts(data: Dataset, folds: int, seed: int) -> list[np.ndarray]:
    """Rows of each part: random for independent draws, else consecutive, whole groups if many."""
    if not 2 <= folds <= data.n // 2:
        raise InputError(f"folds is {folds} for {data.n} points; give 2 to {data.n // 2}.")
    if data.groups is None:
        order = np.random.default_rng(seed).permutation(data.n)
        return [np.sort(part) for part in np.array_split(order, folds)]
    labels = np.unique(data.groups)
    whole = [np.flatnonzero(np.isin(data.groups, p)) for p in np.array_split(labels, folds)]
    if min(len(part) for part in whole) < data.n / (2 * folds):  # too few groups, or unequal ones
        return np.array_split(np.arange(data.n), folds)
    return whole


def above_rounding(std: Array, fx: Array) -> Array:
    """Standard errors (k,) no smaller than the values (n, k) can tell; zero for constants."""
    floored = np.maximum(std, ROUNDING * np.max(np.abs(fx), axis=0) * np.any(std > 0))
    return np.where(np.ptp(fx, axis=0) == 0, 0.0, floored)


def held_out(fit: Estimate, data: Dataset) -> Array:
    """`theta0 + f - g` at points that the fit has not seen, (n, k)."""
    if fit.predictor is None or fit._model_mean is None:
        raise InputError(f"{fit.method} has no model to check ({fit.status.message}).")
    prediction, _ = fit.predictor(data.x, data.score, False)
    return fit._model_mean + data.fx - prediction


def cross_fit(
    method: Method,
    data: Dataset,
    measure: Measure | None,
    estimate: Estimate,
    *,
    folds: int,
    seed: int,
    progress: Progress,
    start: Estimate | None = None,
    first: tuple[Estimate, Array] | None = None,
    split: Sequence[np.ndarray] | None = None,
) -> Check:
    """The held-out corrected estimate by `folds` fits, compared with `estimate`.

    Args:
        method: how to fit each part's complement.
        data: all of the data.
        measure: what they were drawn from, when known.
        estimate: the answer to be checked.
        folds: number of parts.
        seed: of the parts and the fits.
        progress: called during the fits.
        start: where the fits may start; must know no more of the values than a few numbers.
        first: a fit that has not seen the first part, and `held_out` there, where made already.
        split: rows of each part, in place of those of `parts`; rows that are in none are in every
            fit, and in no average.
    """
    if not data.sampled:
        raise InputError(
            "data has points that are not a sample of the measure; cross-fitting averages over "
            "the points, so leave folds out."
        )
    split = parts(data, folds, seed) if split is None else split
    values, predicted = np.empty_like(data.fx), np.full_like(data.fx, np.nan)
    for k, rows in enumerate(split):
        if k == 0 and first is not None:
            fit, values[rows] = first
        else:
            rest = data.take(np.setdiff1d(np.arange(data.n), rows))
            fit = method.estimate(rest, measure, seed=seed, progress=progress, start=start)
            values[rows] = held_out(fit, data.take(rows))
        assert fit._model_mean is not None
        predicted[rows] = fit._model_mean + data.fx[rows] - values[rows]
    judges = np.sort(np.concatenate(split))
    judging = data.take(judges)
    values, weights = values[judges], judging.effective_weights
    w = weights / weights.sum()
    mean = w @ values
    std, dof = standard_error(values, weights, judging.groups)
    std = above_rounding(std, data.fx)
    gap = np.abs(mean - np.atleast_1d(estimate.mean))
    distance = np.divide(gap, std, out=np.where(gap > 0, np.inf, 0.0), where=std > 0)
    distance[np.ptp(data.fx, axis=0) == 0] = 0.0
    residual = np.sqrt(w @ (values - mean) ** 2)
    scalar = isinstance(estimate.mean, float)
    return Check(
        mean=float(mean[0]) if scalar else mean,
        std=float(std[0]) if scalar else std,
        folds=len(split),
        dof=dof,
        residual=residual,
        distance=float(distance.max()),
        predicted=predicted,
    )


def checked(estimate: Estimate, check: Check) -> Estimate:
    """The estimate with its check; suspect where the two disagree."""
    estimate = replace(estimate, check=check)
    if check.distance <= TOO_FAR or estimate.status.code in ("suspect", "not_finite"):
        return estimate
    return estimate.with_status(
        Status(
            "suspect",
            f"the fit and its cross-fitted check differ by {check.distance:.1f} standard errors; "
            "believe est.check rather than est.mean, add points, or try another method",
        )
    )


def widened(full: Estimate, check: Check, own_share: float = OWN_SHARE) -> Estimate:
    """With the std that a user should go by.

    The cross-fitted one, or the distance between the two answers where that is larger; the fit's
    own, which may know more than the residuals do, counts up to so many times the first.
    """
    std = np.atleast_1d(full.std)
    gap = np.abs(np.atleast_1d(full.mean) - np.atleast_1d(check.mean))
    held_out = np.atleast_1d(check.std)
    own = std if np.isinf(own_share) else np.minimum(std, own_share * held_out)
    wanted = np.maximum(np.maximum(held_out, own), gap)
    wanted[std == 0] = 0.0  # outputs that do not vary
    stretch = np.divide(wanted, std, out=np.ones_like(std), where=std > 0)
    covariance = full.covariance * np.outer(stretch, stretch)
    np.fill_diagonal(covariance, wanted**2)
    scalar = isinstance(full.std, float)
    return replace(
        full,
        covariance=covariance,
        std=float(wanted[0]) if scalar else wanted,
        dof=min(full.dof, check.dof),
    )
