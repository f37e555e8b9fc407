"""Bayesian Stein networks (Ott et al., UAI 2023): integration by regression."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from steinquad._linalg import geometric_mean
from steinquad._types import Array, is_count, is_word
from steinquad.checking.error_bar import check_of, checked, distance, widened
from steinquad.checking.folds import folds_of, others
from steinquad.checking.held_out import HeldOut
from steinquad.dataset import Dataset
from steinquad.errors import InputError, shown
from steinquad.fit import Context, Fit, HeldOutValues, Status, WarmStart
from steinquad.fitting.ensemble import (
    Ensemble,
    FirstNetwork,
    Split,
    Trainer,
    splits,
    train_ensemble,
)
from steinquad.fitting.ensemble_answer import Member, NetworkModel
from steinquad.fitting.pieces import Partition, between_points, fit_by_pieces
from steinquad.fitting.race import choose_shape, deepened, is_rough
from steinquad.fitting.shapes import Limits, Shape
from steinquad.fitting.standard_frame import StandardFrame, score_obstacle
from steinquad.fitting.trajectory import Trajectory
from steinquad.measures.base import Measure
from steinquad.methods.base import Method, check_choices
from steinquad.networks.activations import SMOOTH, ActivationName
from steinquad.points import Points
from steinquad.stein.multipliers import Boundary, Constant, Multiplier, PaperBoundary
from steinquad.training.lbfgs import LBFGS
from steinquad.training.objective import flatten, predict
from steinquad.training.optimizer import Optimizer

__all__ = ["BSN"]

FEWEST_FOLDED = 12  # points from which on some are held out
# Of the held-out mean square of one network, above which boxes are not believed: one or two points
# on the wrong side of a cut may double theirs.
WORSE = 2.0
LARGEST_GAP = 0.05  # relative width of the bounds on the variance that is reported as trouble


@dataclass(frozen=True, kw_only=True)
class BSN(Method):
    """A neural network whose integral is one of its weights, with a Laplace posterior.

    The data are split into folds. One network is trained for each fold on the others, validated on
    it, and stopped when that error no longer falls. The answer is the integral of one more network
    on all of the data, or where that is expensive or biased the average of the folds', corrected
    by what those miss on their folds. Its variance is the squared standard error of that
    correction plus half the variance between the networks' integrals (see `ensemble_answer`).

    Attributes:
        width: units in each layer; "auto" takes 16, or 32 in more than seven dimensions where the
            data can pay for them.
        depth: number of activation layers; one or two have a divergence free of d. "auto" takes
            two, or three for an integrand that stays rough (and nothing else is given).
        activation: of every layer; "auto" races tanh and CELU for a few steps, or takes CELU in
            more than seven dimensions.
        multiplier: m(x) of the Stein operator, in the user's coordinates.
        boundary: factor that vanishes on the faces of a bounded support: each coordinate its own,
            or the paper's product over all.
        standardize: coordinates of the network: scaled one by one, whitened, or as they are.
        flat: a flat prior on theta0; otherwise it shares that of the weights, as in the paper.
        directions: of the first layer's units: random or one coordinate each to begin with, or
            "separate", one coordinate each for good, bent into an interval where it has no ends
            (two layers, the first of 2 d units and at least 40, the second of `width`; for
            coordinates that are not whitened). "auto" takes random ones, and in more
            than seven dimensions the better of the others on held-out points.
        folds: parts of the data; 1 trains one network on all of them and trusts its posterior;
            "auto" takes 4, 2 for very many points, 8 in many dimensions for few points a weight.
        members: how many of the folds' networks to train; fewer than folds for a quick look.
        optimizer: how to train; "auto" takes Gauss-Newton, or L-BFGS for three layers and in more
            than seven dimensions.
        pieces: "auto" gives every box between the jumps of an integrand that stays rough networks
            of its own, where the measure has distribution functions and held-out points agree
            (and nothing else is given); "one" never does.
        limits: sizes at which other networks or fewer data are taken.
        name: for tables.
    """

    width: int | Literal["auto"] = "auto"
    depth: int | Literal["auto"] = "auto"
    activation: ActivationName | Literal["auto"] = "auto"
    multiplier: Multiplier = field(default_factory=Constant)
    boundary: Literal["coordinate", "paper"] = "coordinate"
    standardize: Literal["diagonal", "whiten", "none"] = "diagonal"
    flat: bool = True
    directions: Literal["auto", "random", "coordinates", "separate"] = "auto"
    folds: int | Literal["auto"] = "auto"
    members: int | Literal["all"] = "all"
    optimizer: Optimizer | Literal["auto"] = "auto"
    pieces: Literal["auto", "one"] = "auto"
    limits: Limits = field(default_factory=Limits)
    name: str = "BSN"
    expensive = True

    def __post_init__(self) -> None:
        for option in ("width", "depth", "folds", "members"):
            value, word = vars(self)[option], "all" if option == "members" else "auto"
            if not is_word(value, word) and not is_count(value, 1):
                raise InputError(f"{option} is {shown(value)}; give an integer >= 1 or {word!r}.")
        check_choices(
            self,
            activation=("auto", *SMOOTH),
            boundary=("coordinate", "paper"),
            standardize=("diagonal", "whiten", "none"),
            directions=("auto", "random", "coordinates", "separate"),
            pieces=("auto", "one"),
        )
        if self.directions == "separate" and not (is_word(self.depth, "auto") or self.depth == 2):
            raise InputError(
                f"depth is {self.depth}, but directions='separate' has two layers; leave it out."
            )
        if not is_word(self.optimizer, "auto") and not isinstance(self.optimizer, Optimizer):
            raise InputError(
                f"optimizer is {shown(self.optimizer)}; pass sq.GaussNewton(), sq.LBFGS(), "
                "sq.HessianFree(), sq.Adam(), or 'auto'."
            )

    @classmethod
    def paper(cls, **options: Any) -> "BSN":
        """The published method; `options` override it.

        Three activation layers of 32 CELU units, penalized squares with an isotropic prior on all
        weights including theta0, L-BFGS to convergence, GGN-Laplace with tuned sigma and sigma0.
        For comparisons with the paper; the defaults of `BSN()` are meant for use.

        Args:
            **options: any attribute of `BSN`, e.g. `width=64`.
        """
        published: dict[str, Any] = {
            "width": 32,
            "depth": 3,
            "activation": "celu",
            "directions": "random",
            "flat": False,
            "folds": 1,
            "boundary": "paper",
            "optimizer": LBFGS(max_steps=10_000, rtol=0.0),
            "name": "BSN.paper",
        }
        return cls(**(published | options))

    @property
    def light(self) -> "BSN":
        """The same with the network of the first fold only.

        That one still has held-out points that say when to stop. For ranking, where the model
        counts and not its error bar.
        """
        return replace(self, members=1)

    @property
    def holds_out(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether the answer is cross-fitted already: always, unless `folds=1`.

        With one network on all of the data, as in the paper, `Method.estimate` may still
        cross-fit it from outside.
        """
        return self.folds == "auto" or self.folds > 1

    def with_folds(self, folds: int) -> "BSN":
        """The same with so many folds, unless it is to train one network on all data.

        `folds=1` was then chosen on purpose, and the folds of a check are those of
        `Method.estimate`.
        """
        return replace(self, folds=folds) if self.holds_out else self

    def obstacle(self, data: Dataset, measure: Measure | None) -> str | None:
        """Why it cannot be used on such data, or None.

        The Stein operator needs the score at every point, given or from the measure, and
        coordinates that vary, because they are standardized.
        """
        return score_obstacle(data, measure)

    def fit(self, data: Dataset, measure: Measure | None, context: Context) -> Fit:
        """Choose a kind of network, train one for each fold, combine; see `Method.fit`.

        An integrand that stays rough after the race of activations is fitted box by box between
        its jumps, or by a deeper network, where held-out points confirm either. A start that is a
        `Shape` skips the race, and a `FirstNetwork` of the same data the training of that too.

        Returns:
            The combined answer in the units of f, its check from the folds, the average of the
            networks as the model, and the chosen shape as the start of a fit to more data.
        """
        trainer = self._trainer(data, measure, context)
        partition, start = self._partition(data, measure), context.start
        if isinstance(start, Shape):
            shape, training = start, None
        elif isinstance(start, FirstNetwork):
            shape, training = start.shape, start.training_of(trainer)
            if training is not None:
                trainer.trajectory.add(training, None)
        else:
            shape, training = choose_shape(trainer, self._fixed)
            if is_rough(trainer) and not self._fixed:
                by_pieces = partition and self._validated_pieces(data, measure, trainer)
                if by_pieces:
                    return by_pieces
                shape, training = deepened(trainer, shape, training)
        if trainer.frame.outputs.noise is not None:
            trainer, training = _weighted_by_noise(trainer, shape, data), None
        ensemble = train_ensemble(trainer, shape, training, data, most=self.members)
        return _fit_of(ensemble, trainer, data, measure, partition)

    def _trainer(self, data: Dataset, measure: Measure | None, context: Context) -> Trainer:
        """The data in standard coordinates and in folds."""
        frame = StandardFrame.fit(
            data,
            measure,
            multiplier=self.multiplier,
            boundary=PaperBoundary() if self.boundary == "paper" else Boundary(),
            standardize=self.standardize,
        )
        if self.directions == "separate" and not frame.separate:
            raise InputError(
                "directions='separate' needs coordinates that are not mixed; "
                "pass standardize='diagonal', or other directions."
            )
        seed = context.seed
        folds = self.limits.folds(data.n, data.dim) if self.folds == "auto" else self.folds
        if folds == 1 or data.n < FEWEST_FOLDED:
            seen = [Split.everything(data.n)]
        else:
            seen = splits(folds_of(data, min(folds, data.n // 3), seed), data.n, seed)
        trajectory = Trajectory(context.progress, frame.outputs)
        return Trainer(frame, seen, self.flat, seed, self.limits, trajectory)

    def _partition(self, data: Dataset, measure: Measure | None) -> Partition | None:
        """Boxes between the jumps of f, where they are of interest and there are any."""
        if self.pieces == "one" or self._fixed or data.dim > self.limits.most_raced:
            return None
        return Partition.of(data, measure)

    def _validated_pieces(
        self, data: Dataset, measure: Measure | None, trainer: Trainer
    ) -> Fit | None:
        """The fit box by box; None where that leaves much more of f, or cannot be had."""
        trajectory, outputs = trainer.trajectory, trainer.frame.outputs
        context = Context(trainer.seed, trajectory.step)
        all_members = replace(self, pieces="one")
        one_member = replace(all_members, members=1)

        def fit(method: BSN, rows: np.ndarray) -> Fit:
            return method._by_pieces(data.take(rows), measure, context)

        first, everything = trainer.splits[0], np.arange(data.n)
        try:
            trial = fit(one_member, first.train)
        except InputError:  # a multiplier that needs a density, say
            return None
        missed = HeldOut.of([trial], [first.held], data, measure).rms_of_model[outputs.varying]
        if not geometric_mean((missed / outputs.scale) ** 2) < WORSE * trajectory.least:
            return None
        trajectory.settle(trial.mean)
        full = fit(one_member if self.members != "all" else all_members, everything)
        if self.members == "all":
            trajectory.settle(full.mean)
            rest = [fit(one_member, others(data.n, each.held)) for each in trainer.splits[1:]]
            split = [each.held for each in trainer.splits]
            held_out = HeldOut.of([trial, *rest], split, data, measure)
            theta0 = np.stack([each.theta0 for each in (trial, *rest)])
            values = HeldOutValues(held_out.values, theta0)
            full = replace(_checked_pieces(full, held_out), held_out=values)
        stats = {**full.stats, "steps": trajectory.steps}
        return replace(full, history=trajectory.history(), stats=stats)

    def _by_pieces(self, data: Dataset, measure: Measure | None, context: Context) -> Fit:
        """Networks for every box between the jumps of these data, or for all if there are none."""
        partition = Partition.of(data, measure)
        if partition is None:
            return self.checked_fit(data, measure, context)

        def fit_box(b: int, part: Dataset) -> Fit:
            # Without the measure, which is not that of the box.
            return self.checked_fit(part, None, replace(context, seed=context.seed + b))

        return fit_by_pieces(partition, data, fit_box)

    @property
    def _fixed(self) -> dict[str, Any]:
        """What of the shape is given."""
        options = ("activation", "width", "depth", "optimizer")
        fixed = {name: vars(self)[name] for name in options if vars(self)[name] != "auto"}
        if self.directions != "auto":
            fixed["aligned"] = self.directions != "random"
            fixed["separate"] = self.directions == "separate"
        return fixed


def _checked_pieces(full: Fit, held_out: HeldOut) -> Fit:
    """With its check.

    Seldom is a point between the jump and the cut, so residuals do not tell of it: the std of the
    answer itself does, also of its distance from the check.
    """
    check = check_of(held_out, full.mean)
    std = np.maximum(full.std, check.std)
    away = distance(full.mean, check.mean, std, std > 0)
    return checked(widened(full, check, own_share=np.inf), replace(check, distance=away))


def _weighted_by_noise(trainer: Trainer, shape: Shape, data: Dataset) -> Trainer:
    """With weights by the known noise and by what a short fit misses beyond it."""
    outputs, split = trainer.frame.outputs, trainer.splits[0]
    short = trainer.train(split, shape, steps=shape.optimizer.pilot_steps)
    pilot = trainer.member(split, shape, short)
    rows, missed = pilot.held, pilot.values - np.asarray(pilot.network.theta0)
    if not len(rows):
        rows = np.arange(data.n)
        missed = outputs.values - predict(pilot.network, trainer.seen_by(shape).at_all())
    misfit = outputs.misfit(missed, data.effective_weights[rows], rows)
    weights = data.effective_weights * outputs.noise_weights(misfit)
    return replace(trainer, frame=replace(trainer.frame, weights=weights))


def _fit_of(
    ensemble: Ensemble,
    trainer: Trainer,
    data: Dataset,
    measure: Measure | None,
    partition: Partition | None,
) -> Fit:
    """The answer of the networks in the units of f."""
    answer, frame, shown = ensemble.answer, ensemble.frame, ensemble.shown
    outputs, model = frame.outputs, NetworkModel(frame, shown)
    mean, covariance = outputs.integrals(answer.mean, answer.covariance)
    if partition is not None:  # no network knows either where between two points f jumps

        def at(x: Array) -> Array:
            return model(Points(x, measure=measure), False)[0]

        covariance = covariance + np.diag(between_points(partition.cuts, data.x, at))
    theta0 = outputs.in_units(answer.plain)
    fitted = np.mean([predict(member.network, frame.at_all()) for member in shown], axis=0)
    check = values = None
    if answer.held_out is not None:
        if len(answer.held_out.rows) == data.n:
            folds = np.stack([np.asarray(each.network.theta0) for each in ensemble.members])
            values = HeldOutValues(
                outputs.in_units(answer.held_out.values), outputs.in_units(folds)
            )
        check = outputs.check_in_units(check_of(answer.held_out, answer.plain))
    return Fit(
        theta0=theta0,
        covariance=covariance,
        model=model,
        dof=answer.dof,
        status=_status(ensemble.members, shown[0], frame.violation),
        fitted=outputs.in_units(fitted),
        correction=mean - theta0,
        held_out=values,
        check=check,
        warm_start=_start_of(ensemble, trainer),
        stats=_stats(ensemble, trainer.trajectory),
        history=trainer.trajectory.history(),
    )


def _start_of(ensemble: Ensemble, trainer: Trainer) -> WarmStart:
    """Of a fit to more data the shape; with it, of one fold's network, what has been trained."""
    members, splits = ensemble.members, trainer.splits
    if len(members) == 1 < len(splits):
        values = trainer.frame.outputs.values
        return FirstNetwork(ensemble.shape, members[0].training, splits[0], values)
    return ensemble.shape


def _status(members: Sequence[Member], first: Member, violation: str | None) -> Status:
    for member in (*members, first):
        if member.training.stop == "not_finite":
            return Status("not_finite", member.training.reason)
    if not np.isfinite(first.posterior.theta0_covariance).all():
        return Status("not_finite", "the posterior variance of theta0 is not finite")
    if violation:
        return Status("suspect", violation)
    gap = first.posterior.gap
    if gap > LARGEST_GAP:
        return Status(
            "suspect",
            f"the variance of theta0 is known only within {gap:.0%}; "
            "use fewer weights for an exact one",
        )
    # The least settled member speaks for all.
    last = max((member.training for member in members), key=lambda each: each.stop == "max_steps")
    return Status(last.stop, last.reason)


def _stats(ensemble: Ensemble, trajectory: Trajectory) -> dict[str, Any]:
    """Numbers of the first network that answers, but for those that count all."""
    first, shape, answer = ensemble.shown[0], ensemble.shape, ensemble.answer
    outputs, posterior = ensemble.frame.outputs, first.posterior
    std = np.sqrt(np.diag(posterior.theta0_covariance))
    stats: dict[str, Any] = {
        "activation": shape.activation,
        "width": shape.width,
        "depth": shape.depth,
        "optimizer": type(shape.optimizer).__name__,
        "separate": shape.separate,
        "weights": len(flatten(first.network)),
        "networks": len(ensemble.members) + (ensemble.full is not None),
        "steps": trajectory.steps,
        "evaluations": trajectory.evaluations,
        "loss": trajectory.loss,
        "prior_precision": posterior.precisions.alpha,
        "noise": float(1 / np.sqrt(posterior.precisions.beta)),
        "effective_weights": posterior.precisions.gamma,
        "posterior_std": outputs.spread_in_units(std),
        "variance_gap": posterior.gap,
        "jitter": posterior.jitter,
    }
    if answer.between is not None:
        stats["between_std"] = outputs.spread_in_units(answer.between)
    if answer.held_out is not None:
        error, _ = answer.held_out.standard_error
        stats["cross_fitted_std"] = outputs.spread_in_units(error)
        stats["corrected"] = answer.corrected
    return stats
