"""Full-batch L-BFGS with a strong-Wolfe line search (SciPy's).

Its steps cost a gradient each, whatever the number of weights is, and stopped early they leave a
network smoother than its data could make it: the trainer for weights that crowd their data.
"""

from dataclasses import dataclass
from typing import ClassVar

import jax.numpy as jnp
import numpy as np
import scipy.optimize

from steinquad._types import Array, as_count, as_positive
from steinquad.networks.stein_network import SteinNetwork
from steinquad.training.objective import Penalty, TrainingSet, flatten, value_and_gradient
from steinquad.training.optimizer import Optimizer, Report, TrainingRun
from steinquad.training.track import Step

__all__ = ["LBFGS"]


@dataclass(frozen=True, kw_only=True)
class LBFGS(Optimizer):
    """Limited-memory BFGS: cheap steps, for networks of many weights or of three layers and more.

    Options that all optimizers share are those of `Optimizer`; with `rtol` 0 it runs until float64
    can no longer tell two losses apart.

    Attributes:
        penalty: lambda of the loss.
        history: number of past gradients that model the curvature.
    """

    penalty: float = 1e-8
    max_steps: int = 2400
    history: int = 100
    rtol: float = 0.05
    patience: int = 150
    pilot_steps: ClassVar[int] = 300

    def __post_init__(self) -> None:
        super().__post_init__()
        as_count("history", self.history, 1)
        as_positive("penalty", self.penalty, or_zero=True)

    def start(self, network: SteinNetwork, data: TrainingSet, flat: bool) -> "_Run":
        """A training from these weights, nothing evaluated yet; arguments as those of `fit`.

        SciPy drives the steps, so this run is not resumable: the history of gradients is lost when
        it ends.
        """
        return _Run(self, network, data, Penalty(self.penalty, theta0=not flat))


class _Run(TrainingRun):
    def __init__(
        self, options: LBFGS, network: SteinNetwork, data: TrainingSet, penalty: Penalty
    ) -> None:
        self.options, self.like, self.data, self.penalty = options, network, data, penalty
        self.loss = np.inf

    def proceed(self, report: Report) -> None:
        """Let SciPy run, as often as it gets anywhere.

        SciPy's own tolerances are off, and the callback stops it, so that all optimizers share one
        stopping rule. `report` hears of accepted steps only, not of trials of the line search.
        """
        vector, goes_on, steps = flatten(self.like), True, 0

        def after_step(intermediate_result: scipy.optimize.OptimizeResult) -> None:
            nonlocal goes_on, steps
            steps += 1
            goes_on = report(Step(intermediate_result.x, float(intermediate_result.fun)))
            if not goes_on:
                raise StopIteration

        # The line search gives up near the limit of float64 or where the history misleads it; a
        # fresh start from there tells the two apart: the first goes nowhere, the second goes on.
        before = -2
        while goes_on and steps > before + 1:
            before = steps
            result = scipy.optimize.minimize(
                self._value_and_gradient,
                vector,
                jac=True,
                method="L-BFGS-B",
                callback=after_step,
                options={
                    "maxiter": self.options.max_steps,
                    "maxfun": 20 * self.options.max_steps,
                    "maxcor": self.options.history,
                    "maxls": 50,
                    "ftol": 0.0,
                    "gtol": 0.0,
                },
            )
            vector, self.loss = result.x, float(result.fun)

    def _value_and_gradient(self, vector: Array) -> tuple[float, Array]:
        self.evaluations += 1
        at = jnp.asarray(vector)
        value, gradient = value_and_gradient(at, self.like, self.data, self.penalty)
        return float(value), np.asarray(gradient)
