"""Which kind of network suits the data: tried on the first fold, validated on its points."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from steinquad.fitting.ensemble import Trainer
from steinquad.fitting.shapes import Shape
from steinquad.training.gauss_newton import GaussNewton
from steinquad.training.optimizer import TrainingResult

__all__ = ["choose_shape", "deepened", "is_rough"]

Trained = tuple[Shape, TrainingResult | None]


def choose_shape(trainer: Trainer, fixed: Mapping[str, Any]) -> Trained:
    """The shape with the least held-out error on the first fold, and its training there.

    In few dimensions a short race of activations. In many dimensions narrow networks learn next to
    nothing in a race: wide ones, whose first layer is free or keeps to its coordinates.

    Args:
        trainer: with the data.
        fixed: fields of the shape that are not to be chosen.

    Returns:
        The shape, and a training of it on the first fold that can be continued, or None where all
        of it is still to be done.
    """
    limits, separate = trainer.limits, fixed.get("separate")
    if separate or trainer.frame.dim > limits.most_raced:
        wide = replace(limits.in_many_dimensions, **fixed)
        if separate:
            return wide, None
        if _can_pay(trainer, wide):
            both = separate is None and wide.depth == 2 and trainer.frame.separate
            return _best_of(trainer, [wide, replace(wide, separate=True)] if both else [wide])
        # Narrow, and trained by Gauss-Newton, whose evidence sets the prior.
        thrifty = replace(limits.in_many_dimensions, width=limits.narrow, optimizer=GaussNewton())
        return replace(thrifty, **fixed), None
    # Narrow ones of two layers, so that a few Gauss-Newton steps are enough to rank them.
    shapes = [Shape(name, limits.narrow, 2, GaussNewton()) for name in ("tanh", "celu")]
    raced = list(dict.fromkeys(replace(each, **fixed) for each in shapes))
    best, training = _best_of(
        trainer, raced, steps=raced[0].optimizer.pilot_steps, most=limits.race_points
    )
    # A training that has not seen all of its points, or has no state, cannot go on.
    whole = len(trainer.splits[0].train) <= limits.race_points
    return best, training if training and training.state is not None and whole else None


def is_rough(trainer: Trainer) -> bool:
    """Whether the best network after a race leaves much of the integrand.

    Asked in few dimensions only, where it decides whether boxes between jumps or a deeper network
    are tried. Without held-out points nothing is known, and the answer is no.

    Args:
        trainer: whose trajectory has the least held-out mean square so far.
    """
    limits = trainer.limits
    few = trainer.frame.dim <= limits.most_raced
    return few and limits.rough < trainer.trajectory.least < np.inf


def deepened(trainer: Trainer, shape: Shape, training: TrainingResult | None) -> Trained:
    """A deeper network, if it is better and the data can pay for it.

    L-BFGS trains it: Gauss-Newton follows a jump so fast that it fits the points on both sides of
    it before it finds out where it is.

    Args:
        trainer: with the data and the limits that describe the deep network.
        shape: the best so far.
        training: of it on the first fold.

    Returns:
        The deep shape with its training, or what was passed in.
    """
    deep = trainer.limits.deep
    if not _can_pay(trainer, deep):
        return shape, training
    least = trainer.trajectory.least
    deeper = trainer.train(trainer.splits[0], deep)
    return (deep, deeper) if deeper.validation_errors.min() < least else (shape, training)


def _best_of(
    trainer: Trainer, shapes: Sequence[Shape], *, steps: int | None = None, most: int | None = None
) -> Trained:
    """The best of these after so many steps; the first where nothing validates them."""
    first = trainer.splits[0]
    if len(shapes) == 1 or not len(first.held):
        return shapes[0], None
    trained = {shape: trainer.train(first, shape, steps=steps, most=most) for shape in shapes}
    best = min(trained, key=lambda shape: trained[shape].validation_errors.min(initial=np.inf))
    return best, trained[best]


def _can_pay(trainer: Trainer, shape: Shape) -> bool:
    """Whether there are more values to train on than weights."""
    values = len(trainer.splits[0].train) * trainer.outputs
    return values > shape.weights(trainer.frame.dim, trainer.outputs)
