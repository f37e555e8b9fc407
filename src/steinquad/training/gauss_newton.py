"""Levenberg-Marquardt with a Bayesian penalty: the curvature that trains is the posterior's.

The weights theta minimize `beta |r|^2 + alpha |w|^2`, w all of them but theta0 (flat prior), and
the two precisions are updated along the way from the same matrix `G = J^T J`: with
`Sigma = (beta G + alpha I)^-1`, the evidence is stationary where

    gamma = p_w - alpha tr(Sigma_ww),   alpha = gamma / |w|^2,   beta = (m - gamma - k) / |r|^2,

m residuals, k integrals (MacKay 1992, with a flat prior on theta0). A step solves

    (beta G + alpha I + mu beta I) delta = -gradient,

and goes on along the curve that the residuals bend to second order (geodesic acceleration,
Transtrum and Sethna 2012): half the solution for the second derivative of the residuals along
delta is added, which needs no other matrix and makes the steps in curved valleys an order longer.

Training stops on the error at points that it does not see, where it is given some, else on the
noise `1/beta` that the evidence finds; the weights of the best step are kept.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from steinquad._types import Array, as_count
from steinquad.networks.stein_network import SteinNetwork
from steinquad.training.curvature import DENSE_LIMIT, Curvature, Dense, MatrixFree
from steinquad.training.evidence import LOG_ALPHA, LOG_BETA
from steinquad.training.model import CompiledModel, ResidualModel, model
from steinquad.training.objective import TrainingSet, flatten, theta0_entries
from steinquad.training.optimizer import Optimizer, Stepwise
from steinquad.training.track import Step

__all__ = ["GaussNewton"]

FIRST_ALPHA, FIRST_BETA, FIRST_DAMPING = 1e-2, 1.0, 1.0
LEAST_DAMPING = 1e-16
MOST_TRIES = 25  # dampings before a step is given up


@dataclass(frozen=True, kw_only=True)
class GaussNewton(Optimizer):
    """Levenberg-Marquardt with precisions from the evidence and geodesic acceleration.

    The default up to some thousand weights: a few dozen steps, no penalty to choose. Options that
    all optimizers share are those of `Optimizer`; without held-out points the noise must fall as
    their error would have to.

    Attributes:
        dense_limit: most weights for which the matrix G is formed; beyond, steps are solved by
            conjugate gradients on its products.
        max_acceleration: largest acceleration, relative to its step, before a shorter step is
            tried instead.
    """

    max_steps: int = 300
    patience: int = 20
    dense_limit: int = DENSE_LIMIT
    max_acceleration: float = 0.75
    pilot_steps: ClassVar[int] = 30
    validation_interval: ClassVar[int] = 1
    resumable: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        as_count("dense_limit", self.dense_limit, 1)

    def start(self, network: SteinNetwork, data: TrainingSet, flat: bool) -> "_Run":
        """A training from these weights.

        Gradient and curvature there are known, no step taken yet; arguments as those of `fit`.
        Beyond `dense_limit` weights the curvature is known by its products only.
        """
        dense = len(flatten(network)) <= self.dense_limit
        at = model(network, data) if dense else CompiledModel(network, data)
        return _Run(at, flat, dense=dense, max_acceleration=self.max_acceleration)


class _Run(Stepwise):
    def __init__(
        self, at: ResidualModel, flat: bool, *, dense: bool = True, max_acceleration: float = 0.75
    ) -> None:
        network = at.like
        self.model, self.dense, self.max_acceleration = at, dense, max_acceleration
        self.vector = flatten(network)
        self.integrals = theta0_entries(network)
        self.penalized = np.where(self.integrals & flat, 0.0, 1.0)
        self.total = at.data.total
        self.observations = self.total * len(network.theta0) - (self.integrals.sum() * flat)
        self.alpha, self.beta, self.damping = FIRST_ALPHA, FIRST_BETA, FIRST_DAMPING
        self.gamma = 0.0
        self.steps = 0
        self._look(np.ones(len(network.theta0)))

    def step(self) -> Step | None:
        """Take a step; None if none lowers the objective.

        More damping is tried where the factorization fails, the acceleration is too large for a
        second-order model, or the objective rises. Precisions are updated after every second
        accepted step of a dense model.
        """
        prior = self.alpha * self.penalized
        gradient = self.beta * self.at.gradient + prior * self.vector
        now = self._objective(self.vector, self.at.squares)
        for _ in range(MOST_TRIES if np.isfinite(now) else 0):
            self.evaluations += 1
            solve = self.at.solver(self.beta, prior + self.damping * self.beta)
            if solve is None:
                self.damping *= 10
                continue
            delta = -solve(gradient)
            bend = self.model.bend(self.vector, self.at.noise, delta)
            bent = -0.5 * self.beta * solve(bend)
            if 2 * np.linalg.norm(bent) <= self.max_acceleration * np.linalg.norm(delta):
                moved = self.vector + delta + bent
                new = self._objective(moved, self.model.squares(moved))
                if new < now:
                    curved = self.beta * self.at.quadratic(delta) + prior @ delta**2
                    promised = float(-2 * (gradient @ delta) - curved)
                    self._move(moved, (now - new) / promised)
                    return Step(self.vector, self.loss, noise=1.0 / self.beta)
            self.damping *= 3
        return None

    def _objective(self, vector: Array, sums: Array) -> float:
        value = self.beta * np.sum(sums / self.at.noise**2)
        return float(value + self.alpha * (self.penalized @ vector**2))

    def _look(self, noise: Array, damping: float = 0.0) -> None:
        """Gradient, curvature and mean square at these weights, for a step with this damping."""
        self.at: Curvature = (
            Dense(*self.model.gram(self.vector, noise, damping), noise)
            if self.dense
            else MatrixFree.at(self.model, self.vector, noise)
        )
        self.loss = float(np.mean(self.at.squares)) / self.total

    def _move(self, moved: Array, agreement: float) -> None:
        """Go there, look around, and update the precisions."""
        shrink = 3.0 if agreement > 0.75 else 2.0 if agreement > 0.25 else 1.0
        self.damping = max(self.damping / shrink, LEAST_DAMPING)
        self.vector, sums = moved, self.at.squares
        # An output that is fitted exactly has no noise to divide by: the last estimate stands.
        noise = np.sqrt(sums / sums.mean()) if sums.min() > 0 else self.at.noise
        self.steps += 1
        update = self.steps % self.at.every == 0  # of the precisions, which need an exact G
        self._look(noise, 0.0 if update else self.damping)
        gamma = self.at.effective(self.alpha, self.beta, self.penalized) if update else None
        if gamma is None:
            return
        self.gamma = float(np.clip(gamma, 1e-3, self.observations - 0.5))
        weight = max(float(self.penalized @ moved**2), 1e-300)
        square = max(float(np.sum(self.at.squares / noise**2)), 1e-300)
        self.alpha = float(np.clip(self.gamma / weight, *np.exp(LOG_ALPHA)))
        self.beta = float(np.clip((self.observations - self.gamma) / square, *np.exp(LOG_BETA)))
