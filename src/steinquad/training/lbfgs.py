"""Full-batch L-BFGS with a strong-Wolfe line search (SciPy's).

Its steps cost a gradient each, whatever the number of weights is, and stopped early they leave a
network smoother than its data could make it: the trainer for weights that crowd their data.
"""

from dataclasses import dataclass
from typing import ClassVar

import jax.numpy as jnp
import numpy as np
import scipy.optimize

from steinquad._types import Array, Progress, Watch, no_watch
from steinquad.errors import InputError
from steinquad.networks.stein_network import SteinNetwork
from steinquad.training.objective import Penalty, TrainingSet, flatten, value_and_gradient
from steinquad.training.options import check_counts, check_penalty
from steinquad.training.result import Stop, TrainingResult
from steinquad.training.track import Track

__all__ = ["LBFGS"]


@dataclass(frozen=True, kw_only=True)
class LBFGS:
    """Limited-memory BFGS.

    Attributes:
        penalty: lambda of the loss.
        max_steps: most steps.
        history: number of past gradients that model the curvature.
        rtol: stop when the loss has fallen by less than this fraction over the last `window`
            steps; 0 runs until float64 can no longer tell two losses apart.
        window: steps over which that progress is measured.
        patience: steps in which the held-out error must fall by a tenth, or half the steps so far
            where those are more; training stops when it does not. Without held-out points the
            loss alone says when.
    """

    penalty: float = 1e-8
    max_steps: int = 2400
    history: int = 100
    rtol: float = 0.05
    window: int = 100
    patience: int = 150
    pilot_steps: ClassVar[int] = 300  # after which the error tells a good network from a bad one

    def __post_init__(self) -> None:
        check_counts(max_steps=self.max_steps, history=self.history)
        check_counts(window=self.window, patience=self.patience)
        check_penalty(self.penalty)
        if not 0 <= self.rtol < 1:
            raise InputError(f"rtol is {self.rtol!r}; give a fraction from 0 to below 1.")

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
        """Train on the loss of `training.objective`; the best weights are kept.

        Args:
            network: where to start.
            data: what to fit.
            flat: no penalty on theta0.
            progress: called with (step, total, loss) after every step.
            judge: points that say when to stop.
            before: not used: a finished training cannot go on.
            watch: called with (step, weights) after every step.
        """
        del before
        penalty = Penalty(self.penalty, theta0=not flat)
        vector = flatten(network)
        track = Track(
            network,
            judge,
            max_steps=self.max_steps,
            patience=self.patience,
            progress=progress,
            watch=watch,
        )
        losses = track.losses
        evaluations = 0
        reason = ""

        def loss(v: Array) -> tuple[float, Array]:
            nonlocal evaluations
            evaluations += 1
            value, gradient = value_and_gradient(jnp.asarray(v), network, data, penalty)
            return float(value), np.asarray(gradient)

        def after_step(intermediate_result: scipy.optimize.OptimizeResult) -> None:
            nonlocal reason
            track.add(intermediate_result.x, float(intermediate_result.fun))
            if track.gives_up:
                reason = track.gives_up
                raise StopIteration
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
            stop, reason = "max_steps", f"reached {self.max_steps} steps"
        elif not reason:
            reason = "no step lowers the loss in float64"
        return track.result(vector, stop, reason, evaluations)
