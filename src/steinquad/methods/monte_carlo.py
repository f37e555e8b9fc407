"""Plain Monte Carlo: the average of the values."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from steinquad._types import Array, Progress
from steinquad.checking.standard_error import autocorrelated, standard_error
from steinquad.dataset import Dataset
from steinquad.errors import InputError
from steinquad.estimate import Estimate, Status
from steinquad.measures.base import Measure
from steinquad.methods.base import constant_estimate, constant_outputs

__all__ = ["MonteCarlo", "average", "not_a_sample"]

FEW = 10.0  # an effective number of weighted draws below which a std says little


@dataclass(frozen=True)
class MonteCarlo:
    """The average of the values, weighted where the data have weights.

    Its std is that of independent draws, `sd(f) / sqrt(n)`, or, where `Dataset.groups` names
    the chains, that of Markov chains by their effective sample size; the interval is Student's t.

    >>> MonteCarlo().estimate(Dataset([0.0, 1.0, 2.0], [1.0, 2.0, 3.0]), None).mean
    2.0
    """

    @property
    def name(self) -> str:
        """Short name for tables."""
        return "MonteCarlo"

    def obstacle(self, data: Dataset, measure: Measure | None) -> str | None:
        """Why the data cannot be averaged, or None."""
        del measure
        return not_a_sample(data)

    def estimate(
        self,
        data: Dataset,
        measure: Measure | None,
        *,
        seed: int = 0,
        progress: Progress | None = None,
        start: Estimate | None = None,
    ) -> Estimate:
        """Average the values; see `Method.estimate`."""
        del seed, progress, start
        reason = self.obstacle(data, measure)
        if reason is not None:
            raise InputError(reason)
        if constant_outputs(data).all():
            return constant_estimate(data, self.name)
        weights = data.effective_weights
        std, dof = standard_error(data.fx, weights, data.groups)
        w = weights / weights.sum()
        mean = w @ data.fx
        # The correlations are those of single draws, the variances those of the average.
        spread = w[:, None] * (data.fx - mean)
        covariance = spread.T @ spread
        single = np.sqrt(np.diag(covariance))
        ratio = np.divide(std, single, out=np.zeros_like(std), where=single > 0)
        covariance = ratio[:, None] * covariance * ratio
        return average(
            data,
            mean,
            covariance,
            method=self.name,
            status=_status(data),
            dof=dof,
            stats={"effective_sample_size": _effective_size(data, mean, std)},
        )


def not_a_sample(data: Dataset) -> str | None:
    """Why an average over the points is no expectation, or None."""
    if data.sampled:
        return None
    return (
        "the points are not a sample of the measure, so their average is not its expectation; "
        "use a method that fits a model of f, such as BSN()."
    )


def average(data: Dataset, mean: Array, covariance: Array, **fields: Any) -> Estimate:
    """The estimate by an average, whose model of f is that constant."""
    std = np.sqrt(np.diag(covariance))

    def predictor(x: Array, score: Array | None, return_std: bool) -> tuple[Array, Array | None]:
        del score
        return np.tile(mean, (len(x), 1)), np.tile(std, (len(x), 1)) if return_std else None

    return Estimate.build(
        mean,
        covariance,
        scalar=data.scalar,
        n=data.n,
        values=data.fx,
        predictor=predictor,
        **fields,
    )


def _status(data: Dataset) -> Status:
    size = data.effective_weights.sum()
    if data.weights is not None and size < min(FEW, data.n / 2):
        return Status(
            "suspect",
            f"the weights leave an effective sample size of {size:.1f} of {data.n}; "
            "draw from a measure closer to this one",
        )
    if data.groups is None and autocorrelated(data.fx):
        return Status(
            "suspect",
            "consecutive values are correlated but the std takes them for independent; pass "
            "groups= with the Markov chain of each point, or shuffle independent points that "
            "were sorted",
        )
    return Status("converged", "average of the values")


def _effective_size(data: Dataset, mean: Array, std: Array) -> float:
    """How many independent draws give as good an average, for the worst output."""
    weights = data.effective_weights
    if data.groups is None:
        return float(weights.sum())
    variance = weights @ (data.fx - mean) ** 2 / weights.sum()
    varies = std > 0
    return float(np.min(variance[varies] / std[varies] ** 2)) if varies.any() else float(data.n)
