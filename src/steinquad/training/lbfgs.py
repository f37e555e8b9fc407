"""Full-batch L-BFGS with a strong-Wolfe line search (SciPy's), run to float64 accuracy."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import jax.numpy as jnp
import numpy as np
import scipy.optimize

from steinquad._types import Array, Progress
from steinquad.errors import InputError
from steinquad.networks.stein_network import SteinNetwork
from steinquad.training.objective import (
    Penalty,
    TrainingSet,
    flatten,
    theta0_entries,
    unflatten,
    value_and_gradient,
)

__all__ = ["LBFGS", "TrainingResult"]

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


@dataclass(frozen=True, kw_only=True)
class LBFGS:
    """Limited-memory BFGS.

    Attributes:
        max_steps: most steps.
        history: number of past gradients that model the curvature.
        rtol: stop when the loss has fallen by less than this fraction over the last `window`
            steps; 0 runs until float64 can no longer tell two losses apart.
        window: steps over which that progress is measured.
    """

    max_steps: int = 2400
    history: int = 100
    rtol: float = 0.05
    window: int = 100

    def __post_init__(self) -> None:
        for option in ("max_steps", "history", "window"):
            value = getattr(self, option)
            if not isinstance(value, int) or value < 1:
                raise InputError(f"{option} is {value!r}; give an integer >= 1.")
        if not 0 <= self.rtol < 1:
            raise InputError(f"rtol is {self.rtol!r}; give a fraction from 0 to below 1.")

    def minimize(
        self,
        network: SteinNetwork,
        data: TrainingSet,
        penalty: Penalty,
        progress: Progress,
        before: TrainingResult | None = None,
    ) -> TrainingResult:
        """Train `network` on the loss of `training.objective`; `before` is its past, if any."""
        like, vector = network, np.asarray(flatten(network))
        integrals = theta0_entries(like)
        losses: list[float] = []
        theta0: list[Array] = []
        evaluations = 0
        reason = ""
        past = 0 if before is None else len(before.losses)

        def loss(v: Array) -> tuple[float, Array]:
            nonlocal evaluations
            evaluations += 1
            value, gradient = value_and_gradient(jnp.asarray(v), like, data, penalty)
            return float(value), np.asarray(gradient)

        def after_step(intermediate_result: scipy.optimize.OptimizeResult) -> None:
            nonlocal reason
            losses.append(float(intermediate_result.fun))
            theta0.append(intermediate_result.x[integrals].copy())
            progress(past + len(losses), past + self.max_steps, losses[-1])
            if len(losses) > self.window and self.rtol > 0:
                fallen = 1 - losses[-1] / losses[-1 - self.window]
                if fallen < self.rtol:
                    reason = (
                        f"the loss fell by {fallen:.2g} of itself in {self.window} steps, "
                        f"less than rtol = {self.rtol:g}"
                    )
                    raise StopIteration

        # The line search gives up near the limit of float64 or where the history misleads it; a
        # fresh start from there tells the two apart: the first goes nowhere, the second goes on.
        while True:
            done = len(losses)
            result = scipy.optimize.minimize(
                loss,
                vector,
                jac=True,
                method="L-BFGS-B",
                callback=after_step,
                options={
                    "maxiter": self.max_steps - done,
                    "maxfun": 20 * self.max_steps,
                    "maxcor": self.history,
                    "maxls": 50,
                    "ftol": 0.0,
                    "gtol": 0.0,
                },
            )
            vector = result.x
            gave_up = not reason and len(losses) < self.max_steps
            if not (gave_up and len(losses) > done + 1):
                break
        stop: Stop = "converged"
        if not np.isfinite(result.fun):
            stop, reason = "not_finite", f"the loss is {result.fun} after {len(losses)} steps"
        elif not reason and len(losses) >= self.max_steps:
            stop, reason = "max_steps", f"reached {past + self.max_steps} steps"
        elif not reason:
            reason = "no step lowers the loss in float64"
        path = np.asarray(theta0).reshape(len(losses), network.theta0.size)
        return TrainingResult(
            network=unflatten(jnp.asarray(vector), like),
            stop=stop,
            reason=reason,
            losses=np.append(() if before is None else before.losses, losses),
            theta0=path if before is None else np.concatenate([before.theta0, path]),
            evaluations=evaluations + (0 if before is None else before.evaluations),
        )
