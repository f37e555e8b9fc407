"""The way of all networks of one fit, step by step, as it is shown to the user."""

from collections.abc import Mapping

import numpy as np

from steinquad._types import Array, Progress
from steinquad.fitting.outputs import Outputs
from steinquad.training.optimizer import TrainingResult

__all__ = ["Trajectory"]


class Trajectory:
    """Loss, held-out error and the answer so far after every step of any network.

    Args:
        progress: called after every step.
        outputs: units of the answer.

    Attributes:
        least: held-out mean square of the best network so far.
        evaluations: of the objective, by all networks.
    """

    def __init__(self, progress: Progress, outputs: Outputs) -> None:
        self._progress, self._outputs = progress, outputs
        self._losses: list[float] = []
        self._errors: list[float] = []
        self._theta0: list[Array] = []
        self._best = outputs.in_units(np.zeros(len(outputs.shift)))
        self._settled = False
        self.least, self.evaluations = np.inf, 0

    @property
    def steps(self) -> int:
        """Number of training steps so far, over all networks."""
        return len(self._losses)

    @property
    def loss(self) -> float:
        """Loss after the last step of any network; NaN before the first."""
        return self._losses[-1] if self._losses else float("nan")

    def history(self) -> Mapping[str, Array]:
        """As `Fit.history` has it, in the units of f.

        Returns:
            `loss` and `held_out` of the network that was being trained, each (steps,), the latter
            NaN where nothing was held out, and `theta0`, the best answer known after each step,
            (steps, k).
        """
        return {
            "loss": np.asarray(self._losses),
            "held_out": np.asarray(self._errors),
            "theta0": np.asarray(self._theta0).reshape(self.steps, -1),
        }

    def reporter(self, before: TrainingResult | None) -> Progress:
        """A progress for one training that goes on here, `before` being its first part.

        Steps of single networks are numbered on, so that a user sees one count for the whole fit.

        Args:
            before: the result that the training continues; None for a new one.
        """
        done = self.steps - (0 if before is None else len(before.losses))

        def report(step: int, total: int, loss: float) -> None:
            self._progress(done + step, done + total, loss)

        return report

    def add(self, result: TrainingResult, before: TrainingResult | None) -> None:
        """Append the steps of a training, without those that were taken `before`.

        Until an answer is settled, the theta0 of the step with the least held-out error so far is
        the answer that the history shows.

        Args:
            result: of the training, its continued steps included.
            before: the result that it continued, already added; None for a new one.
        """
        new = slice(0 if before is None else len(before.losses), None)
        errors = result.validation_errors
        if not len(errors):
            errors = np.full(len(result.losses), np.nan)
        path = result.theta0 if result.corrected is None else result.corrected
        for error, theta0 in zip(errors[new], path[new], strict=True):
            # Without held-out points, NaN, every step is as good as any: the last one counts.
            if not self._settled and not error > self.least:
                self.least, self._best = float(error), self._outputs.in_units(theta0)
            self._theta0.append(self._best)
        self._losses.extend(result.losses[new])
        self._errors.extend(errors[new])
        self.evaluations += result.evaluations - (0 if before is None else before.evaluations)

    def settle(self, answer: Array) -> None:
        """From now on this answer (k,) in the units of f stands, while others train.

        Called when a network, or all so far together, has its final answer: the course of one
        that is still in training would be a step back.
        """
        self._best, self._settled = answer, True

    def step(self, step: int, total: int, loss: float) -> None:
        """Record a step of a training elsewhere: a `Progress` that goes on here.

        For fits of single boxes, which have trajectories of their own. Their losses are kept;
        their theta0 is not that of the whole, so the answer stays.
        """
        self._settled = True
        self._losses.append(loss)
        self._errors.append(np.nan)
        self._theta0.append(self._best)
        self._progress(self.steps, self.steps + max(total - step, 0), loss)
