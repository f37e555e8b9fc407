"""What training leaves behind, step by step, and whether it should go on."""

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np

from steinquad._types import Array, Progress, Watch
from steinquad.networks.stein_network import SteinNetwork
from steinquad.training.objective import TrainingSet, flatten, theta0_entries, unflatten
from steinquad.training.result import Stop, TrainingResult
from steinquad.training.validation import Judge

__all__ = ["Track"]

# The held-out error changes slowly after the first steps, and costs a fifth of a step.
ALWAYS_JUDGED, JUDGED_EVERY = 100, 10


class Track:
    """Keeps losses and integrals after every step, and has them judged.

    Args:
        network: where training starts.
        judge: points that say when to stop.
        max_steps: most steps.
        patience: see `Judge.gives_up`.
        progress: called with (step, total, loss) after every step.
        watch: called with (step, weights), likewise.
    """

    def __init__(
        self,
        network: SteinNetwork,
        judge: TrainingSet | None,
        *,
        max_steps: int,
        patience: int,
        progress: Progress,
        watch: Watch,
    ) -> None:
        self.like = network
        self.max_steps, self.patience = max_steps, patience
        self.progress, self.watch = progress, watch
        self.judged = None if judge is None else Judge(network, judge, flatten(network))
        self.losses: list[float] = []
        self.theta0: list[Array] = []
        self._integrals = theta0_entries(network)

    @property
    def full(self) -> bool:
        """Whether there are as many steps as there may be."""
        return len(self.losses) >= self.max_steps

    @property
    def gives_up(self) -> str:
        """Why held-out points say that it is enough; empty if they do not."""
        if self.judged is None or not self.judged.gives_up(self.patience):
            return ""
        return self.judged.reason

    def add(self, vector: Array, loss: float) -> None:
        """A step was taken."""
        self.losses.append(loss)
        self.theta0.append(vector[self._integrals].copy())
        steps = len(self.losses)
        self.progress(steps, self.max_steps, loss)
        self.watch(steps, vector)
        if self.judged is not None:
            if steps < ALWAYS_JUDGED or steps % JUDGED_EVERY == 0:
                self.judged.look(vector, loss)
            else:
                self.judged.skip()

    def run(
        self, vector: Array, step: Callable[[], tuple[Array, float] | None]
    ) -> tuple[Array, Stop, str]:
        """Take steps until something says that it is enough; `step` has None where it has none."""
        while not self.full:
            taken = step()
            if taken is None:
                return vector, "converged", "no step lowers the loss in float64"
            vector, loss = taken
            self.add(vector, loss)
            if not np.isfinite(loss):
                return vector, "not_finite", f"the loss is {loss} after {len(self.losses)} steps"
            if self.gives_up:
                return vector, "converged", self.gives_up
        return vector, "max_steps", f"reached {self.max_steps} steps"

    def result(self, vector: Array, stop: Stop, reason: str, evaluations: int) -> TrainingResult:
        """The end: the judge's best weights, or without one the last."""
        judged = self.judged
        return TrainingResult(
            network=unflatten(jnp.asarray(vector if judged is None else judged.best), self.like),
            stop=stop,
            reason=reason,
            losses=np.asarray(self.losses),
            theta0=np.asarray(self.theta0).reshape(len(self.losses), self.like.theta0.size),
            evaluations=evaluations,
            judged=np.asarray([] if judged is None else judged.path),
            corrected=None if judged is None else np.asarray(judged.corrected),
        )
