"""Bayesian Stein networks (Ott et al., UAI 2023): integration by regression."""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np

from steinquad._types import Progress
from steinquad.checking.cross_fit import checked, cross_fit, held_out, parts, widened
from steinquad.dataset import Dataset
from steinquad.errors import InputError
from steinquad.estimate import Check, Estimate, Status
from steinquad.fitting.ensemble import (
    MOST_RACED,
    Member,
    Path,
    Shape,
    Split,
    Trainer,
    default_folds,
    splits,
)
from steinquad.fitting.ensemble_answer import EnsembleAnswer, combine
from steinquad.fitting.outputs import Outputs
from steinquad.fitting.pieces import Pieces, between_points
from steinquad.fitting.standard_frame import Predictor, StandardFrame, score_obstacle
from steinquad.measures.base import Measure
from steinquad.methods.base import constant_estimate, constant_outputs
from steinquad.networks.activations import SMOOTH, ActivationName
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
class BSN:
    """A neural network whose integral is one of its weights, with a Laplace posterior.

    The data are split into folds. One network is trained for each fold on the others, judged on
    it, and stopped when that error no longer falls. The answer is the integral of one more network
    on all of the data, or where that is dear or biased the average of the folds', corrected by
    what those miss on their folds. Its variance is the squared standard error of that correction
    plus half the variance between the networks' integrals (see `fold_answer`).

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
    name: str = "BSN"
    dear: ClassVar[bool] = True  # to fit; Choose skips it where a cheap method does well enough

    def __post_init__(self) -> None:
        words = {"width": "auto", "depth": "auto", "folds": "auto", "members": "all"}
        for option in ("width", "depth", "folds", "members"):
            value = getattr(self, option)
            if option in words and value == words[option]:
                continue
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                word = f" or {words[option]!r}" if option in words else ""
                raise InputError(f"{option} is {value!r}; give an integer >= 1{word}.")
        choices = {
            "activation": ("auto", *SMOOTH),
            "boundary": ("coordinate", "paper"),
            "standardize": ("diagonal", "whiten", "none"),
            "directions": ("auto", "random", "coordinates", "separate"),
            "pieces": ("auto", "one"),
        }
        for option, allowed in choices.items():
            if getattr(self, option) not in allowed:
                raise InputError(
                    f"{option} is {getattr(self, option)!r}; choose one of {', '.join(allowed)}."
                )
        if self.directions == "separate" and self.depth not in ("auto", 2):
            raise InputError(
                f"depth is {self.depth}, but directions='separate' has two layers; leave it out."
            )
        if self.optimizer != "auto" and not isinstance(self.optimizer, Optimizer):
            raise InputError(
                f"optimizer is {self.optimizer!r}; pass sq.GaussNewton(), sq.LBFGS(), "
                "sq.HessianFree(), sq.Adam(), or 'auto'."
            )

    @classmethod
    def paper(cls, **options: Any) -> "BSN":
        """The published method; `options` override it.

        Three activation layers of 32 CELU units, penalized squares with an isotropic prior on all
        weights including theta0, L-BFGS to convergence, GGN-Laplace with tuned sigma and sigma0.
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

    def estimate(
        self,
        data: Dataset,
        measure: Measure | None,
        *,
        seed: int,
        progress: Progress,
        start: Estimate | None = None,
    ) -> Estimate:
        """Train, find the posterior, check; see `Method.estimate`."""
        if constant_outputs(data).all():
            return constant_estimate(data, self.name)
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
        trainer = Trainer(frame, self._splits(data, seed), self.flat, seed, progress)
        known = start._state if start is not None and isinstance(start._state, Shape) else None
        shape, training = (known, None) if known else trainer.choose(self._fixed)
        found = None
        if self.pieces == "auto" and not self._fixed and data.dim <= MOST_RACED:
            found = Pieces.partition(data, measure)
        if known is None and not self._fixed and trainer.rough:
            piecewise = None if found is None else self._by_pieces(data, measure, trainer)
            if piecewise is not None:
                return piecewise
            shape, training = trainer.deepened(shape, training)
        if frame.outputs.noise is not None:
            trainer.frame, training = _heeding_noise(trainer, shape, data), None
        frame = trainer.seen_by(shape)
        count = len(trainer.splits)
        if self.members != "all":
            count = min(count, self.members)
        biased = shape.crowded(data.n, data.dim, data.outputs)
        members = [trainer.member(0, shape, training)]
        while len(members) < count:
            trainer.answer = combine(members, trainer.frame, data, biased=biased).mean
            members.append(trainer.member(len(members), shape))
        full = None
        if self.members == "all" and count > 1 and not biased:
            trainer.answer = combine(members, trainer.frame, data).mean
            full = trainer.full(shape, members)
        answer = combine(members, trainer.frame, data, full, biased=biased)
        shown = members if full is None else [full]
        outputs = frame.outputs
        mean, covariance = outputs.integrals(answer.mean, answer.covariance)
        predictor = Predictor(frame, shown, measure)
        if found is not None:  # no network knows either where between two points f jumps
            unknown = between_points(found[1], data.x, lambda x: predictor(x, None, False)[0])
            covariance = covariance + np.diag(unknown)
        plain = outputs.in_units(answer.plain[None])[0]
        fitted = np.mean([predict(member.network, frame.at_all()) for member in shown], axis=0)
        estimate = Estimate.build(
            mean,
            covariance,
            scalar=data.scalar,
            method=self.name,
            status=_status(members, shown[0], frame.violation),
            n=data.n,
            dof=answer.dof,
            stats=_stats(shown[0], count + (full is not None), trainer, shape, answer, outputs),
            history={
                "loss": np.asarray(trainer.losses),
                "held_out": np.asarray(trainer.validation_errors),
                "theta0": outputs.in_units(np.asarray(trainer.theta0)),
            },
            values=data.fx,
            fitted=outputs.in_units(fitted),
            predictor=predictor,
            _model_mean=plain,
            _state=shape,
        )
        if answer.held_out is None:
            return estimate
        return replace(estimate, check=self._check(answer, members, data, outputs))

    def _by_pieces(
        self, data: Dataset, measure: Measure | None, trainer: Trainer
    ) -> Estimate | None:
        """The answer box by box; None where that leaves much more of f, or cannot be had."""
        outputs, split = trainer.frame.outputs, trainer.splits[0]
        path = Path(trainer)
        once = Pieces(replace(self, pieces="one", members=1))
        fitting: dict[str, Any] = {"seed": trainer.seed, "progress": path}
        try:
            trial = once.estimate(data.take(split.train), measure, **fitting)
        except InputError:  # a multiplier that needs a density, say
            return None
        values = held_out(trial, data.take(split.held))
        assert trial._model_mean is not None
        missed = (values - trial._model_mean)[:, outputs.varying] / outputs.scale
        squares = np.maximum(np.mean(missed**2, axis=0), 1e-300)
        if not np.exp(np.mean(np.log(squares))) < WORSE * trainer.least:
            return None
        path.answer = np.atleast_1d(trial.mean)
        if self.members != "all":
            return path.told(once.estimate(data, measure, **fitting))
        full = Pieces(replace(self, pieces="one")).estimate(data, measure, **fitting)
        path.answer = np.atleast_1d(full.mean)
        check = cross_fit(
            once,
            data,
            measure,
            full,
            folds=len(trainer.splits),
            first=(trial, values),
            split=[each.held for each in trainer.splits],
            **fitting,
        )
        # Seldom is a point between the jump and the cut, so residuals do not tell of it: the std
        # of the answer itself does, also of its distance from the check.
        std = np.maximum(np.atleast_1d(full.std), np.atleast_1d(check.std))
        gap = np.abs(np.atleast_1d(full.mean) - np.atleast_1d(check.mean))
        distance = np.divide(gap, std, out=np.zeros_like(gap), where=std > 0)
        wide = widened(path.told(full), check, own_share=np.inf)
        return checked(wide, replace(check, distance=float(distance.max())))

    @property
    def checks_itself(self) -> bool:
        """Whether the answer is cross-fitted already."""
        return self.folds == "auto" or self.folds > 1

    def obstacle(self, data: Dataset, measure: Measure | None) -> str | None:
        """Why it cannot be used on such data, or None."""
        return score_obstacle(data, measure)

    @property
    def light(self) -> "BSN":
        """One network only: for ranking."""
        return replace(self, members=1)

    def _splits(self, data: Dataset, seed: int) -> list[Split]:
        folds = default_folds(data.n, data.dim) if self.folds == "auto" else self.folds
        if folds == 1 or data.n < FEWEST_FOLDED:
            everything = np.arange(data.n)
            return [Split(everything, everything[:0])]
        return splits(parts(data, min(folds, data.n // 3), seed), data.n, seed)

    @property
    def _fixed(self) -> dict[str, Any]:
        """What of the shape is given."""
        options = ("activation", "width", "depth", "optimizer")
        fixed = {name: getattr(self, name) for name in options if getattr(self, name) != "auto"}
        if self.directions != "auto":
            fixed["aligned"] = self.directions != "random"
            fixed["separate"] = self.directions == "separate"
        return fixed

    def _check(
        self, answer: EnsembleAnswer, members: list[Member], data: Dataset, outputs: Outputs
    ) -> Check:
        """The cross-fitted answer by itself, and how far the networks' own integrals are."""
        assert answer.held_out is not None
        mean = outputs.in_units(answer.held_out.mean[None])[0]
        std = outputs.spread_in_units(answer.held_out.std[None])[0]
        gap = np.abs(outputs.in_units(answer.plain[None])[0] - mean)
        distance = np.divide(gap, std, out=np.zeros_like(gap), where=std > 0)
        predicted = np.full_like(outputs.values, np.nan)
        for each in members:
            theta0 = np.asarray(each.network.theta0)
            predicted[each.held] = theta0 + outputs.values[each.held] - each.values
        return Check(
            mean=float(mean[0]) if data.scalar else mean,
            std=float(std[0]) if data.scalar else std,
            folds=answer.held_out.folds,
            dof=answer.held_out.dof,
            residual=outputs.spread_in_units(answer.held_out.residual[None])[0],
            distance=float(distance.max()),
            predicted=outputs.in_units(predicted),
        )


def _heeding_noise(trainer: Trainer, shape: Shape, data: Dataset) -> StandardFrame:
    """Weights by the known noise and by what a short fit misses beyond it."""
    outputs = trainer.frame.outputs
    short = trainer.train(0, shape, steps=shape.optimizer.pilot_steps)
    pilot = trainer.member(0, shape, short, finished=True)
    rows, values = pilot.held, pilot.values
    if not len(rows):
        rows = np.arange(data.n)
        fitted = predict(pilot.network, trainer.seen_by(shape).at_all())
        values = np.asarray(pilot.network.theta0) + outputs.values - fitted
    missed = values - np.asarray(pilot.network.theta0)
    misfit = outputs.misfit(missed, data.effective_weights[rows], rows)
    return trainer.frame.weighted(data.effective_weights * outputs.noise_weights(misfit))


def _status(members: list[Member], first: Member, violation: str | None) -> Status:
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


def _stats(
    first: Member,
    networks: int,
    trainer: Trainer,
    shape: Shape,
    answer: EnsembleAnswer,
    outputs: Outputs,
) -> dict[str, Any]:
    """Numbers of the first network that answers, but for those that count all."""
    found = first.posterior
    posterior = np.sqrt(np.diag(found.theta0_covariance))
    stats: dict[str, Any] = {
        "activation": shape.activation,
        "width": shape.width,
        "depth": shape.depth,
        "optimizer": type(shape.optimizer).__name__,
        "separate": shape.separate,
        "weights": len(flatten(first.network)),
        "networks": networks,
        "steps": len(trainer.losses),
        "evaluations": trainer.evaluations,
        "loss": trainer.losses[-1] if trainer.losses else float("nan"),
        "prior_precision": found.precisions.alpha,
        "noise": float(1 / np.sqrt(found.precisions.beta)),
        "effective_weights": found.precisions.gamma,
        "posterior_std": outputs.spread_in_units(posterior[None])[0],
        "variance_gap": found.gap,
        "jitter": found.jitter,
    }
    if answer.between is not None:
        stats["between_std"] = outputs.spread_in_units(answer.between[None])[0]
    if answer.held_out is not None:
        stats["cross_fitted_std"] = outputs.spread_in_units(answer.held_out.std[None])[0]
        stats["corrected"] = answer.corrected
    return stats
