"""What every optimizer returns."""

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np

from steinquad._types import Array
from steinquad.networks.stein_network import SteinNetwork

__all__ = ["Stop", "TrainingResult"]

Stop: TypeAlias = Literal["converged", "max_steps", "not_finite"]


@dataclass(frozen=True)
class TrainingResult:
    """Where training ended, why, and how it got there."""

    network: SteinNetwork
    stop: Stop
    reason: str
    losses: Array  # after each step
    theta0: Array  # after each step, (steps, k)
    evaluations: int
    judged: Array = field(default_factory=lambda: np.empty(0))  # held-out error after each step
    corrected: Array | None = None  # theta0 less the mean held-out residual, (steps, k)
    state: Any = None  # what the optimizer needs to go on from here
