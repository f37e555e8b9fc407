"""Levenberg-Marquardt with a Bayesian penalty: the curvature that trains is the posterior's.

The weights theta minimize `beta |r|^2 + alpha |w|^2`, w all of them but theta0 (flat prior), and
the two precisions are found anew along the way from the same matrix `G = J^T J`: with
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

from steinquad._types import Array, Progress, Watch, no_watch
from steinquad.networks.stein_network import SteinNetwork
from steinquad.training.curvature import curvature, trainable
from steinquad.training.evidence import LOG_ALPHA, LOG_BETA
from steinquad.training.objective import TrainingSet, flatten, theta0_entries, unflatten
from steinquad.training.options import check_counts
from steinquad.training.result import Stop, TrainingResult
from steinquad.training.validation import Judge

__all__ = ["GaussNewton"]

FIRST_ALPHA, FIRST_BETA, FIRST_DAMPING = 1e-2, 1.0, 1.0
LEAST_DAMPING = 1e-16
MOST_TRIES = 25  # dampings before a step is given up
TOO_CURVED = 0.75  # of a step, the acceleration beyond which a shorter one is tried


@dataclass(frozen=True, kw_only=True)
class GaussNewton:
    """Levenberg-Marquardt with precisions from the evidence and geodesic acceleration.

    Attributes:
        max_steps: most steps.
        patience: steps in which the held-out error (or, without any, the noise) must fall by a
            tenth, or half the steps so far where those are more; training stops when it does not.
    """

    max_steps: int = 300
    patience: int = 20
    pilot_steps: ClassVar[int] = 30  # after which the error tells a good network from a bad one

    def __post_init__(self) -> None:
        check_counts(max_steps=self.max_steps, patience=self.patience)

    def fit(
        self,
        network: SteinNetwork,
        data: TrainingSet,
        *,
        flat: bool,
        progress: Progress,
        judge: TrainingSet | None = None,
        before: TrainingResult | None = None,
        watch: Watch = no_watch,
    ) -> TrainingResult:
        """Train `network`; see the module.

        Args:
            network: where to start.
            data: what to fit.
            flat: a flat prior on theta0; otherwise it shares that of the weights.
            progress: called with (step, total, mean square) after every step.
            judge: points that say when to stop.
            before: an earlier training of the same network on the same data, to go on from.
            watch: called with (step, weights) after every step.
        """
        if before is None:
            run = _Run(network, data, flat)
            judged = Judge(network, judge, run.vector)
        else:
            run, judged = before.state
        losses = [] if before is None else list(before.losses)
        theta0 = [] if before is None else list(before.theta0)
        stop: Stop = "max_steps"
        reason = f"reached {self.max_steps} steps"
        while len(losses) < self.max_steps:
            if not run.step():
                stop, reason = "converged", "no step lowers the loss in float64"
                break
            losses.append(run.mean_square)
            theta0.append(run.vector[run.integrals].copy())
            progress(len(losses), self.max_steps, losses[-1])
            watch(len(losses), run.vector)
            judged.look(run.vector, 1.0 / run.beta)
            if judged.gives_up(self.patience):
                stop, reason = "converged", judged.reason
                break
        if not np.isfinite(run.mean_square):
            stop, reason = "not_finite", f"the loss is {run.mean_square} at the start"
        return TrainingResult(
            network=unflatten(judged.best, network),
            stop=stop,
            reason=reason,
            losses=np.asarray(losses),
            theta0=np.asarray(theta0).reshape(len(losses), network.theta0.size),
            judged=np.asarray([] if judge is None else judged.path),
            corrected=None if judge is None else np.asarray(judged.corrected),
            evaluations=run.evaluations,
            state=(run, judged),
        )


class _Run:
    """The state of one training."""

    def __init__(self, network: SteinNetwork, data: TrainingSet, flat: bool) -> None:
        self.model = trainable(network, data)
        self.vector = flatten(network)
        self.integrals = theta0_entries(network)
        self.penalized = np.where(self.integrals & flat, 0.0, 1.0)
        self.total = float(np.sum(data.blocks.weights))
        self.observations = self.total * len(network.theta0) - (self.integrals.sum() * flat)
        self.alpha, self.beta, self.damping = FIRST_ALPHA, FIRST_BETA, FIRST_DAMPING
        self.gamma = 0.0
        self.steps = self.evaluations = 0
        self.at = curvature(self.model, self.vector, np.ones(len(network.theta0)))

    @property
    def mean_square(self) -> float:
        """Of the residuals, mean over the outputs."""
        return float(np.mean(self.at.squares)) / self.total

    def step(self) -> bool:
        """Take a step; False if none lowers the objective."""
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
            if 2 * np.linalg.norm(bent) <= TOO_CURVED * np.linalg.norm(delta):
                moved = self.vector + delta + bent
                new = self._objective(moved, self.model.squares(moved))
                if new < now:
                    curved = self.beta * self.at.quadratic(delta) + prior @ delta**2
                    promised = float(-2 * (gradient @ delta) - curved)
                    self._move(moved, (now - new) / promised)
                    return True
            self.damping *= 3
        return False

    def _objective(self, vector: Array, sums: Array) -> float:
        value = self.beta * np.sum(sums / self.at.noise**2)
        return float(value + self.alpha * (self.penalized @ vector**2))

    def _move(self, moved: Array, agreement: float) -> None:
        """Go there, look around, and find the precisions anew."""
        shrink = 3.0 if agreement > 0.75 else 2.0 if agreement > 0.25 else 1.0
        self.damping = max(self.damping / shrink, LEAST_DAMPING)
        self.vector, sums = moved, self.at.squares
        noise = np.sqrt(sums / sums.mean()) if sums.min() > 0 else self.at.noise
        self.steps += 1
        anew = self.steps % self.at.every == 0  # the precisions, which need an exact G
        self.at = curvature(self.model, moved, noise, 0.0 if anew else self.damping)
        if not anew:
            return
        gamma = self.at.effective(self.alpha, self.beta, self.penalized)
        if gamma is None:
            return
        self.gamma = float(np.clip(gamma, 1e-3, self.observations - 0.5))
        weight = max(float(self.penalized @ moved**2), 1e-300)
        square = max(float(np.sum(self.at.squares / noise**2)), 1e-300)
        self.alpha = float(np.clip(self.gamma / weight, *np.exp(LOG_ALPHA)))
        self.beta = float(np.clip((self.observations - self.gamma) / square, *np.exp(LOG_BETA)))
