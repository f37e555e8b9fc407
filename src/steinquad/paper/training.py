"""Training seen along the way: loss, CPU seconds, condition of the Hessian (figures 9 and 10)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import jax.numpy as jnp
import numpy as np

from steinquad._float64 import float64
from steinquad._types import Array
from steinquad.dataset import Dataset
from steinquad.fitting.standard_frame import StandardFrame
from steinquad.networks.mlp import MLP, Layers
from steinquad.networks.plain_mlp import PlainMLP
from steinquad.networks.stein_network import SteinNetwork
from steinquad.paper.record import Mark, finite
from steinquad.problems import Problem
from steinquad.stein.multipliers import Constant, PaperBoundary
from steinquad.training.adam import Adam
from steinquad.training.hessian import condition_number, hessian
from steinquad.training.objective import Penalty, flatten, value
from steinquad.training.optimizer import Optimizer

__all__ = ["MARKS", "Training"]

MARKS = tuple(digit * 10**decade for decade in range(6) for digit in (1, 2, 5))  # iterations
PENALTY = Penalty(1e-8, theta0=True)  # of the one loss by which all optimizers are compared


@dataclass(frozen=True, kw_only=True)
class Training:
    """One network trained by one optimizer.

    Attributes:
        stein: a Stein network; otherwise a plain one of the same layers, which has no integral.
        optimizer: how to train.
        activation: of every layer; ReLU has no Hessian to speak of, so none is computed.
        width: units in each layer.
        depth: number of activation layers.
    """

    stein: bool
    optimizer: Optimizer
    activation: str = "celu"
    width: int = 32
    depth: int = 3

    @float64
    def follow(
        self, problem: Problem[float], n: int, seed: int, clock: Callable[[], float]
    ) -> Mapping[str, Any]:
        """Train on n draws; what a `Record` says of it.

        One step is taken beforehand and thrown away, so that compiling is not in the seconds.

        Args:
            problem: what to fit.
            n: number of draws.
            seed: of the draws, the first weights and the batches.
            clock: CPU seconds.
        """
        frame = _frame(problem, n, seed)
        layers = Layers(
            dim=frame.dim, width=self.width, depth=self.depth, activation=self.activation
        )
        field = MLP.initialize(seed, layers)
        network = SteinNetwork(jnp.zeros(1), field if self.stein else PlainMLP.like(field))
        data = frame.at_all()
        optimizer = self.optimizer
        if isinstance(optimizer, Adam):
            optimizer = replace(optimizer, seed=seed)
        seen: list[tuple[int, float, Array]] = []

        def watch(step: int, weights: Array) -> None:
            if step in MARKS:
                seen.append((step, clock() - start, weights.copy()))

        # Compiled beforehand: what is compared is the cost of steps.
        replace(optimizer, max_steps=1).fit(network, data, flat=False)
        start = clock()
        done = optimizer.fit(network, data, flat=False, watch=watch)
        steps = len(done.losses)
        if steps and (not seen or seen[-1][0] < steps):
            seen.append((steps, clock() - start, flatten(done.network)))

        def mark(step: int, seconds: float, weights: Array) -> Mark:
            at, condition = jnp.asarray(weights), None
            # At powers of ten and at the end: a Hessian takes as long as many steps.
            if self.activation != "relu" and (step == steps or str(step).strip("0") == "1"):
                matrix = np.asarray(hessian(at, network, data, PENALTY))
                condition = finite(condition_number(matrix))
            loss = float(value(at, network, data, PENALTY))
            return Mark(step, round(seconds, 4), finite(loss), condition)

        trajectory = tuple(mark(*each) for each in seen)
        theta0 = float(frame.outputs.in_units(np.asarray(done.network.theta0)[None])[0, 0])
        return {
            "estimate": finite(theta0) if self.stein else None,
            "std": None,
            "error": finite(abs(theta0 - problem.truth)) if self.stein else None,
            "status": done.stop,
            "message": done.reason,
            "loss": trajectory[-1].loss if trajectory else None,
            "trajectory": trajectory,
        }


def _frame(problem: Problem[float], n: int, seed: int) -> StandardFrame:
    """The draws as a published network sees them, in standard units."""
    measure = problem.measure
    x = measure.sample(n, seed=seed)
    data = Dataset(x, problem.integrand(x), measure.score(x), support=measure.support)
    # The paper's boundary factor has the units of x^2, which would be those of the loss.
    multiplier = Constant(float(np.prod(x.var(axis=0)[list(measure.support.bounded)])))
    return StandardFrame.fit(
        data, measure, multiplier=multiplier, boundary=PaperBoundary(), standardize="diagonal"
    )
