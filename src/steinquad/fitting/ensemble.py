"""The networks of one fit: one for each fold, validated on that fold, and one for all data."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import jax
import numpy as np

from steinquad._types import Array
from steinquad.checking.folds import evenly_spaced, others
from steinquad.dataset import Dataset
from steinquad.fit import WarmStart
from steinquad.fitting.ensemble_answer import EnsembleAnswer, Member, combine
from steinquad.fitting.shapes import Limits, Shape
from steinquad.fitting.standard_frame import StandardFrame
from steinquad.fitting.trajectory import Trajectory
from steinquad.networks.mlp import MLP, Layers
from steinquad.networks.separate_mlp import SeparateMLP
from steinquad.networks.stein_network import SteinNetwork
from steinquad.posterior.laplace import laplace
from steinquad.training.objective import TrainingSet, flatten, predict
from steinquad.training.optimizer import TrainingResult

__all__ = ["Ensemble", "FirstNetwork", "Split", "Trainer", "splits", "train_ensemble"]

SEED_STRIDE = 1_000_003  # between the seeds of the folds' networks


@dataclass(frozen=True, eq=False)
class Split:
    """What one network sees.

    Attributes:
        number: of the network, from which its initial weights follow.
        train: rows to train on, in order of preference.
        held: rows that validate it; none for a network of all data.
    """

    number: int
    train: np.ndarray
    held: np.ndarray

    @classmethod
    def everything(cls, n: int, number: int = 0) -> "Split":
        """All rows to train on, none held out.

        Args:
            n: number of points.
            number: of the network; different numbers have different initial weights.
        """
        return cls(number, np.arange(n), np.arange(0))


def splits(folds: Sequence[np.ndarray], n: int, seed: int) -> list[Split]:
    """One for each fold: the rest in random order, and the fold.

    The order is random because a network that cannot afford all of its points trains on the first
    of them, which have to be a fair sample.

    Args:
        folds: rows of each fold.
        n: number of points.
        seed: of the order.
    """
    rng = np.random.default_rng(seed)
    return [Split(k, rng.permutation(others(n, fold)), fold) for k, fold in enumerate(folds)]


@dataclass(frozen=True, eq=False)
class Trainer:
    """Trains the networks of one fit.

    Shapes may differ from call to call; the data, the folds and the seeds are those of the fit,
    so that shapes are compared on the same points.

    Attributes:
        frame: the data.
        splits: what the network of each fold sees.
        flat: prior of theta0.
        seed: of the initial weights.
        limits: on sizes.
        trajectory: to which every step is reported.
    """

    frame: StandardFrame
    splits: Sequence[Split]
    flat: bool
    seed: int
    limits: Limits
    trajectory: Trajectory

    @property
    def outputs(self) -> int:
        """Number of outputs that vary; constant ones are exact and no network sees them."""
        return len(self.frame.outputs.shift)

    def seen_by(self, shape: Shape) -> StandardFrame:
        """The data in the coordinates of such a network.

        Networks with separate coordinates need each of them in an interval; all others see
        standardized ones.
        """
        return self.frame.in_cube if shape.separate else self.frame

    def train(
        self,
        split: Split,
        shape: Shape,
        *,
        steps: int | None = None,
        most: int | None = None,
        before: TrainingResult | None = None,
    ) -> TrainingResult:
        """Train a network of this shape.

        Args:
            split: what it sees.
            shape: of the network.
            steps: most steps to take.
            most: most points to see.
            before: a training of the same network to go on with.

        Returns:
            The network at its best step on the validation points, with losses and errors of all
            steps. Every step is also reported to the trajectory.
        """
        optimizer = shape.optimizer
        if steps is not None:
            optimizer = replace(optimizer, max_steps=min(steps, optimizer.max_steps))
        result = optimizer.fit(
            self._initial(split, shape),
            self._training_set(split, shape, most),
            flat=self.flat,
            progress=self.trajectory.reporter(before),
            validation=self._validation_set(split, shape, self.limits.most_validated),
            before=before,
        )
        self.trajectory.add(result, before)
        return result

    def member(self, split: Split, shape: Shape, training: TrainingResult) -> Member:
        """A network that has been trained, its posterior, and what it says of its fold.

        Args:
            split: what it has seen, and the rows that it has not.
            shape: of the network.
            training: by which it got there.

        Returns:
            The network with `theta0 + y - g` at all rows of its fold; the posterior is computed
            only when it is asked for.
        """
        network = training.network
        data = self._training_set(split, shape)
        values = np.empty((0, self.outputs))
        validation = self._validation_set(split, shape)
        if validation is not None:
            fitted = predict(network, validation)[: len(split.held)]
            values = np.asarray(network.theta0) + self.frame.outputs.values[split.held] - fitted
        posterior = partial(laplace, network, data, flat=self.flat, seed=self.seed)
        return Member(network, training, posterior, split.held, values)

    def finished(
        self, split: Split, shape: Shape, training: TrainingResult | None = None
    ) -> Member:
        """The member after all of its steps, of which some may have been taken.

        Args:
            split: what the network sees.
            shape: of the network.
            training: its beginning, such as a race; it goes on unless it has converged or cannot
                be resumed. None to begin from initial weights.
        """
        if training is None or (training.state is not None and training.stop != "converged"):
            training = self.train(split, shape, before=training)
        return self.member(split, shape, training)

    def _initial(self, split: Split, shape: Shape) -> SteinNetwork:
        layers = Layers(
            dim=self.frame.dim,
            outputs=self.outputs,
            width=shape.width,
            depth=shape.depth,
            activation=shape.activation,
        )
        seed = self.seed + split.number * SEED_STRIDE
        if shape.separate:
            field = SeparateMLP.initialize(seed, layers)
        else:
            field = MLP.initialize(seed, layers, aligned=shape.aligned)
        return SteinNetwork(jax.device_put(np.zeros(self.outputs)), field)

    def _training_set(self, split: Split, shape: Shape, most: int | None = None) -> TrainingSet:
        """As many rows as a step may cost; all where none are held out to correct it."""
        rows = split.train
        if len(split.held):
            rows = rows[: self.limits.affordable(shape, self.frame.dim, self.outputs)]
        rows = rows[:most]
        # Folds that share shapes compile once: all have room for the largest, if about this size.
        largest = max(len(each.train) for each in (*self.splits, split))
        near = largest - len(rows) <= len(self.splits) + (split not in self.splits)
        return self.seen_by(shape).rows(rows, largest if near else len(rows))

    def _validation_set(
        self, split: Split, shape: Shape, most: int | None = None
    ) -> TrainingSet | None:
        """The points of its fold, or so many of them, evenly spaced."""
        frame, held = self.seen_by(shape), split.held
        if not len(held):
            return None
        if most is not None and len(held) > most:
            return frame.rows(evenly_spaced(held, most))
        return frame.rows(held, max(len(each.held) for each in self.splits))


@dataclass(frozen=True, eq=False)
class FirstNetwork(WarmStart):
    """The network of the first fold by itself: a fit to the same data need not train it again.

    Attributes:
        shape: of the network; all that a fit to other data takes of it.
        training: of the network.
        split: what it has seen.
        values: of its data, standardized, by which they are known again.
    """

    shape: Shape
    training: TrainingResult
    split: Split
    values: Array

    @property
    def unseen(self) -> np.ndarray | None:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The rows of its fold; None without folds."""
        return self.split.held if len(self.split.held) else None

    def training_of(self, trainer: Trainer) -> TrainingResult | None:
        """Its training, where it is that of the first network of this fit; None elsewhere.

        Args:
            trainer: with the data and the folds of the fit.
        """
        outputs, first = trainer.frame.outputs, trainer.splits[0]
        same = np.array_equal(self.split.train, first.train)
        same = same and np.array_equal(self.values, outputs.values) and outputs.noise is None
        return self.training if same else None


@dataclass(frozen=True, eq=False)
class Ensemble:
    """The networks that make one answer.

    Attributes:
        shape: of all of them.
        frame: their data, in their coordinates.
        members: of the folds.
        full: of all data, where that is neither expensive nor biased.
        answer: their integral, standardized.
    """

    shape: Shape
    frame: StandardFrame
    members: Sequence[Member]
    full: Member | None
    answer: EnsembleAnswer

    @property
    def shown(self) -> Sequence[Member]:
        """The networks whose average is the model of f.

        The one of all data where there is one, otherwise those of the folds.
        """
        return self.members if self.full is None else [self.full]


def train_ensemble(
    trainer: Trainer,
    shape: Shape,
    training: TrainingResult | None,
    data: Dataset,
    *,
    most: int | Literal["all"],
) -> Ensemble:
    """Networks of every fold and one of all data, each reported and combined as it is finished.

    Args:
        trainer: with the data.
        shape: of the networks.
        training: the beginning of that of the first fold, where there is one.
        data: their outputs, weights and groups.
        most: how many folds to train; with fewer than all there is no network of all data.

    Returns:
        The networks and their combined answer, in standard units.
    """
    biased = trainer.limits.biased(shape, data.n, data.dim, data.outputs)
    outputs = trainer.frame.outputs
    members: list[Member] = []
    for split in trainer.splits[: None if most == "all" else most]:
        members.append(trainer.finished(split, shape, None if members else training))
        answer = combine(members, trainer.frame, data, biased=biased)
        trainer.trajectory.settle(outputs.in_units(answer.mean))
    full = None
    if most == "all" and len(members) > 1 and not biased:
        full = _network_of_all(trainer, shape, members)
    answer = combine(members, trainer.frame, data, full, biased=biased)
    return Ensemble(shape, trainer.seen_by(shape), members, full, answer)


def _network_of_all(trainer: Trainer, shape: Shape, members: Sequence[Member]) -> Member | None:
    """One network of all data, trained for as long as was best for those of the folds.

    None where that is expensive.
    """
    n = len(trainer.frame.weights)
    if n * len(flatten(members[0].network)) ** 2 > trainer.limits.most_work / 2:
        return None
    errors = [member.training.validation_errors for member in members]
    best = [int(np.argmin(each)) + 1 for each in errors if len(each)]
    steps = int(np.median(best)) if best else None
    everything = Split.everything(n, len(trainer.splits))
    return trainer.member(everything, shape, trainer.train(everything, shape, steps=steps))
