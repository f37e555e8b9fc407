"""What a method returns: a model of f whose integral is known."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np

from steinquad._types import Array, Progress, no_progress
from steinquad.binomial import Binomial
from steinquad.dataset import Dataset
from steinquad.errors import InputError
from steinquad.points import Points

__all__ = [
    "NOTHING_TOLD",
    "Check",
    "ConstantModel",
    "Context",
    "Fit",
    "HeldOutValues",
    "Model",
    "Status",
    "StatusCode",
    "WarmStart",
    "heaviest_share",
    "left_open",
]

UNSEEN = 0.05  # chance that n points miss a set of the probability that a constant f leaves open
NOTHING_TOLD = "and what f is elsewhere no std can say"
CHUNK = 4096  # points predicted at once: the covariances of kernel methods are matrices

StatusCode: TypeAlias = Literal[
    "converged", "constant", "max_steps", "max_n", "suspect", "not_finite"
]


@dataclass(frozen=True)
class Status:
    """How it went: a word to branch on and a sentence to read.

    `converged`: all is well. `constant`: f did not vary at any point, so that nothing but its
    limits, where it is an indicator, says how far off the answer may be. `max_steps`:
    training ended before it settled. `max_n`: a tolerance was not reached. `suspect`: a check
    failed, do not trust the answer before reading the sentence. `not_finite`: numerical failure.

    Attributes:
        code: one of these words.
        message: what happened and, where something is wrong, what to do about it.
    """

    code: StatusCode
    message: str

    @property
    def doubtful(self) -> bool:
        """Whether it is `suspect` or `not_finite` already, so that no check can add to it.

        The first reason is kept, because later checks often fail as its consequence.
        """
        return self.code in ("suspect", "not_finite")

    @property
    def final(self) -> bool:
        """Whether there is nothing left to check: f is constant, or numbers broke down.

        Equal values agree with any model, and without finite numbers there is nothing to compare.
        """
        return self.code in ("constant", "not_finite")

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"


@dataclass(frozen=True, eq=False)
class Check:
    """A second opinion by cross-fitting: every point validates a fit that has not seen it.

    Attributes:
        mean: the held-out corrected estimate, unbiased for independent draws: (k,), or a float for
            one integrand.
        std: its standard error, from the held-out residuals alone, likewise.
        folds: how many parts the data were split into.
        dof: degrees of freedom of `std`.
        residual: root mean square of the held-out residuals of each output, (k,).
        distance: largest difference between the two estimates, in units of `std`.
        predicted: what the fits say of the points that they have not seen, (n, k); NaN where none.
    """

    mean: Any
    std: Any
    folds: int
    dof: float
    residual: Array
    distance: float
    predicted: Array | None = field(default=None, repr=False)


class Model(Protocol):
    """A function g with a known integral.

    Every method with a model returns one in `Fit.model`. It is called in the user's coordinates
    and answers in the units of f, so callers need not know which method made it.
    """

    def __call__(self, points: Points, return_std: bool) -> tuple[Array, Array | None]:
        """g at the points, (n, k), and where asked for its own standard deviation there."""
        ...


class WarmStart:
    """What a method may begin from when it is given more data; each has a subclass of its own.

    A method ignores a start that is not of its own class, so a start can be passed on blindly.
    """

    unseen: np.ndarray | None = None
    """Rows of its data that the fit has not seen, where a fit to the same data goes on from it."""

    def of(self, method: str) -> "WarmStart | None":
        """The part of the method of that name: all of it, unless a choice keeps several."""
        del method
        return self


@dataclass(frozen=True, eq=False)
class Context:
    """What a fit is given besides the data.

    Attributes:
        seed: of everything random in the method.
        progress: to be called with (step, total, loss) after every training step.
        start: `warm_start` of an earlier fit by the same method; may be ignored.
        split: rows of folds whose held-out values are asked for along with the fit; a method that
            has them in closed form, or selects features, returns them in `Fit.held_out`.
    """

    seed: int = 0
    progress: Progress = no_progress
    start: WarmStart | None = None
    split: Sequence[np.ndarray] | None = None

    def of_part(self) -> "Context":
        """The same for other points: without a start and without rows of these."""
        return replace(self, start=None, split=None)

    def starting(self, start: WarmStart | None) -> "Context":
        """The same with another start.

        Args:
            start: `warm_start` of an earlier fit, or None to begin from nothing.
        """
        return replace(self, start=start)


@dataclass(frozen=True, eq=False)
class HeldOutValues:
    """What fits that have not seen a point say of it, and what they integrate to.

    Attributes:
        values: `theta0 + f - g` of every point by the fit without its fold, (n, k).
        theta0: integrals of these fits, one for each fold, (K, k).
    """

    values: Array
    theta0: Array

    @property
    def jackknife(self) -> Array:
        """Standard error of the integral, by how much it moves without each fold, (k,).

        Unlike residuals it sees what a model makes of places that no point has seen: there fits
        without some of the outermost points disagree.
        """
        folds = len(self.theta0)
        return np.sqrt(folds - 1.0) * self.theta0.std(axis=0)


@dataclass(frozen=True, eq=False, kw_only=True)
class Fit:
    """A model of f, what it integrates to, and how well the method itself knows that.

    Every method returns one from `Method.fit`; intervals and plausibility are not its business.
    Outputs that do not vary are part of it, with variance 0.

    Attributes:
        theta0: integral of the model, (k,).
        covariance: of the answer as the method knows it, (k, k).
        model: g; None where numbers broke down.
        dof: degrees of freedom of the covariance.
        status: how the fit went, by the method's own lights.
        fitted: g at the data, (n, k); None for an average, which models nothing.
        correction: what held-out points add to theta0 in the answer, (k,).
        held_out: the data under models that have not seen them: of the folds of `Context.split`,
            or of the method's own; None where it has none.
        check: the second opinion of held-out points, where the method holds some out by itself.
        warm_start: what a fit to more data may begin from.
        stats: what the method has to report.
        history: loss, held-out error and theta0 after every training step.
        candidates: a row for every method that was considered.
        chosen: name of the one among them that made the model, where there was a choice, or that
            has the largest weight in it.
        disputed: whether it is suspect for nothing but its own check.
        binomial: limits of outputs that take two values, one of them seldom; None where none does.
    """

    theta0: Array
    covariance: Array
    model: Model | None
    dof: float = np.inf
    status: Status = field(default_factory=lambda: Status("converged", "the model was fitted"))
    fitted: Array | None = None
    correction: Array | None = None
    held_out: HeldOutValues | None = None
    check: Check | None = None
    warm_start: WarmStart | None = None
    stats: Mapping[str, Any] = field(default_factory=dict)
    history: Mapping[str, Array] = field(default_factory=dict)
    candidates: tuple[Mapping[str, Any], ...] = ()
    chosen: str = ""
    disputed: bool = False
    binomial: Binomial | None = None

    @property
    def mean(self) -> Array:
        """The answer: theta0, corrected by held-out points where the method does so, (k,)."""
        return self.theta0 if self.correction is None else self.theta0 + self.correction

    @property
    def std(self) -> Array:
        """Standard deviations of the answer, (k,): roots of the diagonal of the covariance."""
        return np.sqrt(np.diag(self.covariance))

    def predict(self, points: Points, *, return_std: bool = False) -> tuple[Array, Array | None]:
        """The model at points, (n, k), and where asked for its own standard deviation there.

        Many points are predicted in parts, because the covariance of kernel methods with the data
        is a matrix of n columns.

        Args:
            points: in the user's coordinates, with scores or a measure if the model needs them.
            return_std: whether the second entry is asked for; None otherwise.
        """
        if self.model is None:
            raise InputError(f"there is no model of f to predict with ({self.status.message}).")
        n = len(points.x)
        if n <= CHUNK:
            return self.model(points, return_std)
        pieces = [points.take(np.arange(i, min(i + CHUNK, n))) for i in range(0, n, CHUNK)]
        means, stds = zip(*(self.model(piece, return_std) for piece in pieces), strict=True)
        return np.concatenate(means), None if stds[0] is None else np.concatenate(stds)

    @classmethod
    def of_constant(cls, data: Dataset) -> "Fit":
        """That of an f with one value at all points, with variance 0 and no fit made.

        Args:
            data: of which all outputs are constant.
        """
        k, proven = data.outputs, left_open(data.n, heaviest_share(data))
        return cls(
            theta0=data.fx[0],
            covariance=np.zeros((k, k)),
            model=ConstantModel(data.fx[0], np.zeros(k)),
            status=Status("constant", f"f takes the same value {proven}, {NOTHING_TOLD}"),
            fitted=data.fx,
        )

    @classmethod
    def failed(cls, data: Dataset, reason: str) -> "Fit":
        """What is left when numbers broke down: NaN for every output, and no model.

        Args:
            data: says how many outputs there are.
            reason: for the status, in a sentence without a period.
        """
        k = data.outputs
        return cls(
            theta0=np.full(k, np.nan),
            covariance=np.full((k, k), np.nan),
            model=None,
            status=Status("not_finite", reason),
        )


def heaviest_share(data: Dataset) -> float | None:
    """Share of the weight that the heaviest point has; None where points are no sample."""
    weights = data.effective_weights
    return float(weights.max() / weights.sum()) if data.sampled else None


def left_open(n: int, heaviest: float | None) -> str:
    """Where equal values were seen, and what they prove: the middle of a sentence.

    Args:
        n: number of points.
        heaviest: share of the weight that one independent draw has at most. A place with more of
            the probability that `n` draws would hardly miss is the larger, the more weight a draw
            may have. None where the points are no sample.
    """
    told = f"at all {n} points, which proves little"
    if heaviest is None:
        return told
    share = 1.0 - UNSEEN**heaviest
    return f"{told}: up to {share:.1%} of the probability may be where no point was"


@dataclass(frozen=True, eq=False)
class ConstantModel:
    """The model of an average: the same value everywhere.

    Attributes:
        value: of each output, (k,).
        std: of that value, (k,), zero where f is known to be constant.
    """

    value: Array
    std: Array

    def __call__(self, points: Points, return_std: bool) -> tuple[Array, Array | None]:
        """The value at every point, and its standard deviation."""
        shape = (len(points.x), 1)
        return np.tile(self.value, shape), np.tile(self.std, shape) if return_std else None
