"""From files to an answer: some rows are fitted, all of them correct the fit.

With g the model of the fit to m rows, drawn evenly from all N, and theta0 its integral,

    answer = average over all rows of v,   v = theta0 + f - g

where rows that the fit has seen take theta0 and g of fits without their fold, so that every row
counts once. That is unbiased for independent rows whatever g is, and

    std^2 = s^2 + (m / N)^2 max(e^2 - s_m^2, 0)

with s the standard error of all v, which sees rows that depend on their neighbors (`moments`), s_m
that of the m fitted rows, and e what the fit says of its own error or the jackknife of its folds,
the larger, 10 s_m at most. The second term is what held-out residuals alone do not know of the
share m / N of the rows. Heavy tails of the m rows widen it as they do in memory, for N rows.
"""

from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
from scipy.special import chdtri

from steinquad._threads import few_threads
from steinquad._types import Array, Progress, ProgressOption
from steinquad.binomial import Binomial
from steinquad.checking.counted import sentences_of_values
from steinquad.checking.error_bar import OWN_SHARE
from steinquad.checking.few_events import few_of_counts
from steinquad.checking.folds import folds_of
from steinquad.checking.plausibility import (
    Mass,
    contradicted,
    enough_of,
    in_finite_numbers,
    informed,
)
from steinquad.checking.standard_error import (
    FALSE_ALARM,
    above_rounding,
    beyond_chance,
    standard_error,
)
from steinquad.checking.tails import Tails
from steinquad.dataset import Dataset
from steinquad.estimate import Estimate
from steinquad.fit import Context, Fit, HeldOutValues, Status
from steinquad.fitting.corrected import corrected
from steinquad.measures.base import Measure
from steinquad.methods.base import Method
from steinquad.streaming.correction import Correction, Passed
from steinquad.streaming.moments import blocks_of
from steinquad.streaming.source import Source
from steinquad.streaming.workers import by_workers, connected
from steinquad.terminal.watched import watched

__all__ = ["FIT_ROWS", "drawn_rows", "estimate_rows"]

FIT_ROWS = 2_000  # to which the fit is made, unless the user says how many
FOLDS = 10  # in which these are held out


def drawn_rows(rows: int, size: int, seed: int) -> np.ndarray:
    """Numbers of the rows that are fitted, in order: every set of so many is as likely.

    Args:
        rows: number of all rows.
        size: how many to draw.
        seed: of the draw, on which nothing else has a say, such as how files are cut.
    """
    drawn = np.random.default_rng(seed).choice(rows, size, replace=False, shuffle=False)
    return np.sort(drawn)


def estimate_rows(
    source: Source,
    numbers: np.ndarray,
    part: Dataset,
    measure: Measure | None,
    method: Method,
    *,
    folds: int,
    seed: int,
    client: Any,
    progress: ProgressOption,
) -> Estimate:
    """The answer of all rows by a fit to some of them.

    Args:
        source: of all rows.
        numbers: of those that are fitted, as `drawn_rows` gives them.
        part: these rows.
        measure: what the rows were drawn from, when known.
        method: that fits.
        folds: in which fitted rows are held out; 0 for ten.
        seed: of the method and its folds.
        client: of Dask, or the address of a scheduler; None for this process.
        progress: what the user asked for.
    """
    with watched(progress) as report, few_threads(part.n):
        split = folds_of(part, min(folds or FOLDS, part.n // 2), seed)
        context = Context(seed, report, split=split)
        fit = method.checked_fit(part, measure, context)
        stats = {"rows": source.rows, "fitted_rows": part.n, "files": len(source.files)}
        fit = replace(fit, stats={**fit.stats, **stats})
        if fit.model is None:
            return _answer(fit, part, measure, method, source.rows)
        held_out = method.held_out_values(fit, part, measure, context)
    correction = Correction(
        fit=replace(fit, fitted=None, held_out=None, warm_start=None, history={}, candidates=()),
        measure=measure,
        support=part.support,
        columns=source.columns,
        rows=source.rows,
        blocks=blocks_of(source.rows),
        fitted=numbers,
        held_out=held_out.values,
    )
    with watched(progress, label="rows", rate=True) as report:
        passed = _pass(correction, source, client, report)
    outcome = _Outcome(fit, held_out, part, passed)
    return _answer(outcome.fit_of_all(), part, measure, method, source.rows)


def _answer(
    fit: Fit, part: Dataset, measure: Measure | None, method: Method, rows: int
) -> Estimate:
    return replace(Estimate.of(fit, part, measure, method=method.name), n=rows)


def _pass(correction: Correction, source: Source, client: Any, progress: Progress) -> Passed:
    """Over all rows, here or by workers; merged piece by piece in their order."""
    done = 0

    def report(passed: Passed) -> None:
        nonlocal done
        done += passed.tally.n
        progress(done, source.rows, passed.left)

    if client is None:
        parts = (correction.of_piece(piece, report) for piece in source.pieces)
        return reduce(Passed.merged, parts)
    with connected(client) as own:
        return reduce(Passed.merged, by_workers(correction, source.pieces, own, report))


@dataclass(frozen=True, eq=False)
class _Outcome:
    """A fit, what its rows say of it when held out, and what all rows say.

    Attributes:
        first: the fit to some rows.
        held_out: these rows under fits that have not seen them.
        part: these rows.
        passed: of all rows.
    """

    first: Fit
    held_out: HeldOutValues
    part: Dataset
    passed: Passed

    def fit_of_all(self) -> Fit:
        """The fit with the answer of all rows, its std and its status."""
        moments, tally = self.passed.moments, self.passed.tally
        v, f, _, _ = self.passed.places
        worth = self._worth()
        few = few_of_counts(tally, worth)
        exempt = tally.constant if few is None else tally.constant | few.applies
        told_of = np.flatnonzero(~exempt)  # by a standard error
        mean, errors = moments.total.mean[0, v], moments.standard_error
        # Two values are as good as all to know how large f is, and which outputs vary.
        error = above_rounding(errors[v], np.stack([tally.low, tally.high]))
        tails = Tails.of(mean, self.held_out.values, self.part)
        widening = replace(tails, size=float(tally.n)).widening
        std = np.hypot(error, self._of_fitted_rows()) * widening
        left = self.held_out.values - self.held_out.values.mean(axis=0)
        fit = corrected(self.first, mean, std, moments.freedom(told_of), left)
        fit = self._with_counted(fit, few)
        told = sentences_of_values(
            few, tally, 1 / (tally.n * worth.min()), dependent=bool(worth.min() < 1)
        )
        if exempt.all():
            code = "constant" if tally.constant.all() else "converged"
            return replace(fit, status=Status(code, "; ".join(told)))
        said = f"fitted to {self.part.n} of {tally.n} rows and corrected by all"
        status = Status(fit.status.code, f"{said}; {fit.status.message}")
        gap = np.where(exempt, 0.0, mean - moments.total.mean[0, f])
        far = beyond_chance(gap, errors[f], moments.freedom(f.start + told_of))
        status = contradicted(status, far)
        if tails.sentence is not None and not status.doubtful:
            code = "suspect" if tails.suspect else status.code
            wide = f"which makes the std {widening.max():.2g} times as large for all rows"
            status = Status(code, f"{status.message}; heavy tails, {wide}")
        status = informed(status, self._mass, exempt | tally.indicator, self._enough())
        fit = replace(fit, status=Status(status.code, "; ".join([status.message, *told])))
        return replace(fit, status=in_finite_numbers(fit))

    def _of_fitted_rows(self) -> Array:
        """What the held-out values of the fitted rows do not know, as a part of the std, (k,)."""
        values = self.held_out.values
        error, _ = standard_error(values, np.ones(len(values)))
        own = np.fmax(self.first.std, self.held_out.jackknife)
        own = np.minimum(own, OWN_SHARE * error)
        share = len(values) / self.passed.tally.n
        return share * np.sqrt(np.maximum(own**2 - error**2, 0.0))

    def _worth(self) -> Array:
        """How many independent draws each row is worth, at most one, (k,), for counts of events.

        By the larger of two ratios, of f and of the coordinate that moves slowest, where it is
        more than chance explains.
        """
        _, f, _, x = self.passed.places
        square = self.passed.moments.dependence**2
        freedom = len(self.passed.moments.n) - 1
        limit = chdtri(freedom, FALSE_ALARM / len(square)) / freedom
        ratio = np.maximum(square[f], square[x].max())
        return np.where(ratio > limit, 1 / ratio, 1.0)

    def _with_counted(self, fit: Fit, few: Binomial | None) -> Fit:
        """The fit with what is exact of outputs that do not vary or have few events."""
        constant = self.passed.tally.constant
        mean, variance = (
            np.where(constant, a, b)
            for a, b in ((self.passed.tally.low, fit.mean), (0.0, np.diag(fit.covariance)))
        )
        exact = constant
        if few is not None:
            exact = exact | few.applies
            mean = np.where(few.applies, few.mean, mean)
            variance = np.where(few.applies, few.std**2, variance)
        covariance = np.where(np.logical_or.outer(exact, exact), 0.0, fit.covariance)
        np.fill_diagonal(covariance, variance)
        return replace(fit, correction=mean - fit.theta0, covariance=covariance, binomial=few)

    @property
    def _mass(self) -> Mass:
        """Where the integral of every output is."""
        total, n = self.passed.moments.total, self.passed.tally.n
        _, f, size, _ = self.passed.places
        squares = (total.second[0, f] / n + total.mean[0, f] ** 2) / n
        return Mass(total.mean[0, f], total.mean[0, size], squares, n)

    def _enough(self) -> Array:
        """How many rows have to carry the integral, (k,), by the share of f that is left."""
        v, f, _, _ = self.passed.places
        left, spread = (self.passed.moments.total.second[0, each] for each in (v, f))
        share = np.divide(left, spread, out=np.zeros_like(left), where=spread > 0)
        return enough_of(np.sqrt(share))
