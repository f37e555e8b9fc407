"""The one way of training: a driver, a track and a stopping rule that all optimizers share.

An optimizer is its options and a `TrainingRun`, which knows how to get from one set of weights to
the next. All else is here: what is recorded of a step, who hears of it, and when it is enough.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

import numpy as np

from steinquad._types import Array, Progress, Watch, as_count, as_positive, no_progress, no_watch
from steinquad.errors import InputError, shown
from steinquad.networks.stein_network import SteinNetwork
from steinquad.training.objective import TrainingSet, unflatten
from steinquad.training.track import Step, Track

__all__ = ["Optimizer", "Report", "Stepwise", "Stop", "TrainingResult", "TrainingRun"]

Stop: TypeAlias = Literal["converged", "max_steps", "not_finite"]
Report: TypeAlias = Callable[[Step], bool]


class TrainingRun(ABC):
    """One training under way.

    Attributes:
        loss: of the weights that it has reached; it may be NaN or infinite.
        evaluations: of the loss so far, or of what is as expensive.
    """

    loss: float
    evaluations: int = 0

    @abstractmethod
    def proceed(self, report: Report) -> None:
        """Go on as long as there is a step to take and `report`, called after each, says so.

        Args:
            report: takes a `Step` and answers whether to go on; it records the step and applies
                the stopping rule.
        """


class Stepwise(TrainingRun):
    """A training whose steps can be taken one at a time: an optimizer writes `step`.

    Between two steps all its state is in the object, which is what `resumable` optimizers rely on.
    """

    @abstractmethod
    def step(self) -> Step | None:
        """Take a step and say where it led, with the loss there.

        None if none lowers the loss, which ends the training.

        The vector in the answer may be reused by the next step; who keeps it makes a copy.
        """

    def proceed(self, report: Report) -> None:
        """Take steps as long as there is one and `report` says so.

        The first step that is None or that `report` answers with False ends the loop; the weights
        reached stay in the run.
        """
        while (step := self.step()) is not None and report(step):
            pass


@dataclass(frozen=True)
class TrainingResult:
    """Where training ended, why, and how it got there.

    Attributes:
        network: with the least error at the held-out points; without any, at the last step.
        stop: why it ended, in a word.
        reason: the same as a sentence.
        losses: after each step.
        theta0: the integrals after each step, (steps, k).
        evaluations: of the loss, or of what is as expensive.
        validation_errors: mean square at the held-out points after each step; empty without any.
        corrected: theta0 less the mean residual of the held-out points, (steps, k), if any.
        state: what a later `fit(..., before=result)` goes on from, once; None if none can.
    """

    network: SteinNetwork
    stop: Stop
    reason: str
    losses: Array
    theta0: Array
    evaluations: int
    validation_errors: Array
    corrected: Array | None
    state: tuple[TrainingRun, Track] | None = None


@dataclass(frozen=True, kw_only=True)
class Optimizer(ABC):
    """How to train a network; see `GaussNewton`, `LBFGS`, `HessianFree` and `Adam`.

    To add one, subclass this as a frozen dataclass and write `start`.

    Attributes:
        max_steps: most steps.
        patience: steps in which the error at held-out points must fall by a tenth, or half the
            steps so far where those are more; training stops when it does not.
        rtol: stop when the loss has fallen by less than this fraction over the last `window`
            steps; 0 never stops for that.
        window: steps over which that progress is measured.
        pilot_steps: after which the error tells a good network from a bad one.
        validation_interval: steps between two looks at the held-out points after the first
            hundred.
        resumable: whether `fit` can go on from an earlier result.
    """

    max_steps: int = 1000
    patience: int = 100
    rtol: float = 0.0
    window: int = 100
    pilot_steps: ClassVar[int] = 100
    validation_interval: ClassVar[int] = 10
    resumable: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for name in ("max_steps", "patience", "window"):
            as_count(name, getattr(self, name), 1)
        if not as_positive("rtol", self.rtol, or_zero=True) < 1:
            raise InputError(f"rtol is {shown(self.rtol)}; give a fraction from 0 to below 1.")

    @abstractmethod
    def start(self, network: SteinNetwork, data: TrainingSet, flat: bool) -> TrainingRun:
        """A training from these weights, no step taken yet: what an optimizer has to write.

        Args:
            network: where to start.
            data: what to fit.
            flat: whether theta0 has a flat prior, that is no penalty.
        """

    def fit(
        self,
        network: SteinNetwork,
        data: TrainingSet,
        *,
        flat: bool,
        progress: Progress = no_progress,
        validation: TrainingSet | None = None,
        before: TrainingResult | None = None,
        watch: Watch = no_watch,
    ) -> TrainingResult:
        """Train a network until the stopping rule says that it is enough.

        Args:
            network: where to start.
            data: what to fit.
            flat: a flat prior on theta0, which is no penalty; otherwise it shares that of the
                weights.
            progress: called with (step, total, loss) after every step.
            validation: points held out from `data` that say when to stop and which weights are
                best; without any the loss says when, and the last ones are kept.
            before: an earlier result of the same optimizer, network and data that had to stop at
                its `max_steps`, to go on from. Optimizers that are not `resumable` start afresh.
            watch: called with (step, weights) after every step.

        Returns:
            The trained network and the track of how it got there.
        """
        if before is None or before.state is None:
            track = Track(network, validation, interval=self.validation_interval)
            run = self.start(network, data, flat)
        else:
            run, track = before.state

        def report(step: Step) -> bool:
            track.add(step)
            progress(len(track), self.max_steps, step.loss)
            watch(len(track), step.vector)
            return self._ending(track, step.loss) is None

        if len(track) < self.max_steps:
            run.proceed(report)
        ending = self._ending(track, run.loss)
        stop, reason = ending or ("converged", "no step lowers the loss in float64")
        return TrainingResult(
            network=unflatten(track.best, network),
            stop=stop,
            reason=reason,
            losses=np.asarray(track.losses),
            theta0=np.asarray(track.theta0).reshape(len(track), network.theta0.size),
            evaluations=run.evaluations,
            validation_errors=np.asarray([] if validation is None else track.errors),
            corrected=None if validation is None else np.asarray(track.corrected),
            state=(run, track) if self.resumable else None,
        )

    def _ending(self, track: Track, loss: float) -> tuple[Stop, str] | None:
        """The stopping rule: why it is enough, or None."""
        steps = len(track)
        if not np.isfinite(loss):
            return "not_finite", f"the loss is {loss} " + (
                f"after {steps} steps" if steps else "at the start"
            )
        if reason := track.gives_up(self.patience):
            return "converged", reason
        if self.rtol > 0 and steps > self.window:
            fallen = 1 - track.losses[-1] / track.losses[-1 - self.window]
            if fallen < self.rtol:
                return "converged", (
                    f"the loss fell by {fallen:.2g} of itself in {self.window} steps, "
                    f"less than rtol = {self.rtol:g}"
                )
        if steps >= self.max_steps:
            return "max_steps", f"reached {self.max_steps} steps"
        return None
