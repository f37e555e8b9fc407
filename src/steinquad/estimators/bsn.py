"""Bayesian Stein networks (Ott et al., UAI 2023): integration by regression."""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import jax
import jax.numpy as jnp
import numpy as np

from steinquad._types import Array, Progress
from steinquad.dataset import Dataset
from steinquad.errors import InputError
from steinquad.estimate import Estimate, Status
from steinquad.estimators.base import constant_estimate, constant_outputs
from steinquad.estimators.standard_frame import Predictor, StandardFrame, score_obstacle
from steinquad.measures.base import Measure
from steinquad.networks.activations import ACTIVATIONS, ActivationName
from steinquad.networks.mlp import MLP
from steinquad.networks.stein_network import SteinNetwork
from steinquad.posterior.laplace import Posterior, laplace
from steinquad.posterior.leave_one_out import LeaveOneOut, leave_one_out
from steinquad.standard_error import robust_standard_error
from steinquad.stein.multipliers import Boundary, Constant, Multiplier, PaperBoundary
from steinquad.training.lbfgs import LBFGS, TrainingResult
from steinquad.training.objective import Penalty, flatten, predict

__all__ = ["BSN"]

FIRST_PENALTY = 1e-6
# Effective weights a datum above which a fit bends towards its data so much that theta0 needs the
# correction and averaging networks pays.
CROWDED = 0.2
MEMBER_STRIDE = 1_000_003  # between the seeds of members
EVIDENCE_ROUNDS = (0.125, 0.3, 1.0)  # shares of the steps after which it is found anew
LARGEST_GAP = 0.05  # relative width of the bounds on the variance that is reported as trouble


@dataclass(frozen=True, kw_only=True)
class BSN:
    """A neural network whose integral is one of its weights, with a Laplace posterior.

    Attributes:
        width: units in each layer.
        depth: number of activation layers; one or two have a divergence free of d.
        activation: of every layer.
        multiplier: m(x) of the Stein operator, in the user's coordinates.
        boundary: factor that vanishes on the faces of a bounded support: each coordinate its own,
            or the paper's product over all.
        standardize: coordinates of the network: scaled one by one, whitened, or as they are.
        penalty: lambda of the loss, or "evidence" to find it along with the noise.
        flat: a flat prior on theta0; otherwise it shares that of the weights, as in the paper.
        corrected: leave-one-out: its spread counts in the std, and where weights are many for the
            data it corrects theta0.
        members: how many networks, trained from different starts, to average; "auto" takes three
            where weights are many for the data and one elsewhere.
        optimizer: how to train.
    """

    width: int = 32
    depth: int = 2
    activation: ActivationName = "celu"
    multiplier: Multiplier = field(default_factory=Constant)
    boundary: Literal["coordinate", "paper"] = "coordinate"
    standardize: Literal["diagonal", "whiten", "none"] = "diagonal"
    penalty: float | Literal["evidence"] = "evidence"
    flat: bool = True
    corrected: bool = True
    members: int | Literal["auto"] = "auto"
    optimizer: LBFGS = field(default_factory=LBFGS)
    name: str = "BSN"
    dear: ClassVar[bool] = True  # to fit; Choose skips it where a cheap method does well enough
    folds: ClassVar[int] = 2  # when Choose checks it

    def __post_init__(self) -> None:
        for option in ("width", "depth"):
            if not isinstance(getattr(self, option), int) or getattr(self, option) < 1:
                raise InputError(f"{option} is {getattr(self, option)!r}; give an integer >= 1.")
        if self.activation not in ACTIVATIONS:
            known = ", ".join(ACTIVATIONS)
            raise InputError(f"activation is {self.activation!r}; choose one of {known}.")
        choices = {
            "boundary": ("coordinate", "paper"),
            "standardize": ("diagonal", "whiten", "none"),
        }
        for option, allowed in choices.items():
            if getattr(self, option) not in allowed:
                raise InputError(
                    f"{option} is {getattr(self, option)!r}; choose one of {', '.join(allowed)}."
                )
        if self.members != "auto" and (not isinstance(self.members, int) or self.members < 1):
            raise InputError(f"members is {self.members!r}; give an integer >= 1 or 'auto'.")
        if self.penalty != "evidence" and (isinstance(self.penalty, str) or self.penalty < 0):
            raise InputError(f"penalty is {self.penalty!r}; give a number >= 0 or 'evidence'.")

    @classmethod
    def paper(cls, **options: Any) -> "BSN":
        """The published method; `options` override it.

        Three activation layers of 32 CELU units, penalized squares with an isotropic prior on all
        weights including theta0, L-BFGS to convergence, GGN-Laplace with tuned sigma and sigma0.
        """
        published: dict[str, Any] = {
            "depth": 3,
            "penalty": 1e-8,
            "flat": False,
            "corrected": False,
            "members": 1,
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
        if frame.outputs.noise is not None:
            frame = self._heeding_noise(frame, data, measure, seed, progress)
        starts = _usable(start, frame)
        members = [self._member(frame, seed, progress, starts[0] if starts else None)]
        outputs = frame.outputs
        most = CROWDED * data.n * len(outputs.shift)
        crowded = members[0].posterior.precisions.gamma > most
        count = (3 if crowded else 1) if self.members == "auto" else self.members
        for i in range(1, count):
            done = sum(len(member.training.losses) for member in members)
            members.append(
                self._member(
                    frame,
                    seed + i * MEMBER_STRIDE,
                    lambda step, total, loss, done=done: progress(done + step, done + total, loss),
                    starts[i] if len(starts) > i else None,
                )
            )
        corrected = self.corrected and crowded
        theta0s = np.stack([member.theta0(corrected) for member in members])
        theta0 = theta0s.mean(axis=0)
        covariance = np.mean([member.posterior.theta0_covariance for member in members], axis=0)
        if self.corrected:
            residuals = [member.left_out for member in members if member.left_out is not None]
            covariance = _widest(covariance, residuals, data.effective_weights)
        if count > 1:  # what the starting point decides is uncertain too
            covariance = covariance + np.atleast_2d(np.cov(theta0s, rowvar=False))
        mean, covariance = outputs.integrals(theta0, covariance)
        plain = np.mean([member.theta0(False) for member in members], axis=0)
        networks = [member.training.network for member in members]
        fitted = np.mean([predict(network, frame.data) for network in networks], axis=0)
        first = members[0].training
        return Estimate.build(
            mean,
            covariance,
            scalar=data.scalar,
            method=self.name,
            status=_status(members, frame.violation),
            n=data.n,
            dof=max(data.effective_weights.sum() - 1, 1.0),
            stats=_stats(members) | {"corrected": bool(corrected)},
            history={"loss": first.losses, "theta0": outputs.in_units(first.theta0)},
            values=data.fx,
            fitted=outputs.in_units(fitted),
            predictor=Predictor(
                frame, networks, [member.posterior for member in members], measure
            ),
            _model_mean=outputs.in_units(plain[None])[0],
            _state=networks,
        )

    def obstacle(self, data: Dataset, measure: Measure | None) -> str | None:
        """Why it cannot be used on such data, or None."""
        return score_obstacle(data, measure)

    @property
    def light(self) -> "BSN":
        """One network only: for ranking and checking."""
        return replace(self, members=1)

    def _heeding_noise(
        self,
        frame: StandardFrame,
        data: Dataset,
        measure: Measure | None,
        seed: int,
        progress: Progress,
    ) -> StandardFrame:
        """Weights by the known noise and by what a short fit misses beyond it."""
        assert data.score is not None
        short = max(1, int(EVIDENCE_ROUNDS[0] * self.optimizer.max_steps))
        pilot = replace(self, optimizer=replace(self.optimizer, max_steps=short), corrected=True)
        member = pilot._member(frame, seed, progress)
        if member.left_out is not None:
            residuals = member.left_out.residuals
        else:
            residuals = frame.outputs.values - predict(member.training.network, frame.data)
        misfit = frame.outputs.misfit(residuals, data.effective_weights)
        weights = data.effective_weights * frame.outputs.noise_weights(misfit)
        return frame.weighted(weights, data.score, measure, data.x)

    def _member(
        self,
        frame: StandardFrame,
        seed: int,
        progress: Progress,
        start: SteinNetwork | None = None,
    ) -> "_Member":
        training, posterior = self._train(frame, seed, progress, start)
        left_out = None
        if self.corrected:
            left_out = leave_one_out(training.network, frame.data, posterior, flat=self.flat)
        return _Member(training, posterior, left_out)

    def _train(
        self, frame: StandardFrame, seed: int, progress: Progress, warm: SteinNetwork | None
    ) -> tuple[TrainingResult, Posterior]:
        """Train one network to the end and find the posterior there."""
        outputs = len(frame.outputs.shift)
        field = MLP.initialize(
            jax.random.key(seed),
            dim=frame.dim,
            outputs=outputs,
            width=self.width,
            depth=self.depth,
            activation=self.activation,
        )
        total = float(jnp.sum(frame.data.blocks.weights))
        most = self.optimizer.max_steps

        def advance(
            network: SteinNetwork, strength: float, steps: int, before: TrainingResult | None
        ) -> tuple[TrainingResult, Posterior]:
            optimizer = replace(self.optimizer, max_steps=steps)
            penalty = Penalty(strength, theta0=not self.flat)
            result = optimizer.minimize(network, frame.data, penalty, progress, before=before)
            return result, laplace(result.network, frame.data, flat=self.flat, seed=seed)

        start = SteinNetwork(jnp.zeros(outputs), field) if warm is None else warm
        if self.penalty != "evidence":
            return advance(start, float(self.penalty), most, None)
        # The evidence needs a fit and the fit needs the evidence: take turns, early fits short.
        first, *rest = (max(1, int(share * most)) for share in EVIDENCE_ROUNDS)
        penalty = FIRST_PENALTY
        if warm is not None:
            precisions = laplace(warm, frame.data, flat=self.flat, seed=seed).precisions
            penalty = precisions.alpha / (precisions.beta * total)
        result, posterior = advance(start, penalty, first, None)
        for end in rest:
            strength = posterior.precisions.alpha / (posterior.precisions.beta * total)
            steps = max(1, end - len(result.losses))
            result, posterior = advance(result.network, strength, steps, result)
        return result, posterior


@dataclass(frozen=True)
class _Member:
    """One trained network."""

    training: TrainingResult
    posterior: Posterior
    left_out: LeaveOneOut | None

    def theta0(self, corrected: bool) -> Array:
        """Its integral, plain or with the leave-one-out correction."""
        theta0 = np.asarray(self.training.network.theta0)
        if not corrected or self.left_out is None:
            return theta0
        return theta0 + self.left_out.correction


def _usable(start: Estimate | None, frame: StandardFrame) -> list[SteinNetwork]:
    """Networks of an earlier estimate, where they are of the same shape as this one's."""
    networks = start._state if start is not None else None
    if not networks or networks[0].theta0.shape != frame.outputs.shift.shape:
        return []
    return list(networks)


def _widest(covariance: Array, left_out: list[LeaveOneOut], weights: Array) -> Array:
    """The posterior covariance, stretched so that no std is below the leave-one-out error's."""
    if not left_out:
        return covariance
    residuals = np.mean([each.residuals for each in left_out], axis=0)
    error, _ = robust_standard_error(residuals, weights)
    stretch = np.maximum(1.0, error / np.sqrt(np.diag(covariance)))
    return covariance * np.outer(stretch, stretch)


def _status(members: list[_Member], violation: str | None) -> Status:
    for member in members:
        finite = np.isfinite(member.posterior.theta0_covariance).all()
        if member.training.stop == "not_finite" or not finite:
            return Status("not_finite", member.training.reason)
    if violation:
        return Status("suspect", violation)
    gap = max(member.posterior.gap for member in members)
    if gap > LARGEST_GAP:
        return Status(
            "suspect",
            f"the variance of theta0 is known only within {gap:.0%}; "
            "use fewer weights for an exact one",
        )
    # The least settled member speaks for all.
    last = max((member.training for member in members), key=lambda each: each.stop == "max_steps")
    return Status(last.stop, last.reason)


def _stats(members: list[_Member]) -> dict[str, Any]:
    """Numbers of the first member, but for those that count all."""
    training, posterior = members[0].training, members[0].posterior
    precisions = posterior.precisions
    stats = {
        "members": len(members),
        "steps": sum(len(member.training.losses) for member in members),
        "evaluations": sum(member.training.evaluations for member in members),
        "loss": float(training.losses[-1]) if len(training.losses) else float("nan"),
        "weights": len(flatten(training.network)),
        "prior_precision": precisions.alpha,
        "noise": float(1 / np.sqrt(precisions.beta)),
        "effective_weights": precisions.gamma,
        "posterior_std": np.sqrt(np.diag(posterior.theta0_covariance)),
        "variance_gap": max(member.posterior.gap for member in members),
        "jitter": max(member.posterior.jitter for member in members),
    }
    left_out = members[0].left_out
    if left_out is not None:
        stats["left_out_mean_square"] = float(np.mean(left_out.residuals**2))
        stats["correction"] = left_out.correction
        stats["correction_trusted"] = left_out.trusted
    return stats
