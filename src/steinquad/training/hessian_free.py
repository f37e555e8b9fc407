"""Hessian-free optimization (Martens 2010): Gauss-Newton steps without the matrix.

A step solves, by truncated conjugate gradients on products with `G = J^T J`,

    (G / N + lambda + mu) delta = -(J^T r / N + lambda theta),

half the quadratic model of the loss, damped by mu. The damping follows how well the model foretold
the loss: it grows by 3/2 where the loss fell by less than a quarter of what was promised and
shrinks by 2/3 where it fell by more than three quarters. Along delta the step is halved until the
loss falls.

`GaussNewton` beyond 5,000 weights takes such steps too; there the penalty comes from the evidence.
"""

from dataclasses import dataclass
from typing import ClassVar

import jax.numpy as jnp
import numpy as np

from steinquad._types import Array, as_positive
from steinquad.networks.stein_network import SteinNetwork
from steinquad.training.curvature import MatrixFree
from steinquad.training.model import CompiledModel
from steinquad.training.objective import Penalty, TrainingSet, flatten, strengths, value
from steinquad.training.optimizer import Optimizer, Stepwise
from steinquad.training.track import Step

__all__ = ["HessianFree"]

POOR, GOOD = 0.25, 0.75  # agreement with the model below and above which the damping changes
MORE, LESS = 3 / 2, 2 / 3
HALVINGS = 10  # of a step before more damping is tried
MOST_TRIES = 30  # dampings before a step is given up


@dataclass(frozen=True, kw_only=True)
class HessianFree(Optimizer):
    """Damped conjugate gradients on products with the Gauss-Newton matrix.

    Few, expensive steps for networks whose matrix is too large to form; one of the paper's
    optimizers. Options that all optimizers share are those of `Optimizer`.

    Attributes:
        penalty: lambda of the loss.
        damping: mu of the first step.
    """

    penalty: float = 1e-8
    damping: float = 1.0
    patience: int = 30
    pilot_steps: ClassVar[int] = 40

    def __post_init__(self) -> None:
        super().__post_init__()
        as_positive("penalty", self.penalty, or_zero=True)
        as_positive("damping", self.damping)

    def start(self, network: SteinNetwork, data: TrainingSet, flat: bool) -> "_Run":
        """A training from these weights, no step taken yet; arguments as those of `fit`.

        Products with the Gauss-Newton matrix always run as compiled programs, also where a NumPy
        model would suit the network.
        """
        return _Run(network, data, Penalty(self.penalty, theta0=not flat), self.damping)


class _Run(Stepwise):
    def __init__(
        self, network: SteinNetwork, data: TrainingSet, penalty: Penalty, damping: float
    ) -> None:
        self.model = CompiledModel(network, data)
        self.penalty, self.damping = penalty, damping
        self.strengths = np.asarray(strengths(network, penalty))
        self.total = data.total
        self.noise = np.ones(len(network.theta0))
        self.vector = flatten(network)
        self.loss = self._loss(self.vector)

    def step(self) -> Step | None:
        """Take a step; None if none lowers the loss.

        The damping is adapted by the agreement of the whole, unhalved step with the quadratic
        model, and also where the step is rejected, so that a retry differs.
        """
        gradient, squares = self.model.gradient(self.vector, self.noise)
        at = MatrixFree(self.model, self.vector, gradient, squares, self.noise)
        slope = gradient / self.total + self.strengths * self.vector
        for _ in range(MOST_TRIES if np.isfinite(self.loss) else 0):
            solve = at.solver(1.0 / self.total, self.strengths + self.damping)
            delta = -solve(slope)
            curved = at.quadratic(delta) / self.total + self.strengths @ delta**2
            promised = -(2 * slope @ delta + curved)
            loss = self._loss(self.vector + delta)
            agreement = (self.loss - loss) / promised if promised > 0 else 0.0
            for _ in range(HALVINGS):
                if loss < self.loss:
                    break
                delta = delta / 2
                loss = self._loss(self.vector + delta)
            if not agreement >= POOR:  # NaN is none
                self.damping *= MORE
            elif agreement > GOOD:
                self.damping *= LESS
            if loss < self.loss:
                self.vector, self.loss = self.vector + delta, loss
                return Step(self.vector, self.loss)
        return None

    def _loss(self, vector: Array) -> float:
        self.evaluations += 1
        return float(value(jnp.asarray(vector), self.model.like, self.model.data, self.penalty))
