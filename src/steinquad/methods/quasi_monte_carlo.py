"""Randomized quasi-Monte Carlo: the average over scrambled replicates and their spread."""

from dataclasses import dataclass

import numpy as np

from steinquad._types import as_count
from steinquad.checking.standard_error import group_sums, weighted_mean
from steinquad.dataset import Dataset
from steinquad.designs.sobol import Sobol
from steinquad.fit import ConstantModel, Context, Fit, Status
from steinquad.measures.base import Measure
from steinquad.methods.base import Method
from steinquad.methods.monte_carlo import not_a_sample

__all__ = ["QuasiMonteCarlo"]


@dataclass(frozen=True)
class QuasiMonteCarlo(Method):
    """The average over independently scrambled Sobol points.

    In few dimensions and for a cheap, smooth f nothing beats it. Its std is that of the averages
    of the replicates, with `replicates - 1` degrees of freedom.

    Args:
        replicates: of the design it asks for; n / replicates is best a power of two.

    >>> import scipy.stats as st, steinquad as sq
    >>> est = sq.integrate(lambda x: x[:, 0] ** 2, st.norm(), n=1024, method=QuasiMonteCarlo())
    >>> abs(est.mean - 1) < 5 * est.std < 0.1
    True
    """

    replicates: int = 16
    name: str = "QuasiMonteCarlo"
    averages = True

    def __post_init__(self) -> None:
        as_count("replicates", self.replicates, 2)

    def design(self, measure: Measure) -> Sobol:
        """Independently scrambled Sobol points, with as many replicates as the method averages.

        The replicate of each point comes with the sample as `Dataset.groups`.
        """
        del measure
        return Sobol(replicates=self.replicates)

    def obstacle(self, data: Dataset, measure: Measure | None) -> str | None:
        """Why the data have no replicates to average, or None.

        The error of quasi-Monte Carlo cannot be estimated from one replicate, because its points
        depend on each other: at least two groups are needed, and points that are a sample of the
        measure.
        """
        del measure
        groups = 0 if data.groups is None else len(np.unique(data.groups))
        if groups < 2:
            return (
                f"data has {groups or 'no'} group{'s' * (groups != 1)} but QuasiMonteCarlo needs "
                "the replicate of each point; use integrate(..., method=QuasiMonteCarlo()), or "
                "pass groups= to Dataset."
            )
        return not_a_sample(data)

    def fit(self, data: Dataset, measure: Measure | None, context: Context) -> Fit:
        """Average the replicates; see `Method.fit`.

        Returns:
            The weighted average of all points. Its covariance comes from the spread of the
            replicates around it, with one degree of freedom fewer than there are replicates.
        """
        del measure, context
        assert data.groups is not None
        weights = data.effective_weights
        sums = group_sums(data.fx, weights, data.groups)
        count = len(sums)
        mean = weighted_mean(data.fx, weights)
        # The sums add up to zero, which costs one of their degrees of freedom.
        covariance = sums.T @ sums * count / (count - 1)
        return Fit(
            theta0=mean,
            covariance=covariance,
            model=ConstantModel(mean, np.sqrt(np.diag(covariance))),
            dof=float(count - 1),
            status=Status("converged", f"average over {count} replicates"),
            stats={"replicates": count},
        )
