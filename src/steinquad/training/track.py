"""What training leaves behind, step by step, and how it is seen at points held out from it."""

from typing import NamedTuple

import numpy as np

from steinquad._linalg import geometric_mean
from steinquad._types import Array
from steinquad.networks.stein_network import SteinNetwork
from steinquad.training.model import model
from steinquad.training.objective import TrainingSet, flatten, theta0_entries

__all__ = ["Step", "Track"]

BETTER = 0.1  # share by which the error must fall to count as better
ENOUGH = 1e-12  # mean square at held-out points, in units of the variance of f
ALWAYS_VALIDATED = 100  # steps; after these the error changes slowly


class Step(NamedTuple):
    """What an optimizer reports of one step.

    Attributes:
        vector: the weights that it led to, (p,).
        loss: of these weights.
        noise: variance of the noise by the evidence, from optimizers that estimate it; it stands
            in for the error at held-out points where there are none.
    """

    vector: Array
    loss: float
    noise: float | None = None


class Track:
    """The record of one training: losses, integrals, held-out errors, and the best weights.

    Every optimizer reports its steps to one, and every stopping rule reads nothing else.

    Args:
        network: where training starts.
        held_out: points that training does not see; without them the noise of a step takes the
            place of their error, and without that the last weights count as the best.
        interval: steps between two looks at the held-out points, once there have been a hundred.

    Attributes:
        losses: after each step.
        theta0: the integrals after each step, (k,) each.
        errors: mean square at the held-out points after each step, or the noise.
        corrected: theta0 less the mean residual of the held-out points, if there are any.
        best: weights of the least error so far.
    """

    def __init__(
        self, network: SteinNetwork, held_out: TrainingSet | None, *, interval: int = 1
    ) -> None:
        self.losses: list[float] = []
        self.theta0: list[Array] = []
        self.errors: list[float] = []
        self.corrected: list[Array] = []
        self.best = flatten(network)
        self._held_out = None if held_out is None else model(network, held_out)
        self._total = 0.0 if held_out is None else held_out.total
        self._interval = interval
        self._integrals = theta0_entries(network)
        self._least = self._mark = np.inf
        self._marked = 0  # step at which the error was last clearly better than ever before

    def __len__(self) -> int:
        """Steps so far."""
        return len(self.losses)

    def add(self, step: Step) -> None:
        """Note the loss and integrals of a step, and what held-out points or the noise say of it.

        Weights are copied only where they become the best, since optimizers may reuse their
        arrays.
        """
        self.losses.append(step.loss)
        self.theta0.append(step.vector[self._integrals].copy())
        if self._held_out is None and step.noise is None:
            self.best = np.array(step.vector)
        elif len(self) < ALWAYS_VALIDATED or len(self) % self._interval == 0:
            self._validate(step)
        else:  # a look costs a fifth of a step: the last error stands
            self.errors.append(self.errors[-1])
            if self._held_out is not None:
                self.corrected.append(self.corrected[-1])

    def gives_up(self, patience: int) -> str:
        """Why the held-out points say that it is enough; empty if they do not.

        Args:
            patience: steps in which the error must fall by a tenth, or half the steps up to its
                last such fall where those are more.
        """
        if self._held_out is not None and self._least < ENOUGH:
            return "the held-out error is below a millionth of the spread of f"
        stale = len(self.errors) - self._marked
        if not self.errors or stale < max(patience, self._marked // 2):
            return ""
        what = "noise" if self._held_out is None else "held-out error"
        return f"the {what} was not a tenth lower after {stale} more steps"

    def _validate(self, step: Step) -> None:
        if self._held_out is None:
            assert step.noise is not None
            error = step.noise
        else:
            squares, sums = self._held_out.moments(step.vector)
            # The geometric mean over the outputs, which does not care for their units.
            error = geometric_mean(squares / self._total)
            self.corrected.append(step.vector[self._integrals] - sums / self._total)
        self.errors.append(error)
        if error < (1 - BETTER) * self._mark:
            self._mark, self._marked = error, len(self.errors)
        if error < self._least:
            self.best, self._least = np.array(step.vector), error
