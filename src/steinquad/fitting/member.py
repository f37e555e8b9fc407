"""One network of an ensemble."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steinquad._types import Array
from steinquad.networks.stein_network import SteinNetwork
from steinquad.posterior.laplace import LaplacePosterior
from steinquad.training.optimizer import TrainingResult

__all__ = ["Member"]


@dataclass(frozen=True, eq=False)
class Member:
    """One trained network.

    Attributes:
        network: at its best step.
        training: how it got there.
        find_posterior: what finds it, when it is asked for.
        held: rows that it has not seen, none without folds.
        values: `theta0 + y - g` there, standardized, (held, k).
    """

    network: SteinNetwork
    training: TrainingResult
    find_posterior: Callable[[], LaplacePosterior]
    held: np.ndarray
    values: Array

    @cached_property
    def posterior(self) -> LaplacePosterior:
        """Laplace approximation around the network; computed when it is first asked for.

        Not every member's is: with folds, the variance of the answer comes from held-out
        residuals, and the curvature in all weights is not needed for it.
        """
        return self.find_posterior()
