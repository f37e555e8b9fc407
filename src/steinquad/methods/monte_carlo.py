"""Plain Monte Carlo: the average of the values."""

from dataclasses import dataclass

import numpy as np

from steinquad._types import Array
from steinquad.checking.standard_error import autocorrelated, standard_error, weighted_mean
from steinquad.dataset import Dataset
from steinquad.designs import IID, Design
from steinquad.fit import ConstantModel, Context, Fit, Status
from steinquad.fitting.outputs import correlated
from steinquad.measures.base import Measure
from steinquad.methods.base import Method

__all__ = ["MonteCarlo", "not_a_sample"]

FEW = 10.0  # an effective number of weighted draws below which a std says little


@dataclass(frozen=True)
class MonteCarlo(Method):
    """The average of the values, weighted where the data have weights.

    The answer to compare every other with, and the right one for a rough f in many dimensions.
    Its std is that of independent draws, `sd(f) / sqrt(n)`, or, where `Dataset.groups` names
    the chains, that of Markov chains by their effective sample size; the interval is Student's t.

    >>> MonteCarlo().estimate(Dataset([0.0, 1.0, 2.0], [1.0, 2.0, 3.0]), None).mean
    2.0
    """

    name: str = "MonteCarlo"
    averages = True

    def design(self, measure: Measure) -> Design:
        """Independent draws, of which it knows the standard error."""
        del measure
        return IID()

    def obstacle(self, data: Dataset, measure: Measure | None) -> str | None:
        """Why the data cannot be averaged, or None.

        Points of a grid, say, are no sample of the measure. Scores and a measure are not needed,
        so nothing else stands in its way.
        """
        del measure
        return not_a_sample(data)

    def fit(self, data: Dataset, measure: Measure | None, context: Context) -> Fit:
        """Average the values; see `Method.fit`.

        Returns:
            The weighted average with its standard error. The status is suspect where few weights
            dominate, or where draws that count as independent are autocorrelated;
            `stats["effective_sample_size"]` is that of the worst output.
        """
        del measure, context
        weights = data.effective_weights
        std, dof = standard_error(data.fx, weights, data.groups)
        w, mean = weights / weights.sum(), weighted_mean(data.fx, weights)
        # The correlations are those of single draws, the variances those of the average.
        covariance = correlated(std**2, w[:, None] * (data.fx - mean))
        return Fit(
            theta0=mean,
            covariance=covariance,
            model=ConstantModel(mean, std),
            dof=dof,
            status=_status(data),
            stats={"effective_sample_size": _effective_size(data, mean, std)},
        )


def not_a_sample(data: Dataset) -> str | None:
    """Why an average over the points is no expectation, in a sentence, or None.

    The obstacle that all averages share, `Subset` included.

    Args:
        data: of which `sampled` says whether the points were drawn from the measure.
    """
    if data.sampled:
        return None
    return (
        "the points are not a sample of the measure, so their average is not its expectation; "
        "use a method that fits a model of f, such as BSN()."
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
