"""Randomized quasi-Monte Carlo: the average over scrambled replicates and their spread."""

from dataclasses import dataclass

import numpy as np

from steinquad._types import Progress
from steinquad.checking.standard_error import group_sums
from steinquad.dataset import Dataset
from steinquad.designs.base import as_count
from steinquad.designs.sobol import Sobol
from steinquad.errors import InputError
from steinquad.estimate import Estimate, Status
from steinquad.measures.base import Measure
from steinquad.methods.base import constant_estimate, constant_outputs
from steinquad.methods.monte_carlo import average, not_a_sample

__all__ = ["QuasiMonteCarlo"]


@dataclass(frozen=True)
class QuasiMonteCarlo:
    """The average over independently scrambled Sobol points.

    In few dimensions and for a cheap, smooth f nothing beats it. Its std is that of the averages
    of the replicates, with `replicates - 1` degrees of freedom.

    Args:
        replicates: of the design it asks for; n / replicates is best a power of two.

    >>> QuasiMonteCarlo().design
    Sobol(replicates=16)
    """

    replicates: int = 16

    def __post_init__(self) -> None:
        as_count("replicates", self.replicates, 2)

    @property
    def name(self) -> str:
        """Short name for tables."""
        return "QuasiMonteCarlo"

    @property
    def design(self) -> Sobol:
        """Where it wants its points."""
        return Sobol(replicates=self.replicates)

    def obstacle(self, data: Dataset, measure: Measure | None) -> str | None:
        """Why the data have no replicates to average, or None."""
        del measure
        groups = 0 if data.groups is None else len(np.unique(data.groups))
        if groups < 2:
            return (
                f"data has {groups or 'no'} group{'s' * (groups != 1)} but QuasiMonteCarlo needs "
                "the replicate of each point; use integrate(..., method=QuasiMonteCarlo()), or "
                "pass groups= to Dataset."
            )
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
        """Average the replicates; see `Method.estimate`."""
        del seed, progress, start
        reason = self.obstacle(data, measure)
        if reason is not None or data.groups is None:
            raise InputError(reason)
        if constant_outputs(data).all():
            return constant_estimate(data, self.name)
        weights = data.effective_weights
        sums = group_sums(data.fx, weights, data.groups)
        count = len(sums)
        return average(
            data,
            weights @ data.fx / weights.sum(),
            sums.T @ sums * count / (count - 1),
            method=self.name,
            status=Status("converged", f"average over {count} replicates"),
            dof=float(count - 1),
            stats={"replicates": count},
        )
