"""Several models of one f as control variates of each other, and the std of their answer.

Every `h_k = g_k - theta_k` has mean zero, so for any weights w the mean of `f - sum_k w_k h_k` is
that of f. With v_k the values `theta_k + f - g_k` of points under fits that have not seen them,
theta_k the integral under the fit to all points, e_k its own std and a_k its jackknife, how far it
moves without each of the folds:

    weights   w = argmin var(sum_k w_k v_k),  w >= 0,  sum w = 1,  those below 0.05 left out
    answer    theta = sum_k w_k theta_k
    std^2     max(s, e, a, c)^2 + b^2
    e, a      sum_k w_k e_k and sum_k w_k a_k
    s         standard error of the mean of sum_k w_k v_k, a degree of freedom less for each weight
    b^2       sum_k q_k (theta_k - theta)^2 over the contenders, q_k in proportion to 1 / var(v_k)
    c         |theta - mean of sum_k w_k v_k|, twice that where it is above 3 s

Contenders are all models whose held-out residuals are within twice the smallest, whatever their
weight: models that fit all points equally well and disagree about the integral disagree about
what no point has seen. So does a model with itself where folds move it: residuals are small there
for want of points, and the jackknife is not. The plain average is one of the models, with v = f:
weight on it is shrinkage. Points that are no sample of the measure have none of s, a and c.

Two answers more than three standard errors apart are no estimates of the same number: neither is
known better than to the distance, and that is a single draw of it.

Points of one scrambled Sobol sequence have the same std. Their answers err less where f is smooth,
but as much where f is noise or varies faster than the points lie, and no single sequence tells.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from steinquad._types import Array
from steinquad.checking.error_bar import TOO_FAR
from steinquad.checking.standard_error import (
    ROUNDING,
    above_rounding,
    standard_error,
    weighted_mean,
)
from steinquad.dataset import Dataset

__all__ = ["WITHIN", "Committee", "Opinion"]

LEAST_WEIGHT = 0.05  # below which a weight is noise, and may cost an exact model its digits
WITHIN = 2.0  # factor of the smallest held-out residuals up to which a model is a contender


@dataclass(frozen=True, eq=False)
class Opinion:
    """What one model says.

    Attributes:
        theta0: integrals, (k,).
        std: of these, by the model's own lights, (k,).
        jackknife: of these, by how far they move without each fold, (k,).
        values: `theta0 + f - g` of points under fits that have not seen them, (n, k).
    """

    theta0: Array
    std: Array
    jackknife: Array
    values: Array


@dataclass(frozen=True, eq=False)
class Committee:
    """The weights and the answer of several models.

    Attributes:
        weights: of each model for each output, (K, k); they add up to 1.
        rms: held-out residuals of each model around their average, (K, k).
        mean: the answer, (k,).
        std: of the answer, (k,).
        dof: degrees of freedom of the std.
        values: `theta0 + f - g` of the weighted model at points that it has not seen, (n, k).
    """

    weights: Array
    rms: Array
    mean: Array
    std: Array
    dof: float
    values: Array

    @classmethod
    def of(cls, opinions: Sequence[Opinion], data: Dataset) -> "Committee":
        """Weigh them by the formulas of the module.

        Args:
            opinions: of at least one model.
            data: whose values they are of, with weights and groups of the points.
        """
        points = data.effective_weights / data.effective_weights.sum()
        theta0 = np.stack([each.theta0 for each in opinions])
        own = np.stack([each.std for each in opinions])
        values = np.stack([each.values for each in opinions])  # (K, n, k)
        centered = values - np.einsum("n,Knk->Kk", points, values)[:, None]
        rms = np.sqrt(np.einsum("n,Knk->Kk", points, centered**2))
        rows = np.sqrt(points)[:, None, None] * np.moveaxis(centered, 0, 2)  # (n, k, K)
        columns = [_weights(rows[:, j], rms[:, j]) for j in range(data.outputs)]
        weights = np.stack(columns, axis=1)
        mean = np.sum(weights * theta0, axis=0)
        stacked = np.einsum("Kk,Knk->nk", weights, values)
        std = _weighted(weights, own)
        between = np.sum(_contest(rms) * (theta0 - mean) ** 2, axis=0)
        dof = max(float(data.effective_weights.sum()) - 1.0, 1.0)
        if data.sampled:
            used = np.count_nonzero(weights, axis=0) - 1
            error, dof = standard_error(stacked, data.effective_weights, data.groups)
            size = max(data.effective_weights.sum(), 2.0)
            error = error * np.sqrt(size / np.maximum(size - used, 1.0))
            dof = max(float(dof) - float(used.max()), 1.0)
            error = above_rounding(error, data.fx)
            moved = _weighted(weights, np.stack([each.jackknife for each in opinions]))
            away = np.abs(mean - weighted_mean(stacked, data.effective_weights))
            away = np.where(away > TOO_FAR * error, 2 * away, away)
            std = np.max([std, error, moved, away], axis=0)
        return cls(weights, rms, mean, np.sqrt(std**2 + between), dof, stacked)


def _weights(rows: Array, rms: Array) -> Array:
    """Of the models for one output, by their centered values (n, K)."""
    best = int(np.argmin(rms))
    least = rms[best]
    if least <= ROUNDING * rms.max():
        return np.eye(len(rms))[best]
    # With a row of ones that should add up to one, non-negative least squares has its solution
    # in the direction of that under the constraint, whatever the row is multiplied with.
    system = np.vstack([rows / least, np.ones(len(rms))])
    target = np.append(np.zeros(len(rows)), 1.0)
    weights = nnls(system, target)[0]
    weights /= weights.sum()
    weights[weights < min(LEAST_WEIGHT, weights.max())] = 0.0
    return weights / weights.sum()


def _weighted(weights: Array, stds: Array) -> Array:
    """Sum of weight times std over models, (K, k) -> (k,); one without weight may have no std."""
    return np.sum(weights * np.where(weights > 0, stds, 0.0), axis=0)


def _contest(rms: Array) -> Array:
    """Inverse mean squares of the contenders for each output, (K, k), adding up to 1."""
    least = np.maximum(rms.min(axis=0), np.finfo(float).tiny)
    relative = np.maximum(rms / least, 1.0)
    shares = np.where(relative <= WITHIN, relative**-2.0, 0.0)
    return shares / shares.sum(axis=0)
