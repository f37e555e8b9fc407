"""Watches training from outside: the error at points that it does not see."""

import numpy as np

from steinquad._types import Array
from steinquad.networks.stein_network import SteinNetwork
from steinquad.training.model import model
from steinquad.training.objective import TrainingSet, theta0_entries

__all__ = ["Judge"]

BETTER = 0.1  # share by which the error must fall to count as better
ENOUGH = 1e-12  # mean square at held-out points, in units of the variance of f


class Judge:
    """Keeps the error after every step and the weights of the best one.

    Attributes:
        path: the errors.
        corrected: theta0 less the mean residual of held-out points, likewise, if there are any.
        best: weights with the least error.
        marked: step at which the error was last clearly better than ever before.
    """

    def __init__(self, like: SteinNetwork, held_out: TrainingSet | None, vector: Array) -> None:
        self.held_out = None if held_out is None else model(like, held_out)
        self.total = 0.0 if held_out is None else float(np.sum(held_out.blocks.weights))
        self.what = "the noise was" if held_out is None else "the held-out error was"
        self.integrals = theta0_entries(like)
        self.best, self.least = vector, np.inf
        self.mark, self.marked = np.inf, 0
        self.path: list[float] = []
        self.corrected: list[Array] = []

    def gives_up(self, patience: int) -> bool:
        """Whether the error has not fallen by a tenth for long, or need not fall any more."""
        return self.enough or self.stale >= max(patience, self.marked // 2)

    @property
    def enough(self) -> bool:
        """Whether held-out points are met to a millionth of the spread of f."""
        return self.held_out is not None and self.least < ENOUGH

    @property
    def stale(self) -> int:
        """Steps since the error was last clearly better."""
        return len(self.path) - self.marked

    @property
    def reason(self) -> str:
        """Why it gives up."""
        if self.enough:
            return "the held-out error is below a millionth of the spread of f"
        return f"{self.what} not a tenth lower after {self.stale} more steps"

    def look(self, vector: Array, noise: float) -> None:
        """Judge the weights after a step, by `noise` where there are no held-out points."""
        error = noise
        if self.held_out is not None:
            squares, sums = self.held_out.moments(vector)
            error = float(np.exp(np.mean(np.log(np.maximum(squares / self.total, 1e-300)))))
            self.corrected.append(vector[self.integrals] - sums / self.total)
        self.path.append(error)
        if error < (1 - BETTER) * self.mark:
            self.mark, self.marked = error, len(self.path)
        if error < self.least:
            self.best, self.least = np.array(vector), error

    def skip(self) -> None:
        """Take a step to be as good as the one before."""
        self.path.append(self.path[-1])
        if self.held_out is not None:
            self.corrected.append(self.corrected[-1])
