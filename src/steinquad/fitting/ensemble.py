"""The networks of one estimate: of which kind, and one for each fold, judged on that fold."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import jax.numpy as jnp
import numpy as np

from steinquad._types import Array, Progress
from steinquad.estimate import Estimate
from steinquad.fitting.standard_frame import StandardFrame
from steinquad.networks.mlp import MLP, Layers
from steinquad.networks.separate_mlp import SeparateMLP, first_width
from steinquad.networks.stein_network import SteinNetwork
from steinquad.posterior.laplace import LaplacePosterior, laplace
from steinquad.training.gauss_newton import GaussNewton
from steinquad.training.lbfgs import LBFGS
from steinquad.training.objective import TrainingSet, flatten, predict
from steinquad.training.optimizer import Optimizer, TrainingResult

__all__ = ["MOST_RACED", "Member", "Path", "Shape", "Split", "Trainer", "default_folds", "splits"]

RACE_POINTS = 3000  # most points a race is run on
MOST_RACED = 7  # coordinates; with more, narrow networks learn too little to tell
NARROW, WIDE = 16, 32
DEEP_STEPS = 1200
ROUGH = 1e-4  # held-out mean square after the race above which a deeper network is tried
# Points times squared weights (a Gram matrix) or times weights (a gradient) above which a fold
# trains on fewer of its points: a network with many times more data than weights gains next to
# nothing from still more, and all of them judge it.
MOST_WORK, FEWEST = 3e10, 8
MOST_GRADIENT = 1e8
MOST_VALIDATION = 20_000  # points that say when to stop; all of them judge the end
HUGE = 50_000  # points from which on two folds do
CROWDED = 5  # points a weight below which a network suffers from holding out
SEED_STRIDE = 1_000_003  # between the seeds of the folds' networks


@dataclass(frozen=True)
class Shape:
    """A kind of network and how to train it."""

    activation: str
    width: int
    depth: int
    optimizer: Optimizer
    aligned: bool = False  # first layer along the coordinates to begin with
    separate: bool = False  # and for good, of coordinates in an interval; has two layers

    def weights(self, dim: int, outputs: int) -> int:
        """How many parameters, theta0 included."""
        h = self.width
        if self.separate:
            first = first_width(dim)
            return 2 * first + h * (first + 1) + outputs * (dim * (h + 1) + 1)
        return h * (dim + 1) + (self.depth - 1) * h * (h + 1) + outputs * (dim * (h + 1) + 1)

    def crowded(self, n: int, dim: int, outputs: int) -> bool:
        """Whether theta0 is biased for certain: many weights for the data, and no evidence."""
        few = n * outputs < CROWDED * self.weights(dim, outputs)
        return few and not isinstance(self.optimizer, GaussNewton)


RACED = ("tanh", "celu")
IN_MANY_DIMENSIONS = Shape("celu", WIDE, 2, LBFGS(), aligned=True)


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
        find_posterior: what finds it, when it is asked for.
        held: rows that it has not seen, none without folds.
        values: `theta0 + y - g` there, standardized, (held, k).
    """

    network: SteinNetwork
    training: TrainingResult
    find_posterior: Callable[[], LaplacePosterior]
    held: np.ndarray
    values: Array

    @property
    def posterior(self) -> LaplacePosterior:
        """Around the network; not every one is asked for."""
        return self._posterior

    @cached_property
    def _posterior(self) -> LaplacePosterior:
        return self.find_posterior()


def default_folds(n: int, dim: int) -> int:
    """How many: more where every point that is held out is missed."""
    if n >= HUGE:
        return 2
    shape = IN_MANY_DIMENSIONS
    crowded = dim > MOST_RACED and shape.crowded(n, dim, 1) and n > shape.weights(dim, 1)
    return 8 if crowded else 4


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
        flat: prior of theta0.
        seed: of the initial weights.
        progress: called after every step of any network.
        losses: after every step of all networks so far.
        validation_errors: held-out errors, likewise.
        theta0: the answer so far after every step, standardized.
    """

    frame: StandardFrame
    splits: list[Split]
    flat: bool
    seed: int
    progress: Progress
    losses: list[float] = field(default_factory=list)
    validation_errors: list[float] = field(default_factory=list)
    theta0: list[Array] = field(default_factory=list)
    evaluations: int = 0
    answer: Array | None = None  # of finished folds, which stands while others train
    least: float = np.inf  # held-out mean square of the best network so far
    _best: Array = field(default_factory=lambda: np.zeros(1))

    def choose(self, fixed: Mapping[str, Any]) -> tuple[Shape, TrainingResult | None]:
        """The shape with the least held-out error on the first fold, and its training there.

        In few dimensions a short race of activations. In many dimensions narrow networks learn
        next to nothing in a race: wide ones, whose first layer is free or keeps to its
        coordinates.

        Args:
            fixed: fields of the shape that are not to be chosen.
        """
        separate = fixed.get("separate")
        if separate or self.frame.dim > MOST_RACED:
            wide = replace(IN_MANY_DIMENSIONS, **fixed)
            if separate:
                return wide, None
            if self._can_pay(wide):
                both = separate is None and wide.depth == 2 and self.frame.separate
                return self._best_of([wide, replace(wide, separate=True)] if both else [wide])
            narrow = replace(wide, width=NARROW, optimizer=GaussNewton())
            return replace(narrow, **fixed), None
        raced = [
            replace(Shape(activation, NARROW, 2, GaussNewton()), **fixed) for activation in RACED
        ]
        return self._race(list(dict.fromkeys(raced)))

    @property
    def rough(self) -> bool:
        """Whether the best network after a race leaves much of the integrand."""
        return self.frame.dim <= MOST_RACED and ROUGH < self.least < np.inf

    def deepened(
        self, shape: Shape, training: TrainingResult | None
    ) -> tuple[Shape, TrainingResult | None]:
        """A deeper network, if it is better and the data can pay for it.

        L-BFGS trains it: Gauss-Newton follows a jump so fast that it fits the points on both sides
        of it before it finds out where it is.
        """
        deep = Shape("celu", NARROW, 3, LBFGS(max_steps=DEEP_STEPS))
        if not self._can_pay(deep):
            return shape, training
        least = self.least
        deeper = self.train(0, deep)
        return (deep, deeper) if deeper.validation_errors.min() < least else (shape, training)

    def _best_of(self, shapes: Sequence[Shape]) -> tuple[Shape, TrainingResult | None]:
        """The best of these after all of their steps; the first where nothing judges them."""
        if len(shapes) == 1 or not len(self.splits[0].held):
            return shapes[0], None
        trained = {shape: self.train(0, shape) for shape in shapes}
        best = min(trained, key=lambda shape: trained[shape].validation_errors.min(initial=np.inf))
        return best, trained[best]

    def _race(self, shapes: Sequence[Shape]) -> tuple[Shape, TrainingResult | None]:
        """The best of these after a few steps; the first where there is nothing to judge by."""
        if len(shapes) == 1 or not len(self.splits[0].held):
            return shapes[0], None
        trained = {
            shape: self.train(0, shape, steps=shape.optimizer.pilot_steps, most=RACE_POINTS)
            for shape in shapes
        }
        best = min(trained, key=lambda shape: trained[shape].validation_errors.min(initial=np.inf))
        whole = len(self.splits[0].train) <= RACE_POINTS
        goes_on = whole and trained[best].state is not None
        return best, trained[best] if goes_on else None

    def _can_pay(self, shape: Shape) -> bool:
        """Whether there are more values to train on than weights."""
        outputs = len(self.frame.outputs.shift)
        return len(self.splits[0].train) * outputs > shape.weights(self.frame.dim, outputs)

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
        rows = self._affordable(k, shape)[:most]
        optimizer = shape.optimizer
        if steps is not None:
            optimizer = replace(optimizer, max_steps=min(steps, optimizer.max_steps))
        done = len(self.losses) - (0 if before is None else len(before.losses))

        def report(step: int, total: int, loss: float) -> None:
            self.progress(done + step, done + total, loss)

        result = optimizer.fit(
            network,
            self.seen_by(shape).rows(rows, self._room(len(rows))),
            flat=self.flat,
            progress=report,
            validation=self._validation(k, shape, MOST_VALIDATION),
            before=before,
        )
        new = slice(0 if before is None else len(before.losses), None)
        self.losses.extend(result.losses[new])
        errors = result.validation_errors
        errors = errors if len(errors) else np.full(len(result.losses), np.nan)
        self.validation_errors.extend(errors[new])
        path = result.theta0 if result.corrected is None else result.corrected
        self._remember(path[new], result.validation_errors[new])
        self.evaluations += result.evaluations - (0 if before is None else before.evaluations)
        return result

    def _remember(self, theta0: Array, errors: Array) -> None:
        """The answer after each step: of the best network so far, or of finished folds."""
        for i, present in enumerate(theta0):
            error = errors[i] if len(errors) else -np.inf
            if self.answer is None and error <= self.least:
                self.least, self._best = error, present
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
        finished = finished or (training is not None and training.state is None)
        if training is None or not (finished or training.stop == "converged"):
            training = self.train(k, shape, before=training)
        network = training.network
        rows = self._affordable(k, shape)
        data = self.seen_by(shape).rows(rows, self._room(len(rows)))
        posterior = partial(laplace, network, data, flat=self.flat, seed=self.seed)
        held = self.splits[k].held
        validation = self._validation(k, shape)
        values = np.empty((0, len(network.theta0)))
        if validation is not None:
            fitted = predict(network, validation)[: len(held)]
            values = np.asarray(network.theta0) + self.frame.outputs.values[held] - fitted
        return Member(network, training, posterior, held, values)

    def full(self, shape: Shape, members: Sequence[Member]) -> Member | None:
        """One network on all of the data, trained for as long as was best for those of the folds.

        None where that is dear.
        """
        everything = np.arange(len(self.frame.weights))
        if len(everything) * len(flatten(members[0].network)) ** 2 > MOST_WORK / 2:
            return None
        errors = [m.training.validation_errors for m in members]
        best = [int(np.argmin(each)) + 1 for each in errors if len(each)]
        self.splits = [*self.splits, Split(everything, everything[:0])]
        steps = int(np.median(best)) if best else None
        k = len(self.splits) - 1
        return self.member(k, shape, self.train(k, shape, steps=steps), finished=True)

    def _initial(self, k: int, shape: Shape) -> SteinNetwork:
        outputs = len(self.frame.outputs.shift)
        layers = Layers(
            dim=self.frame.dim,
            outputs=outputs,
            width=shape.width,
            depth=shape.depth,
            activation=shape.activation,
        )
        seed = self.seed + k * SEED_STRIDE
        if shape.separate:
            field = SeparateMLP.initialize(seed, layers)
        else:
            field = MLP.initialize(seed, layers, aligned=shape.aligned)
        return SteinNetwork(jnp.zeros(outputs), field)

    def _affordable(self, k: int, shape: Shape) -> np.ndarray:
        """As many rows of fold k as a step may cost; all where none are held out to correct it."""
        rows = self.splits[k].train
        p = shape.weights(self.frame.dim, len(self.frame.outputs.shift))
        if not len(self.splits[k].held):
            return rows
        gradients = not isinstance(shape.optimizer, GaussNewton)
        most = MOST_GRADIENT / p if gradients else MOST_WORK / p**2
        return rows[: max(int(most), FEWEST * p)]

    def _room(self, count: int) -> int:
        """Of the largest fold, if about this size: folds that share shapes compile once."""
        most = max(len(split.train) for split in self.splits)
        return most if most - count <= len(self.splits) else count

    def seen_by(self, shape: Shape) -> StandardFrame:
        """The data in the coordinates of such a network."""
        return self.frame.in_cube if shape.separate else self.frame

    def _validation(self, k: int, shape: Shape, most: int | None = None) -> TrainingSet | None:
        """The points of fold k, or so many of them, evenly spaced."""
        frame, held = self.seen_by(shape), self.splits[k].held
        if not len(held):
            return None
        if most is not None and len(held) > most:
            held = held[np.linspace(0, len(held) - 1, most).round().astype(int)]
            return frame.rows(held)
        return frame.rows(held, max(len(split.held) for split in self.splits))


class Path:
    """A progress that goes on with the trajectory of a trainer, whoever trains now.

    Attributes:
        answer: which stands at present, in the units of f, (k,).
    """

    def __init__(self, trainer: Trainer) -> None:
        self._progress = trainer.progress
        outputs = trainer.frame.outputs
        self._losses = list(trainer.losses)
        self._validation_errors = list(trainer.validation_errors)
        self._theta0 = list(outputs.in_units(np.asarray(trainer.theta0)))
        self.answer: Array = self._theta0[-1]

    def __call__(self, step: int, total: int, loss: float) -> None:
        """A step was taken."""
        self._losses.append(loss)
        self._validation_errors.append(np.nan)
        self._theta0.append(self.answer)
        done = len(self._losses)
        self._progress(done, done + max(total - step, 0), loss)

    def told(self, estimate: Estimate) -> Estimate:
        """The estimate with this trajectory as its own."""
        history = {
            "loss": np.asarray(self._losses),
            "held_out": np.asarray(self._validation_errors),
            "theta0": np.asarray(self._theta0),
        }
        stats = {**estimate.stats, "steps": len(self._losses)}
        return replace(estimate, history=history, stats=stats)
