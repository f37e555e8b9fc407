"""Let the data choose: one shared hold-out ranks the methods, the best is refitted and checked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from steinquad._linalg import geometric_mean
from steinquad._types import as_count
from steinquad.checking.error_bar import check_of, checked, widened
from steinquad.checking.folds import evenly_spaced, folds_of
from steinquad.checking.held_out import HeldOut
from steinquad.checking.plausibility import beside_average
from steinquad.dataset import Dataset
from steinquad.errors import InputError, shown
from steinquad.fit import Context, Fit, Status, WarmStart
from steinquad.measures.base import Measure
from steinquad.methods.base import Method
from steinquad.methods.bayesian_quadrature import BayesianQuadrature
from steinquad.methods.bsn import BSN
from steinquad.methods.control_functional import ControlFunctional
from steinquad.methods.monte_carlo import MonteCarlo
from steinquad.methods.polynomial import Polynomial
from steinquad.methods.polynomial_chaos import PolynomialChaos

__all__ = ["Choose"]

FEWEST_RANKED = 8  # points for which a hold-out makes sense
MOST_RANKED = 3000  # points in the fits that rank, and in the hold-out that validates them
LARGE_FOR_EXPENSIVE = 2000  # points from which on an expensive method has two folds
WELL_ENOUGH = 1e-4  # share of the spread of f below which no expensive method is tried
CONTENDER = 3.0  # factor behind the winner beyond which a method is not tried again on more data


def _family() -> tuple[Method, ...]:
    return (
        MonteCarlo(),
        Polynomial(features="cdf", name="Polynomial(cdf)"),
        Polynomial(features="score", name="Polynomial(score)"),
        PolynomialChaos(),
        BayesianQuadrature(),
        ControlFunctional(),
        BSN(),
    )


@dataclass(frozen=True, eq=False)
class ChooseStart(WarmStart):
    """What the next, larger dataset may start from.

    With a tolerance, `integrate` fits again and again to more points. The winner then starts from
    its last fit, and methods that were far behind are not tried again.

    Attributes:
        starts: of the method that won, by its name.
        dropped: names of methods that were far behind.
    """

    starts: Mapping[str, WarmStart | None] = field(default_factory=dict)
    dropped: frozenset[str] = frozenset()

    def of(self, method: str) -> WarmStart | None:
        """The start of the winner; None for every other method."""
        return self.starts.get(method)


@dataclass(frozen=True)
class Choose(Method):
    """The method with the least held-out error among those that apply to the data.

    The default, and the right one where nothing is known of f. The data are halved. Every
    candidate is fitted to (at most 3,000 points of) one half and validated on the other by the
    root mean square of `f - g`, which over sqrt(n) is the standard error of its integral. The
    winner is fitted to all of the data and cross-fitted; its std is the cross-fitted one, or the
    distance between the two answers where that is larger, or up to ten times the former where the
    fit itself says so.

    Attributes:
        methods: the candidates, cheap ones first; one that is `expensive` is skipped where a cheap
            one leaves less than 1e-4 of the spread of f.
        folds: of the check, for methods that do not say themselves.
        name: for tables.
    """

    methods: Sequence[Method] = field(default_factory=_family)
    folds: int = 5
    name: str = "Choose"
    holds_out = True  # `fit` cross-fits the winner

    def __post_init__(self) -> None:
        if not isinstance(self.methods, Sequence):
            raise InputError(f"methods is {shown(self.methods)}; give a list of methods.")
        if not self.methods:
            raise InputError("methods is empty; give at least one method to choose from.")
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

    def with_folds(self, folds: int) -> "Choose":
        """The same with so many folds of the check.

        The halves that rank the candidates stay two. An expensive winner still has two folds
        beyond 2,000 points, where each fit is costly.
        """
        return replace(self, folds=folds)

    def winner(self, fit: Fit) -> Method:
        """The candidate that a fit was made with; itself for a constant f.

        Looked up by `Fit.chosen`, which is why every candidate needs a name of its own.
        """
        return next((method for method in self.methods if method.name == fit.chosen), self)

    def fit(self, data: Dataset, measure: Measure | None, context: Context) -> Fit:
        """Rank, refit the winner, cross-fit it; see `Method.fit`.

        Returns:
            The winner's fit to all of the data, with a row for every candidate in `candidates`
            and the winner's name in `chosen`. It is suspect where any candidate found the data at
            odds with an identity that has to hold, because that concerns the data and not the
            method.
        """
        start = context.start
        before = start if isinstance(start, ChooseStart) else ChooseStart()
        trials = self._rank(data, measure, context, before.dropped)
        able = [trial for trial in trials if trial.fit is not None]
        if not able:
            reasons = "; ".join(f"{trial.method.name}: {trial.note}" for trial in trials)
            raise InputError(f"no method applies to the data ({reasons.rstrip('.')}).")
        # What violates an identity that holds for every sound dataset is no candidate.
        best = min([t for t in able if not t.violates] or able, key=lambda trial: trial.error)
        assert best.fit is not None
        method = best.method
        warm = before.of(method.name) or best.fit.warm_start
        full = method.checked_fit(data, measure, context.starting(warm))
        fit = self._cross_fitted(full, best, data, measure, context)
        behind = {trial.method.name for trial in trials if trial.behind(best)}
        return replace(
            fit,
            status=_with_trials(fit.status, able, best),
            warm_start=ChooseStart({method.name: full.warm_start}, before.dropped | behind),
            candidates=tuple(trial.row(chosen=trial is best, n=data.n) for trial in trials),
            chosen=method.name,
        )

    def _rank(
        self,
        data: Dataset,
        measure: Measure | None,
        context: Context,
        dropped: frozenset[str],
    ) -> list["_Trial"]:
        """One trial for each candidate."""
        trials: list[_Trial] = []
        for method in self.methods:
            best = min((trial.error for trial in trials if not trial.violates), default=np.inf)
            note = method.obstacle(data, measure)
            if note is None and method.name in dropped:
                note = "far behind on fewer points"
            if note is None and method.expensive and best < WELL_ENOUGH:
                note = f"a cheaper method leaves less than {WELL_ENOUGH:.0e} of the spread of f"
            if note is None and data.n < FEWEST_RANKED and np.isfinite(best):
                note = "too few points to rank"
            untried = _Trial(method, note=note)
            trials.append(untried if note else _trial(method, data, measure, context))
        return trials

    def _cross_fitted(
        self,
        full: Fit,
        best: "_Trial",
        data: Dataset,
        measure: Measure | None,
        context: Context,
    ) -> Fit:
        """The full fit with its check and the wider std of the two."""
        few = data.n < FEWEST_RANKED or not data.sampled
        if few or full.status.final or full.check is not None:
            return full
        method = best.method
        two = method.expensive and data.n > LARGE_FOR_EXPENSIVE
        split = folds_of(data, 2 if two else min(self.folds, data.n // 2), context.seed)
        # Two folds are the halves of the ranking, so the trial has fitted one of them.
        fits = [best.fit] if best.fit and best.whole and len(split) == 2 else []
        for rows in split[len(fits) :]:
            fits.append(method.refit_without(rows, data, measure, full, context))
        check = check_of(HeldOut.of(fits, split, data, measure), full.mean)
        return checked(widened(full, check), check)


@dataclass(frozen=True, eq=False)
class _Trial:
    """What the hold-out said of one candidate.

    Attributes:
        method: which.
        fit: its fit to one half; None where it was not tried, or failed.
        error: held-out rms over the spread of f, geometric mean over outputs.
        whole: whether it was fitted to all points of its half.
        note: why it was not tried, or what is wrong.
    """

    method: Method
    fit: Fit | None = None
    error: float = np.inf
    whole: bool = False
    note: str | None = None

    @property
    def violates(self) -> bool:
        """Whether the fit found the data at odds with what it presumes."""
        return self.fit is not None and self.fit.status.doubtful

    def behind(self, best: "_Trial") -> bool:
        """Whether it need not be tried again on more data."""
        return bool(np.isfinite(self.error) and self.error > CONTENDER * best.error)

    def row(self, *, chosen: bool, n: int) -> dict[str, Any]:
        """A row of the table of candidates."""
        ranked = np.isfinite(self.error)
        status = self.fit.status.message if self.fit is not None else ""
        return {
            "method": self.method.name,
            "held_out_rms": self.error if ranked else None,
            "held_out_std": float(self.error / np.sqrt(n)) if ranked else None,
            "chosen": chosen,
            "note": self.note or (status if self.violates else ""),
        }


def _trial(method: Method, data: Dataset, measure: Measure | None, context: Context) -> _Trial:
    """Fit to one half, or to evenly spaced points of it, and validate on the other."""
    if data.n < FEWEST_RANKED:  # nothing to hold out: the first that applies
        fit = method.light.checked_fit(data, measure, context.starting(None))
        return _Trial(method, fit, 1.0, note="too few points to rank")
    test, train = folds_of(data, 2, context.seed)
    rows, held = evenly_spaced(train, MOST_RANKED), evenly_spaced(test, MOST_RANKED)
    half = data.take(rows)
    try:
        fit = method.light.checked_fit(half, measure, context.starting(None))
    except (InputError, np.linalg.LinAlgError) as error:  # fewer points than it needs
        return _Trial(method, note=str(error))
    if fit.model is None:
        return _Trial(method, note=fit.status.message)
    fit = replace(fit, status=beside_average(fit.status, fit.mean, half))
    # Around theta0, not around their own average: an offset of the model is an error too.
    rms = HeldOut.of([fit], [held], data, measure).rms_of_model
    spread = data.fx.std(axis=0)  # of all of the data: a half of few events may not vary
    varying = spread > 0
    if not np.isfinite(rms).all():
        return _Trial(method, note="no finite held-out error")
    error = geometric_mean(rms[varying] / spread[varying])
    return _Trial(method, fit, error, whole=len(train) <= MOST_RANKED)


def _with_trials(status: Status, able: list[_Trial], best: _Trial) -> Status:
    """A violated identity concerns the data, whichever method is chosen."""
    aside = next((trial for trial in able if trial.violates and trial is not best), None)
    if aside is None or aside.fit is None or status.code == "suspect":
        return status
    return Status("suspect", f"{aside.method.name} was set aside: {aside.fit.status.message}")
