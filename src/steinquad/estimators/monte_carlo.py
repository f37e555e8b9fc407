"""Plain Monte Carlo: the average of the values."""

from dataclasses import dataclass

import numpy as np

from steinquad._types import Array, Progress
from steinquad.dataset import Dataset
from steinquad.estimate import Estimate, Status
from steinquad.estimators.base import constant_estimate, constant_outputs
from steinquad.measures.base import Measure

__all__ = ["MonteCarlo"]


@dataclass(frozen=True)
class MonteCarlo:
    """The average of the values, weighted where the data have weights.

    Its std is that of independent draws, `sd(f) / sqrt(n)`; the interval is Student's t.
    """

    @property
    def name(self) -> str:
        """Short name for tables."""
        return "MonteCarlo"

    def estimate(
        self,
        data: Dataset,
        measure: Measure | None,
        *,
        seed: int,
        progress: Progress,
        start: Estimate | None = None,
    ) -> Estimate:
        """Average the values; see `Method.estimate`."""
        del measure, seed, progress, start
        if constant_outputs(data).all():
            return constant_estimate(data, self.name)
        weights = data.effective_weights
        w = weights / weights.sum()
        mean = w @ data.fx
        spread = w[:, None] * (data.fx - mean)
        n = data.n

        def predictor(
            x: Array, score: Array | None, return_std: bool
        ) -> tuple[Array, Array | None]:
            del score
            std = np.sqrt(np.diag(covariance))
            return np.tile(mean, (len(x), 1)), np.tile(std, (len(x), 1)) if return_std else None

        covariance = spread.T @ spread * n / (n - 1)
        return Estimate.build(
            mean,
            covariance,
            scalar=data.scalar,
            method=self.name,
            status=Status("converged", "average of the values"),
            n=n,
            dof=max(weights.sum() - 1, 1.0),
            stats={"effective_sample_size": float(weights.sum())},
            values=data.fx,
            _predictor=predictor,
        )
