"""Adam (Kingma and Ba, 2015), on all points at once or on batches of them, by optax.

The usual trainer of networks, here to be compared with: for a Stein network its steps are many and
small (paper, appendix 1.1.1).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from steinquad._types import as_count, as_positive
from steinquad.networks.stein_network import SteinNetwork
from steinquad.training.objective import (
    Penalty,
    TrainingSet,
    flatten,
    value,
    value_and_gradient,
)
from steinquad.training.optimizer import Optimizer, Stepwise
from steinquad.training.track import Step

__all__ = ["Adam"]


@dataclass(frozen=True, kw_only=True)
class Adam(Optimizer):
    """Gradient steps scaled by the running moments of each weight's gradient.

    The losses are those of all points. With batches that is computed after each pass, and stands
    until the next. Options that all optimizers share are those of `Optimizer`.

    Attributes:
        learning_rate: length of a step in each weight, about.
        batch: points of a step, every point once in each pass; None takes all of them.
        penalty: lambda of the loss.
        seed: of the order in which batches are drawn.
    """

    learning_rate: float = 1e-3
    batch: int | None = None
    penalty: float = 1e-8
    max_steps: int = 10_000
    patience: int = 1000
    seed: int = 0
    pilot_steps: ClassVar[int] = 1000

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.batch is not None:
            as_count("batch", self.batch, 1)
        as_positive("penalty", self.penalty, or_zero=True)
        as_positive("learning_rate", self.learning_rate)

    def start(self, network: SteinNetwork, data: TrainingSet, flat: bool) -> "_Run":
        """A training from these weights, no step taken yet; arguments as those of `fit`.

        Every run begins with zero moments and with the first batch of the sequence that `seed`
        fixes, so equal arguments give equal runs.
        """
        return _Run(self, network, data, Penalty(self.penalty, theta0=not flat))

    def batches(self, data: TrainingSet) -> Iterator[tuple[TrainingSet, bool]]:
        """What each step sees, without end, and whether it begins a pass over the points.

        The last batch of a pass may be smaller; it is padded with weight zero, so that one
        compiled program serves all.

        Args:
            data: all points; those of weight zero are in no batch.
        """
        if self.batch is None:
            while True:
                yield data, True
        merged, rng = data.merged(), np.random.default_rng(self.seed)
        used = np.flatnonzero(merged.weights > 0)
        while True:
            order = rng.permutation(used)
            for start in range(0, len(order), self.batch):
                rows = order[start : start + self.batch]
                points = jax.tree.map(lambda a, rows=rows: a[rows], merged)
                part = TrainingSet.build(
                    points.inputs, data.frame, points.y, points.weights, room=self.batch
                )
                yield part, start == 0


class _Run(Stepwise):
    def __init__(
        self, options: Adam, network: SteinNetwork, data: TrainingSet, penalty: Penalty
    ) -> None:
        import optax  # late: half a second

        self.options, self.like, self.data, self.penalty = options, network, data, penalty
        self.batches = options.batches(data)
        self.at = jnp.asarray(flatten(network))
        self.moments = optax.adam(options.learning_rate).init(self.at)
        self.loss, _ = self._look()
        if options.batch is not None:
            self.loss = self._total()

    def step(self) -> Step:
        """Move by the gradient of the last look, and look again.

        The loss reported with batches is that of all points after the last full pass, because the
        loss of one batch is too noisy to stop by. Never None: Adam takes steps that raise the
        loss.
        """
        options = self.options
        self.at, self.moments = _move(options.learning_rate, self.at, self.gradient, self.moments)
        loss, passed = self._look()
        if options.batch is None:
            self.loss = loss
        elif passed or self.evaluations == options.max_steps + 1:
            self.loss = self._total()
        return Step(np.asarray(self.at), self.loss)

    def _look(self) -> tuple[float, bool]:
        """The loss of the next batch, with the gradient of the step to come; has a pass ended?"""
        self.evaluations += 1
        batch, passed = next(self.batches)
        loss, self.gradient = value_and_gradient(self.at, self.like, batch, self.penalty)
        return float(loss), passed

    def _total(self) -> float:
        return float(value(self.at, self.like, self.data, self.penalty))


@partial(jax.jit, static_argnums=0)
def _move(rate: float, at: jax.Array, gradient: jax.Array, state: Any) -> tuple[jax.Array, Any]:
    import optax

    updates, state = optax.adam(rate).update(gradient, state)
    return jnp.add(at, updates), state  # pyright: ignore[reportArgumentType]
