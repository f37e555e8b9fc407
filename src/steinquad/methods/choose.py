"""Let the data choose: one shared hold-out ranks the methods, the best is refitted and checked."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from steinquad._types import Array, Progress
from steinquad.checking.cross_fit import checked, cross_fit, held_out, parts, widened
from steinquad.checking.plausibility import beside_average
from steinquad.dataset import Dataset
from steinquad.errors import InputError
from steinquad.estimate import Estimate, Status
from steinquad.measures.base import Measure
from steinquad.methods.base import Method, constant_estimate, constant_outputs, obstacle
from steinquad.methods.bayesian_quadrature import BayesianQuadrature
from steinquad.methods.bsn import BSN
from steinquad.methods.control_functional import ControlFunctional
from steinquad.methods.monte_carlo import MonteCarlo
from steinquad.methods.polynomial import Polynomial

__all__ = ["Choose"]

FEWEST_RANKED = 8  # points for which a hold-out makes sense
MOST_RANKED = 3000  # points in the fits that rank, and in the hold-out that judges them
LARGE_FOR_DEAR = 2000  # points from which on a dear method is checked with two folds
WELL_ENOUGH = 1e-4  # share of the spread of f below which no dearer method is tried
CONTENDER = 3.0  # factor behind the winner beyond which a method is not tried again on more data


def _family() -> tuple[Method, ...]:
    return (
        MonteCarlo(),
        Polynomial(features="cdf", name="Polynomial(cdf)"),
        Polynomial(features="score", name="Polynomial(score)"),
        BayesianQuadrature(),
        ControlFunctional(),
        BSN(),
    )


@dataclass(frozen=True)
class Choose:
    """The method with the least held-out error among those that apply to the data.

    The data are halved. Every candidate is fitted to (at most 3,000 points of) one half and judged
    on the other by the root mean square of `f - g`, which over sqrt(n) is the standard error of
    its integral. The winner is fitted to all of the data and cross-fitted; its std is
    the cross-fitted one, or the distance between the two answers where that is larger, or up to
    ten times the former where the fit itself says so.

    Attributes:
        methods: the candidates, cheap ones first; one that is `dear` is skipped where a cheap one
            leaves less than 1e-4 of the spread of f.
        folds: of the check, for methods that do not say themselves.
    """

    methods: Sequence[Method] = field(default_factory=_family)
    folds: int = 5
    name: str = "Choose"
    checks_itself: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not self.methods:
            raise InputError("methods is empty; give at least one method to choose from.")
        for method in self.methods:
            if not isinstance(method, Method):
                raise InputError(f"methods has {method!r}; give method objects such as sq.BSN().")
        if isinstance(self.folds, bool) or not isinstance(self.folds, int) or self.folds < 2:
            raise InputError(f"folds is {self.folds!r}; give an integer of at least 2.")
        names = [method.name for method in self.methods]
        double = next((name for name in names if names.count(name) > 1), None)
        if double:
            raise InputError(f"methods has two named {double!r}; give each its own name=.")

    def estimate(
        self,
        data: Dataset,
        measure: Measure | None,
        *,
        seed: int,
        progress: Progress,
        start: Estimate | None = None,
    ) -> Estimate:
        """Rank, refit the winner, cross-fit it; see `Method.estimate`."""
        if constant_outputs(data).all():
            return constant_estimate(data, self.name)
        before = start._state if start is not None else None
        trials = self._rank(data, measure, seed, progress, before)
        able = [trial for trial in trials if trial.fit is not None]
        if not able:
            reasons = "; ".join(f"{trial.method.name}: {trial.note}" for trial in trials)
            raise InputError(f"no method applies to the data ({reasons.rstrip('.')}).")
        # What violates an identity that holds for every sound dataset is no candidate.
        sound = [trial for trial in able if not trial.violates] or able
        best = min(sound, key=lambda trial: trial.error)
        method = best.method
        previous = before.estimates.get(method.name) if isinstance(before, _State) else None
        warm = previous if previous is not None else best.fit
        full = method.estimate(data, measure, seed=seed, progress=progress, start=warm)
        estimate = self._checked(full, best, data, measure, seed, progress)
        estimate = _with_doubts(estimate, able, best)
        rows = tuple(trial.row(chosen=trial is best, n=data.n) for trial in trials)
        behind = {
            trial.method.name
            for trial in trials
            if np.isfinite(trial.error) and trial.error > CONTENDER * best.error
        }
        if isinstance(before, _State):
            behind |= before.dropped
        state = _State({method.name: full}, frozenset(behind))
        return replace(
            estimate, method=f"{self.name}: {full.method}", candidates=rows, _state=state
        )

    def winner(self, estimate: Estimate) -> Method | None:
        """The candidate that an estimate of this method was made with, None for a constant f."""
        chosen = {row["method"] for row in estimate.candidates if row["chosen"]}
        return next((method for method in self.methods if method.name in chosen), None)

    def fit_of(self, estimate: Estimate) -> Estimate | None:
        """The winner's own fit to all of the data, None for a constant f."""
        state = estimate._state
        return next(iter(state.estimates.values())) if isinstance(state, _State) else None

    def _rank(
        self,
        data: Dataset,
        measure: Measure | None,
        seed: int,
        progress: Progress,
        before: Any,
    ) -> list["_Trial"]:
        """One trial for each candidate."""
        trials: list[_Trial] = []
        dropped = before.dropped if isinstance(before, _State) else frozenset()
        for method in self.methods:
            best = min((trial.error for trial in trials if not trial.violates), default=np.inf)
            note = obstacle(method, data, measure)
            if note is None and method.name in dropped:
                note = "far behind on fewer points"
            if note is None and getattr(method, "dear", False) and best < WELL_ENOUGH:
                note = "a cheaper method leaves less than 1e-4 of the spread of f"
            if note is None and data.n < FEWEST_RANKED and np.isfinite(best):
                note = "too few points to rank"
            if note is not None:
                trials.append(_Trial(method, note=note))
            else:
                trials.append(_trial(method, data, measure, seed, progress))
        return trials

    def _checked(
        self,
        full: Estimate,
        best: "_Trial",
        data: Dataset,
        measure: Measure | None,
        seed: int,
        progress: Progress,
    ) -> Estimate:
        """The full fit with the cross-fitted check and the wider std of the two."""
        if data.n < FEWEST_RANKED or not data.sampled or full.status.code == "constant":
            return full
        if full.check is not None:  # cross-fitted already
            return full
        dear = getattr(best.method, "dear", False)
        folds = 2 if dear and data.n > LARGE_FOR_DEAR else min(self.folds, data.n // 2)
        first = None
        if best.fit is not None and best.values is not None:
            first = (best.fit, best.values)
        check = cross_fit(
            getattr(best.method, "light", best.method),
            data,
            measure,
            full,
            folds=folds,
            seed=seed,
            progress=progress,
            start=full if getattr(best.method, "warm_folds", False) else None,
            first=first if folds == 2 else None,
        )
        return checked(widened(full, check), check)


@dataclass(frozen=True)
class _State:
    """What the next, larger dataset may start from."""

    estimates: dict[str, Estimate]
    dropped: frozenset[str]


@dataclass(frozen=True)
class _Trial:
    """What the hold-out said of one candidate."""

    method: Method
    fit: Estimate | None = None
    error: float = np.inf  # held-out rms over the spread of f, geometric mean over outputs
    values: Array | None = (
        None  # held-out values of the whole test half, where fitted to the other
    )
    note: str | None = None

    @property
    def violates(self) -> bool:
        """Whether the fit found the data at odds with what it presumes."""
        return self.fit is not None and self.fit.status.code in ("suspect", "not_finite")

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


def _trial(
    method: Method,
    data: Dataset,
    measure: Measure | None,
    seed: int,
    progress: Progress,
) -> _Trial:
    """Fit to one half, or to evenly spaced points of it, and judge on the other."""
    light: Method = getattr(method, "light", method)
    if data.n < FEWEST_RANKED:  # nothing to hold out: the first that applies
        fit = light.estimate(data, measure, seed=seed, progress=progress)
        return _Trial(method, fit, 1.0, note="too few points to rank")
    test, train = parts(data, 2, seed)
    whole = len(train) <= MOST_RANKED
    rows = train if whole else train[_spaced(len(train), MOST_RANKED)]
    judge = test if whole else test[_spaced(len(test), MOST_RANKED)]
    try:
        fit = light.estimate(data.take(rows), measure, seed=seed, progress=progress)
    except (InputError, np.linalg.LinAlgError) as error:  # fewer points than it needs
        return _Trial(method, note=str(error))
    if fit.predictor is None:
        return _Trial(method, note=fit.status.message)
    fit = beside_average(fit, data.take(rows))
    held = data.take(judge)
    values = held_out(fit, held)
    w = held.effective_weights / held.effective_weights.sum()
    spread = data.fx.std(axis=0)  # of all of the data: a half of few events may not vary
    # Around theta0, not around their own average: an offset of the model is an error too.
    assert fit._model_mean is not None
    rms = np.sqrt(w @ (values - fit._model_mean) ** 2)
    varying = spread > 0
    if not np.isfinite(rms).all():
        return _Trial(method, note="no finite held-out error")
    error = float(np.exp(np.mean(np.log(np.maximum(rms[varying] / spread[varying], 1e-300)))))
    return _Trial(method, fit, error, values if whole else None)


def _spaced(n: int, m: int) -> np.ndarray:
    return np.linspace(0, n - 1, m).round().astype(int)


def _with_doubts(estimate: Estimate, able: list[_Trial], best: _Trial) -> Estimate:
    """A violated identity concerns the data, whichever method is chosen."""
    for trial in able:
        if trial.violates and trial is not best and estimate.status.code != "suspect":
            assert trial.fit is not None
            message = f"{trial.method.name} was set aside: {trial.fit.status.message}"
            return estimate.with_status(Status("suspect", message))
    return estimate
