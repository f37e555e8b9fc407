"""The default: all methods that apply, weighted by what held-out points say of each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from steinquad._linalg import geometric_mean
from steinquad._types import Array, as_count
from steinquad.checking.committee import WITHIN, Committee, Opinion
from steinquad.checking.counted import beside_averages
from steinquad.checking.error_bar import check_of, with_std
from steinquad.checking.folds import evenly_spaced, folds_of
from steinquad.checking.held_out import HeldOut
from steinquad.checking.plausibility import beside_average
from steinquad.checking.standard_error import standard_error, weighted_mean
from steinquad.checking.tails import Tails
from steinquad.dataset import Dataset
from steinquad.errors import InputError, shown
from steinquad.fit import Context, Fit, HeldOutValues, Model, Status, WarmStart
from steinquad.fitting.components import ComponentModel, Components
from steinquad.fitting.outputs import correlated
from steinquad.kernels import RBF
from steinquad.measures.base import Measure
from steinquad.methods.base import Method
from steinquad.methods.bayesian_quadrature import BayesianQuadrature
from steinquad.methods.bsn import BSN
from steinquad.methods.control_functional import ControlFunctional
from steinquad.methods.monte_carlo import MonteCarlo
from steinquad.methods.polynomial import Polynomial
from steinquad.methods.polynomial_chaos import PolynomialChaos
from steinquad.points import Points

__all__ = ["Stack"]

FEWEST_STACKED = 8  # points for which folds make sense
WELL_ENOUGH = 1e-4  # share of the spread of f that is left, below which nothing expensive is tried
# Points on which an expensive method is tried: a quarter of them, at least and at most so many.
TRIED = 200, 1000
MOST_TRAINED = 2000  # on which a method with folds of its own is tried
# Factors behind the best beyond which what was tried is not fitted to all points, of which those
# that are tried on a quarter of them may gain more.
FAR_BEHIND, FAR_BEHIND_WITH_FEWER = 3.0, 4.0
# Share of the mean square that others leave of any output, which those components may make up that
# methods with folds of their own are not asked about.
SPARED = 0.05


def _family() -> tuple[Method, ...]:
    return (
        MonteCarlo(),
        Polynomial(features="cdf", name="Polynomial(cdf)"),
        Polynomial(features="score", name="Polynomial(score)"),
        PolynomialChaos(),
        BayesianQuadrature(),
        BayesianQuadrature(kernel=RBF(), name="BQ(rbf)"),
        ControlFunctional(),
        BSN(),
    )


@dataclass(frozen=True, eq=False)
class StackStart(WarmStart):
    """What a fit to more data may start from: that of every member, by its name.

    Attributes:
        starts: of the members that were fitted.
        dropped: names of methods that were tried and found far behind.
    """

    starts: Mapping[str, WarmStart | None] = field(default_factory=dict)
    dropped: frozenset[str] = frozenset()

    def of(self, method: str) -> WarmStart | None:
        """The start of one member; None where it has none."""
        return self.starts.get(method)


@dataclass(frozen=True)
class Stack(Method):
    """All methods that apply to the data, weighted by what held-out points say of each.

    The default, and the right one where nothing is known of f. Every method has a model of f with
    a known integral, so that the models are control variates of each other: the weights are those
    of a non-negative regression of f on what they say of points that they have not seen. The std
    counts the held-out residuals, what the members say of their own errors, and how far members
    that fit equally well disagree; `steinquad.checking.committee` has the formulas.

    `Estimate.candidates` has a row for every method: what it leaves of held-out points, its
    weight, and its own answer.

    More than eight outputs that vary together are fitted by way of their principal components
    (`steinquad.fitting.components`), where these are at most half as many: the committee weighs
    for each component, and mean, covariance, model and held-out values are rotated back. The std,
    the tails and the check are then judged in the outputs. Weights in the rows of candidates are
    those of the components, averaged by how much of an output's variance each carries. Methods
    with folds of their own, networks above all, are asked about the components only that make up
    95 % of the mean square that the others leave of each output.

    Attributes:
        methods: the members, cheap ones first; one that is `expensive` is left out where those
            before it leave less than 1e-4 of the spread of f, or where a trial on some of the
            points shows it far behind.
        folds: in which points are held out.
        name: for tables.
    """

    methods: Sequence[Method] = field(default_factory=_family)
    folds: int = 10
    name: str = "Stack"
    holds_out = True

    def __post_init__(self) -> None:
        if not isinstance(self.methods, Sequence):
            raise InputError(f"methods is {shown(self.methods)}; give a list of methods.")
        if not self.methods:
            raise InputError("methods is empty; give at least one method for the stack.")
        for method in self.methods:
            if not isinstance(method, Method):
                raise InputError(
                    f"methods has {shown(method)}; give method objects such as sq.BSN()."
                )
        as_count("folds", self.folds, 2)
        names = [method.name for method in self.methods]
        double = next((name for name in names if names.count(name) > 1), None)
        if double:
            raise InputError(f"methods has two named {double!r}; give each its own name=.")

    @property
    def in_units(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether a member has an option in the units of f."""
        return any(method.in_units for method in self.methods)

    def with_folds(self, folds: int) -> "Stack":
        """The same with so many folds."""
        return replace(self, folds=folds)

    def winner(self, fit: Fit) -> Method:
        """The member with the largest weight that models f; itself for a constant f."""
        return next((method for method in self.methods if method.name == fit.chosen), self)

    def fit(self, data: Dataset, measure: Measure | None, context: Context) -> Fit:
        """Fit all members, hold points out of each, weigh them; see `Method.fit`.

        Returns:
            The weighted model with its integral, and in `check` the answer of the held-out points
            alone. Suspect where any member found the data at odds with an identity that has to
            hold, because that concerns the data and not the member, where the plain average
            contradicts a member that is as good as the best on held-out points, or where the
            residuals have tails without a variance.
        """
        if data.n < FEWEST_STACKED:
            return self._of_few(data, measure, context)
        start = context.start if isinstance(context.start, StackStart) else StackStart()
        folds = min(self.folds, data.n // 2)
        split = context.split or folds_of(data, folds, context.seed)
        components = None if self.in_units else Components.worthwhile(data)
        part = data if components is None else components.data_of(data)
        task = _Task(part, measure, context, start, split, components)
        members: list[_Member] = []
        for method in self.methods:
            members.append(task.member(method, members))
        able = [member for member in members if member.opinion is not None]
        if not able:
            reasons = "; ".join(f"{each.method.name}: {each.note.rstrip('.')}" for each in members)
            raise InputError(f"no method applies to the data ({reasons}).")
        # What violates an identity that holds for every sound dataset has no vote.
        voters = [member for member in able if not (member.violates or member.far)] or able
        committee = Committee.of([each.opinion for each in voters if each.opinion], part)
        return _fit_of(committee, voters, members, task, data)

    def _of_few(self, data: Dataset, measure: Measure | None, context: Context) -> Fit:
        """By the first method that applies: there are too few points to hold any out."""
        notes = []
        for method in self.methods:
            note = method.obstacle(data, measure)
            if note is None:
                fit = method.checked_fit(data, measure, context.starting(None))
                return replace(fit, chosen=method.name)
            notes.append(f"{method.name}: {note.rstrip('.')}")
        raise InputError(f"no method applies to {data.n} points; give more ({'; '.join(notes)}).")


@dataclass(frozen=True, eq=False)
class _Member:
    """One method: its fit and what held-out points say of it, or why there is none.

    Attributes:
        method: which.
        fit: to all of the data; None where it was not fitted, or failed.
        opinion: what the committee hears of it.
        left: rms of what it leaves of held-out points over the spread of f, of every output; empty
            where it was not tried.
        note: why it was not fitted, or what is wrong.
        far: whether the average of the values contradicts its answer.
    """

    method: Method
    fit: Fit | None = None
    opinion: Opinion | None = None
    left: Array = field(default_factory=lambda: np.zeros(0))
    note: str = ""
    far: bool = False

    @property
    def violates(self) -> bool:
        """Whether the fit found the data at odds with what it presumes.

        An answer far from its own check is no violation: its std counts the distance.
        """
        if self.fit is None or self.opinion is None:
            return False
        return self.fit.status.code == "suspect" and not self.fit.disputed

    @property
    def behind(self) -> bool:
        """Whether it was tried and is not worth another trial on more data."""
        return self.fit is None and len(self.left) > 0


@dataclass(frozen=True, eq=False)
class _Task:
    """What all members have in common.

    Attributes:
        data: that they are fitted to, of the outputs or of their components.
        measure: what the points were drawn from, when known.
        context: seed and progress.
        start: of every member.
        split: rows of the folds.
        components: of the outputs, where these are fitted by way of them.
    """

    data: Dataset
    measure: Measure | None
    context: Context
    start: StackStart
    split: Sequence[np.ndarray]
    components: Components | None

    def member(self, method: Method, before: Sequence[_Member]) -> _Member:
        """Fit a method, after those before it, unless it cannot help."""
        note = method.obstacle(self.data, self.measure)
        if note is None and method.name in self.start.dropped:
            note = "far behind on fewer points"
        heard = [each.left for each in before if len(each.left) and not each.violates]
        best = np.min(heard, axis=0) if heard else np.full(self.data.outputs, np.inf)
        if note is None and method.expensive and self.of_outputs(best).max() < WELL_ENOUGH:
            note = f"the others leave less than {WELL_ENOUGH:.0e} of the spread of f"
        if note is not None:
            return _Member(method, note=note)
        start, asked = self.start.of(method.name), self._asked(method, best)
        if not asked.any():
            return _Member(method, note="the others leave nothing of f")
        try:
            if method.expensive and heard and start is None:
                left, far, start = self._trial(method, self._of(asked))
                if len(left) and not np.any(left <= far * best[asked]):
                    note = f"left {far:g} times as much as others in a trial on some points"
                    everywhere = np.ones(self.data.outputs)  # the average leaves all
                    everywhere[asked] = left
                    return _Member(method, left=everywhere, note=note)
            return self._fitted(method, start, asked)
        except (InputError, np.linalg.LinAlgError) as error:  # fewer points than it needs
            return _Member(method, note=str(error))

    def _asked(self, method: Method, best: Array) -> np.ndarray:
        """Which outputs a method is fitted to, a mask: all, or of components those that matter.

        Methods with folds of their own train networks or select features, for every output anew,
        so they are for the components that make up what others leave.
        """
        if self.components is None or not method.holds_out or not np.isfinite(best).all():
            return np.ones(self.data.outputs, dtype=bool)
        return self.components.needed(best, SPARED, WELL_ENOUGH if method.expensive else 0.0)

    def _fitted(self, method: Method, start: WarmStart | None, asked: np.ndarray) -> _Member:
        """The method on all of the data."""
        part, context = self._of(asked), replace(self.context, start=start, split=self.split)
        fit = method.checked_fit(part, self.measure, context)
        finite = np.isfinite(fit.mean).all() and np.isfinite(fit.std).all()
        if fit.model is None or not (finite or method.averages):
            return _Member(method, fit, note=fit.status.message)
        data, values = self.data, method.held_out_values(fit, part, self.measure, self.context)
        if not asked.all():
            mean = weighted_mean(data.fx, data.effective_weights)
            std, _ = standard_error(data.fx, data.effective_weights, data.groups)
            fit = beside_averages(replace(fit, held_out=values), ~asked, mean, std, data)
            values = fit.held_out or values
        left = _share_left(values.values, data)
        if not np.isfinite(left).all():
            return _Member(method, fit, note="no finite held-out error")
        status = beside_average(fit.status, fit.mean, data)
        far = status.code == "suspect" and fit.status.code != "suspect"
        note = status.message if status.doubtful else ""
        opinion = Opinion(fit.mean, fit.std, values.jackknife, values.values)
        return _Member(method, fit, opinion, left, note, far)

    def _of(self, asked: np.ndarray) -> Dataset:
        """The data with these outputs."""
        return self.data if asked.all() else self.data.of_outputs(asked)

    def of_outputs(self, left: Array) -> Array:
        """What is left of each output, (k,), where `left` is of what is fitted, (r,) or (k,)."""
        return left if self.components is None else self.components.left_of_outputs(left)

    def _trial(self, method: Method, data: Dataset) -> tuple[Array, float, WarmStart | None]:
        """What a cheaper fit leaves of held-out points, and where the whole one may start.

        Methods with folds of their own are tried without all but the first of these, on so many
        points as are cheap; where that is all of them, the whole fit goes on from there. Others
        are tried on a quarter of the points where that is cheaper.

        Returns:
            Shares of the spread of every output, empty without a trial; the factor behind the best
            from which on it is too far; and a start.
        """
        if method.holds_out:
            part = data.take(evenly_spaced(np.arange(data.n), MOST_TRAINED))
            fit = method.light.checked_fit(part, self.measure, self.context.of_part())
            start = fit.warm_start
            rows = None if start is None or fit.model is None else start.unseen
            if rows is None:
                return np.zeros(0), np.inf, None
            values = HeldOut.of([fit], [rows], part, self.measure).values
            return _share_left(values, part.take(rows)), FAR_BEHIND, start
        size = int(np.clip(data.n // 4, *TRIED))
        if data.n < 2 * size:
            return np.zeros(0), np.inf, None
        part = data.take(evenly_spaced(np.arange(data.n), size))
        split = folds_of(part, len(self.split), self.context.seed)
        context = replace(self.context, start=None, split=split)
        fit = method.light.checked_fit(part, self.measure, context)
        values = method.held_out_values(fit, part, self.measure, self.context).values
        left = _share_left(values, part)
        # A start that remembers of these points but hyperparameters.
        return left, FAR_BEHIND_WITH_FEWER, fit.warm_start if method.warm_folds else None


def _share_left(values: Array, data: Dataset) -> Array:
    """Spread of held-out values over that of f, (k,); zero where f does not vary."""
    w = data.effective_weights / data.effective_weights.sum()
    left, spread = (np.sqrt(w @ (each - w @ each) ** 2) for each in (values, data.fx))
    return np.divide(left, spread, out=np.zeros_like(left), where=~data.constant)


@dataclass(frozen=True, eq=False)
class _Answer:
    """That of the committee for the outputs of the user.

    Attributes:
        mean: (k,).
        covariance: (k, k).
        values: `theta0 + f - g` at points that the model has not seen, (n, k).
        weights: of each voter for each output, (K, k).
        tails: of what is left.
    """

    mean: Array
    covariance: Array
    values: Array
    weights: Array
    tails: Tails

    @classmethod
    def of(cls, committee: Committee, data: Dataset, folds: int) -> "_Answer":
        """Where the outputs themselves were fitted."""
        held_out = HeldOut.from_values(committee.values, data, folds)
        tails = Tails.of(committee.mean, committee.values, data)
        std = committee.std * tails.widening
        covariance = correlated(std**2, committee.values - held_out.mean)
        return cls(committee.mean, covariance, committee.values, committee.weights, tails)

    @classmethod
    def by_components(
        cls, committee: Committee, components: Components, data: Dataset, folds: int
    ) -> "_Answer":
        """Where their components were: no std is below that of what is left of the output."""
        mean = components.up(committee.mean)
        values = components.up(committee.values) + components.left_out(data)
        centered = committee.values - weighted_mean(committee.values, data.effective_weights)
        covariance = components.up_covariance(correlated(committee.std**2, centered))
        covariance += np.diag(components.left_out_std(data) ** 2)
        tails = Tails.of(mean, values, data)
        std = np.sqrt(np.diag(covariance))
        if data.sampled:
            held_out = HeldOut.from_values(values, data, folds)
            away = np.where(data.constant, 0.0, np.abs(mean - held_out.mean))
            std = np.max([std, held_out.standard_error[0], away], axis=0)
        covariance = with_std(covariance, std * tails.widening)
        weights = committee.weights @ components.carried.T
        return cls(mean, covariance, values, weights, tails)


def _fit_of(
    committee: Committee,
    voters: Sequence[_Member],
    members: Sequence[_Member],
    task: _Task,
    data: Dataset,
) -> Fit:
    """The answer of the committee, with a row for every member."""
    components, folds = task.components, len(task.split)
    if components is None:
        answer = _Answer.of(committee, data, folds)
    else:
        answer = _Answer.by_components(committee, components, data, folds)
    fits = [member.fit for member in voters if member.fit is not None]
    shares = answer.weights[:, ~data.constant].mean(axis=1)
    heaviest = voters[int(np.argmax(shares))]
    models = [i for i in np.flatnonzero(shares).tolist() if not voters[i].method.averages]
    if models:  # an average is no model that others could use
        heaviest = voters[max(models, key=lambda i: shares[i])]
    held_out = HeldOut.from_values(answer.values, data, folds)
    model: Model = StackModel(committee.mean, committee.weights, fits)
    fitted = _fitted_values(committee, fits, task.data)
    stats: Mapping[str, Any] = heaviest.fit.stats if heaviest.fit is not None else {}
    history = heaviest.fit.history if heaviest.fit is not None else {}
    if components is not None:
        model = ComponentModel(model, components)
        fitted = None if fitted is None else components.up(fitted)
        stats = {**stats, "components": components.count}
        if "theta0" in history:
            history = {**history, "theta0": components.up(history["theta0"])}
    return Fit(
        theta0=answer.mean,
        covariance=answer.covariance,
        model=model,
        dof=committee.dof,
        status=_status(answer.tails, shares, voters, members),
        fitted=fitted,
        held_out=HeldOutValues(answer.values, answer.mean[None]),
        check=check_of(held_out, answer.mean) if data.sampled else None,
        warm_start=StackStart(
            {member.method.name: member.fit.warm_start for member in members if member.fit},
            task.start.dropped | {member.method.name for member in members if member.behind},
        ),
        stats=stats,
        history=history,
        candidates=tuple(_row(member, voters, answer, task, data) for member in members),
        chosen=heaviest.method.name,
    )


def _status(
    tails: Tails, shares: Array, voters: Sequence[_Member], members: Sequence[_Member]
) -> Status:
    """A violated identity concerns the data, whoever has the weight; tails concern the std."""
    least = np.min([each.left for each in members if each.opinion is not None], axis=0)
    for wrong in members:
        # Contradicted by the average, and yet as good as the best on points that it has not seen.
        contested = wrong.far and bool(np.any(wrong.left <= WITHIN * least))
        if wrong.violates or contested:
            aside = "" if wrong in voters else f"{wrong.method.name} was set aside: "
            return Status("suspect", aside + wrong.note)
    if tails.suspect and tails.sentence is not None:
        return Status("suspect", tails.sentence)
    order = np.argsort(-shares, kind="stable")
    used = [f"{voters[i].method.name} {shares[i]:.2f}" for i in order if shares[i] > 0]
    message = f"weights by held-out points: {', '.join(used)}"
    first = voters[int(order[0])].fit
    if first is not None and first.status.code == "max_steps":  # held-out points have judged it
        message += f"; {first.status.message}"
    if tails.sentence is not None:
        message += f"; {tails.sentence}"
    return Status("converged", message)


def _fitted_values(committee: Committee, fits: Sequence[Fit], data: Dataset) -> Array | None:
    """The weighted model at the data; None for averages, which model nothing."""
    if all(fit.fitted is None for fit in fits):
        return None
    fitted = np.tile(committee.mean, (data.n, 1))
    for weights, fit in zip(committee.weights, fits, strict=True):
        if fit.fitted is not None:
            fitted += weights * (fit.fitted - fit.theta0)
    return fitted


def _row(
    member: _Member, voters: Sequence[_Member], answer: _Answer, task: _Task, data: Dataset
) -> Mapping[str, Any]:
    """A row of the table of candidates; numbers for one integrand, else one for each output."""

    def shown(values: Array) -> Any:
        return float(values[0]) if data.scalar else values

    fit, components = member.fit, task.components
    votes = member in voters
    weight = answer.weights[voters.index(member)] if votes else np.zeros(data.outputs)
    left = task.of_outputs(member.left) if len(member.left) else member.left
    mean = std = None
    if fit is not None and member.opinion is not None:
        mean, std = fit.mean, fit.std
        if components is not None:
            covariance = components.up_covariance(fit.covariance)
            mean, std = components.up(mean), np.sqrt(np.diag(covariance))
    return {
        "method": member.method.name,
        "held_out_rms": geometric_mean(left[~data.constant]) if len(left) else None,
        "weight": shown(weight),
        "mean": None if mean is None else shown(mean),
        "std": None if std is None else shown(std),
        "note": member.note,
    }


@dataclass(frozen=True, eq=False)
class StackModel:
    """The weighted models around the answer, in the units of f.

    Attributes:
        mean: the answer, (k,).
        weights: of each model, (K, k).
        fits: the members.
    """

    mean: Array
    weights: Array
    fits: Sequence[Fit]

    def __call__(self, points: Points, return_std: bool) -> tuple[Array, Array | None]:
        """Mean (n, k) and, where asked for, its std: the members' own and between them."""
        used = [(w, fit) for w, fit in zip(self.weights, self.fits, strict=True) if w.any()]
        parts = [(w, fit.theta0, fit.predict(points, return_std=return_std)) for w, fit in used]
        means = [self.mean + g - theta0 for _, theta0, (g, _) in parts]
        # The answer where members have no model, and where an output does not vary.
        mean = self.mean + sum(
            w * (each - self.mean) for (w, _, _), each in zip(parts, means, strict=True)
        )
        stds = [std for _, _, (_, std) in parts if std is not None]
        if len(stds) < len(parts):
            return mean, None
        square = sum(
            w * (std**2 + (each - mean) ** 2)
            for (w, _, _), std, each in zip(parts, stds, means, strict=True)
        )
        return mean, np.sqrt(square)
