"""The networks of one estimate: of which kind, and one for each fold, judged on that fold."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import jax.numpy as jnp
import numpy as np

from steinquad._types import Array, Progress
from steinquad.estimators.standard_frame import StandardFrame
from steinquad.networks.mlp import MLP
from steinquad.networks.stein_network import SteinNetwork
from steinquad.posterior.laplace import Posterior, laplace
from steinquad.training.gauss_newton import GaussNewton
from steinquad.training.lbfgs import LBFGS
from steinquad.training.objective import TrainingSet, flatten, predict
from steinquad.training.result import TrainingResult

__all__ = ["Member", "Shape", "Split", "Trainer", "splits"]

RACE_STEPS = 30  # of each activation before the worse one is dropped
RACE_POINTS = 3000  # most points it is run on
MOST_RACED = 7  # coordinates; with more, narrow networks learn too little to tell
NARROW, WIDE = 16, 32
# Held-out over training mean square below which a network is too small for its data rather than
# too large: then a wider one is tried.
ROOM_TO_GROW, ROUGH = 2.0, 1e-4
# Points times squared weights of one Gram matrix above which a fold trains on fewer of its points:
# a network with many times more data than weights gains next to nothing from still more.
MOST_WORK, FEWEST = 3e10, 8
MOST_JUDGED = 20_000  # points that say when to stop; all of them judge the end
SEED_STRIDE = 1_000_003  # between the seeds of the folds' networks


@dataclass(frozen=True)
class Shape:
    """What the race decides."""

    activation: str
    width: int


@dataclass(frozen=True)
class Split:
    """Rows to train on, in order of preference, and rows to be judged on."""

    train: np.ndarray
    held: np.ndarray


@dataclass(frozen=True)
class Member:
    """One trained network.

    Attributes:
        network: at its best step.
        training: how it got there.
        posterior: around it.
        held: rows that it has not seen, none without folds.
        values: `theta0 + y - g` there, standardized, (held, k).
    """

    network: SteinNetwork
    training: TrainingResult
    posterior: Posterior
    held: np.ndarray
    values: Array


def splits(parts: Sequence[np.ndarray], n: int, seed: int) -> list[Split]:
    """One for each part: the rest in random order, and the part."""
    rng = np.random.default_rng(seed)
    return [Split(rng.permutation(np.setdiff1d(np.arange(n), part)), part) for part in parts]


@dataclass
class Trainer:
    """Trains the networks of one estimate, one after the other, and keeps their trajectory.

    Attributes:
        frame: the data.
        splits: what each network sees and what it is judged on.
        optimizer: how to train.
        depth: activation layers.
        flat: prior of theta0.
        seed: of the initial weights.
        progress: called after every step of any network.
        losses: after every step of all networks so far.
        judged: held-out errors, likewise.
        theta0: the answer so far after every step, standardized.
    """

    frame: StandardFrame
    splits: list[Split]
    optimizer: GaussNewton | LBFGS
    depth: int
    flat: bool
    seed: int
    progress: Progress
    losses: list[float] = field(default_factory=list)
    judged: list[float] = field(default_factory=list)
    theta0: list[Array] = field(default_factory=list)
    evaluations: int = 0
    answer: Array | None = None  # of finished folds, which stands while others train
    _least: float = np.inf
    _best: Array = field(default_factory=lambda: np.zeros(1))

    def choose(
        self, activations: Sequence[str], width: int | None
    ) -> tuple[Shape, TrainingResult | None]:
        """The shape with the least held-out error on the first fold, and its training there."""
        narrow = NARROW if width is None else width
        shapes = [Shape(activation, narrow) for activation in activations]
        if width is None and self.frame.dim > MOST_RACED:
            points = len(self.splits[0].train)
            wide = points > len(flatten(self._initial(0, Shape("celu", WIDE))))
            return Shape(activations[-1], WIDE if wide else NARROW), None
        race = isinstance(self.optimizer, GaussNewton) and len(self.splits) > 1
        if not race or (len(shapes) == 1 and width is not None):
            return shapes[0], None
        most = RACE_POINTS
        trained = {shape: self.train(0, shape, steps=RACE_STEPS, most=most) for shape in shapes}
        best = min(trained, key=lambda shape: trained[shape].judged.min(initial=np.inf))
        wide = Shape(best.activation, WIDE)
        if width is None and self._too_small(trained[best], wide):
            wider = self.train(0, wide)
            if wider.judged.min(initial=np.inf) < trained[best].judged.min(initial=np.inf):
                return wide, wider
        whole = len(self.splits[0].train) <= most
        return best, trained[best] if whole else None

    def _too_small(self, training: TrainingResult, wide: Shape) -> bool:
        """Whether the data ask for more weights, and can pay for them."""
        points = len(self.splits[0].train) * len(self.frame.outputs.shift)
        if not len(training.judged) or points < flatten(self._initial(0, wide)).size:
            return False
        step = int(np.argmin(training.judged))
        error = training.judged[step]
        return error > ROUGH and error < ROOM_TO_GROW * training.losses[step]

    def train(
        self,
        k: int,
        shape: Shape,
        *,
        steps: int | None = None,
        most: int | None = None,
        before: TrainingResult | None = None,
    ) -> TrainingResult:
        """Train a network of this shape for fold k on at most so many points, or go on with it."""
        network = self._initial(k, shape)
        rows = self._affordable(self.splits[k].train, flatten(network).size)[:most]
        optimizer = self.optimizer
        if steps is not None and isinstance(optimizer, GaussNewton):
            optimizer = GaussNewton(
                max_steps=min(steps, optimizer.max_steps), patience=optimizer.patience
            )
        done = len(self.losses) - (0 if before is None else len(before.losses))

        def report(step: int, total: int, loss: float) -> None:
            self.progress(done + step, done + total, loss)

        result = optimizer.fit(
            network,
            self.frame.rows(rows, self._room(len(rows))),
            flat=self.flat,
            progress=report,
            judge=self._judge(k, MOST_JUDGED),
            before=before,
        )
        new = slice(0 if before is None else len(before.losses), None)
        self.losses.extend(result.losses[new])
        self.judged.extend(result.judged[new])
        path = result.theta0 if result.corrected is None else result.corrected
        self._remember(path[new], result.judged[new])
        self.evaluations += result.evaluations - (0 if before is None else before.evaluations)
        return result

    def _remember(self, theta0: Array, judged: Array) -> None:
        """The answer after each step: of the best network so far, or of finished folds."""
        for i, present in enumerate(theta0):
            error = judged[i] if len(judged) else -np.inf
            if self.answer is None and error <= self._least:
                self._least, self._best = error, present
            self.theta0.append(self._best if self.answer is None else self.answer)

    def member(
        self,
        k: int,
        shape: Shape,
        training: TrainingResult | None = None,
        *,
        finished: bool = False,
    ) -> Member:
        """The network of fold k, its posterior, and what it says of its fold."""
        if training is None or not (finished or training.stop == "converged"):
            training = self.train(k, shape, before=training)
        network = training.network
        rows = self._affordable(self.splits[k].train, flatten(network).size)
        data = self.frame.rows(rows, self._room(len(rows)))
        posterior = laplace(network, data, flat=self.flat, seed=self.seed)
        held = self.splits[k].held
        judge = self._judge(k)
        values = np.empty((0, len(network.theta0)))
        if judge is not None:
            fitted = predict(network, judge)[: len(held)]
            values = np.asarray(network.theta0) + self.frame.outputs.values[held] - fitted
        return Member(network, training, posterior, held, values)

    def full(self, shape: Shape, members: Sequence[Member]) -> Member | None:
        """One network on all of the data, trained for as long as was best for those of the folds.

        None where that is dear.
        """
        everything = np.arange(len(self.frame.weights))
        if len(everything) * len(flatten(members[0].network)) ** 2 > MOST_WORK / 2:
            return None
        best = [int(np.argmin(m.training.judged)) + 1 for m in members if len(m.training.judged)]
        self.splits = [*self.splits, Split(everything, everything[:0])]
        steps = int(np.median(best)) if best else None
        k = len(self.splits) - 1
        return self.member(k, shape, self.train(k, shape, steps=steps), finished=True)

    def _initial(self, k: int, shape: Shape) -> SteinNetwork:
        field = MLP.initialize(
            self.seed + k * SEED_STRIDE,
            dim=self.frame.dim,
            outputs=len(self.frame.outputs.shift),
            width=shape.width,
            depth=self.depth,
            activation=shape.activation,
        )
        return SteinNetwork(jnp.zeros(len(self.frame.outputs.shift)), field)

    def _affordable(self, rows: np.ndarray, weights: int) -> np.ndarray:
        """As many rows as one Gram matrix may cost; all of them with L-BFGS, which forms none."""
        if isinstance(self.optimizer, LBFGS):
            return rows
        return rows[: max(int(MOST_WORK / weights**2), FEWEST * weights)]

    def _room(self, count: int) -> int:
        """Of the largest fold, if about this size: folds that share shapes compile once."""
        most = max(len(split.train) for split in self.splits)
        return most if most - count <= len(self.splits) else count

    def _judge(self, k: int, most: int | None = None) -> TrainingSet | None:
        """The points of fold k, or so many of them, evenly spaced."""
        held = self.splits[k].held
        if not len(held):
            return None
        if most is not None and len(held) > most:
            held = held[np.linspace(0, len(held) - 1, most).round().astype(int)]
            return self.frame.rows(held)
        return self.frame.rows(held, max(len(split.held) for split in self.splits))
