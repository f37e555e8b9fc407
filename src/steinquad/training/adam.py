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

from steinquad._types import Array, Progress, Watch, no_watch
from steinquad.networks.stein_network import SteinNetwork
from steinquad.training.objective import (
    Penalty,
    TrainingSet,
    flatten,
    value,
    value_and_gradient,
)
from steinquad.training.options import check_counts, check_penalty, check_positive
from steinquad.training.result import TrainingResult
from steinquad.training.track import Track

__all__ = ["Adam"]


@dataclass(frozen=True, kw_only=True)
class Adam:
    """Gradient steps scaled by the running moments of each weight's gradient.

    Attributes:
        learning_rate: length of a step in each weight, about.
        batch: points of a step, every point once in each pass; None takes all of them.
        penalty: lambda of the loss.
        max_steps: most steps.
        patience: steps in which the held-out error must fall by a tenth, or half the steps so far
            where those are more; training stops when it does not.
        seed: of the order in which batches are drawn.
    """

    learning_rate: float = 1e-3
    batch: int | None = None
    penalty: float = 1e-8
    max_steps: int = 10_000
    patience: int = 1000
    seed: int = 0
    pilot_steps: ClassVar[int] = 1000  # after which the error tells a good network from a bad one

    def __post_init__(self) -> None:
        check_counts(max_steps=self.max_steps, patience=self.patience)
        if self.batch is not None:
            check_counts(batch=self.batch)
        check_penalty(self.penalty)
        check_positive(learning_rate=self.learning_rate)

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
        """Train on the loss of `training.objective`.

        The losses are those of all points. With batches that is found after each pass, and stands
        until the next.

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
        import optax  # late: half a second

        penalty = Penalty(self.penalty, theta0=not flat)
        track = Track(
            network,
            judge,
            max_steps=self.max_steps,
            patience=self.patience,
            progress=progress,
            watch=watch,
        )
        parts = self._parts(data)
        at = jnp.asarray(flatten(network))
        state = optax.adam(self.learning_rate).init(at)
        loss, gradient = value_and_gradient(at, network, next(parts)[0], penalty)
        if self.batch is not None:
            loss = value(at, network, data, penalty)

        def step() -> tuple[Array, float]:
            nonlocal at, state, loss, gradient
            at, state = _move(self.learning_rate, at, gradient, state)
            part, passed = next(parts)
            # The gradient of the next step comes with the loss after this one.
            present, gradient = value_and_gradient(at, network, part, penalty)
            if self.batch is None:
                loss = present
            elif passed or len(track.losses) + 1 == self.max_steps:
                loss = value(at, network, data, penalty)
            return np.asarray(at), float(loss)

        end = track.run(np.asarray(at), step)
        return track.result(*end, evaluations=len(track.losses) + 1)

    def _parts(self, data: TrainingSet) -> Iterator[tuple[TrainingSet, bool]]:
        """What each step sees, and whether a pass has just ended."""
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


@partial(jax.jit, static_argnums=0)
def _move(rate: float, at: jax.Array, gradient: jax.Array, state: Any) -> tuple[jax.Array, Any]:
    import optax

    updates, state = optax.adam(rate).update(gradient, state)
    return jnp.add(at, updates), state  # pyright: ignore[reportArgumentType]
