"""The two entry points: `integrate` an integrand, or `estimate` from evaluations at hand."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from os import PathLike
from typing import Any

import numpy as np

from steinquad._float64 import float64
from steinquad._threads import few_threads
from steinquad._tolerance import Rounds, until
from steinquad._types import (
    Array,
    Progress,
    ProgressOption,
    as_count,
    as_flag,
    as_fraction,
    as_numbers,
    as_seed,
    is_count,
)
from steinquad.dataset import Dataset, check_inside
from steinquad.designs import Design, Sample
from steinquad.errors import InputError, shown, shown_point
from steinquad.estimate import Estimate
from steinquad.fit import Context, Status, WarmStart
from steinquad.measures import Draws, Measure, as_measure
from steinquad.methods.base import Method
from steinquad.methods.stack import Stack
from steinquad.streaming.estimate import FIT_ROWS, drawn_rows, estimate_rows
from steinquad.streaming.source import Columns, Source
from steinquad.support import Support
from steinquad.terminal.watched import watched

__all__ = ["estimate", "integrate"]

FEWEST_FITTED = 20  # rows of files
MOST_NUMBERS = 200_000_000  # coordinates of all points, beyond which memory ends the process


@float64
def integrate(
    f: Callable[[Any], Any],
    measure: Any,
    *,
    n: int | None = None,
    method: Method | None = None,
    design: Design | None = None,
    folds: int = 0,
    rtol: float | None = None,
    max_n: int = 10_000,
    seed: int = 0,
    vectorized: bool = True,
    progress: ProgressOption = None,
) -> Estimate:
    """Expectation of `f` under `measure` from `n` evaluations, or as many as a tolerance takes.

    Args:
        f: the integrand, a NumPy batch (n, d) -> (n,), or (n, k) for k integrands at once.
        measure: a numpyro distribution, a frozen scipy.stats one or a `gaussian_kde`, one of
            chaospy or OpenTURNS, an input of uqtestfuns, a dict or list of independent ones, or
            a measure of this library.
        n: number of evaluations; for `Draws` the default is all of them. With `rtol` that of the
            first round, by default 256 on Sobol points, which are even at powers of two, else 200.
        method: how to estimate; by default `Stack()`, which weighs all methods that apply by what
            held-out points say of each.
        design: where to evaluate f; by default where the method wants it: scrambled Sobol points
            where the measure has inverse distribution functions, else independent draws, which
            `MonteCarlo` takes always.
        folds: cross-fit the estimate with so many folds and keep that second opinion in
            `Estimate.check`; `Stack` does it unasked.
        rtol: go on with more points until the std is at most this share of the mean; the std is
            then a checked one, with two folds if `folds` is not given.
        max_n: where to stop if it is not; says so in the status.
        seed: of the draws and of the method; the same seed gives the same answer, and every method
            sees the same draws.
        vectorized: False if `f` takes one point (d,) at a time.
        progress: True for a bar, in a terminal or a notebook, or a function that is called with
            (step, total, loss) during training.

    Returns:
        Mean, std and status, the model of f behind them and, where one was made, the check.

    >>> import numpyro.distributions as dist, steinquad as sq
    >>> est = sq.integrate(lambda x: x[:, 0] ** 2, dist.Normal(0, 1), n=200)
    >>> abs(est.mean - 1) < 1e-6
    True
    """
    measure = as_measure(measure)
    method = _as_method(method, folds)
    design = method.design(measure) if design is None else design
    if not isinstance(design, Design):
        raise InputError(f"design is {shown(design)}; pass a design such as sq.designs.Sobol().")
    if n is None and isinstance(measure, Draws):
        n = len(measure.x)
    if rtol is not None:
        rtol, max_n = as_fraction("rtol", rtol), as_count("max_n", max_n, 2)
        if isinstance(measure, Draws):
            raise InputError("measure is Draws, which has no further points; leave rtol out.")
        n = design.first_round(max_n) if n is None else n
    if n is None:
        raise InputError(
            "n is missing; say how many evaluations of f to make, e.g. n=1000, or pass rtol=."
        )
    n, seed = as_count("n", n, 2), as_seed(seed)
    if n * measure.dim > MOST_NUMBERS:
        raise InputError(
            f"n is {n} in {measure.dim} dimensions, more points than memory holds; take at most "
            f"{MOST_NUMBERS // measure.dim}, or average answers of several seeds."
        )
    vectorized = as_flag("vectorized", vectorized)

    def evaluated(x: Array) -> Array:
        return _evaluate(f, x, vectorized)

    def fit(data: Dataset, start: WarmStart | None, report: Progress) -> Estimate:
        # Stopping when the std is small favors one that is too small, so it has to be checked.
        checks, widen = (folds, False) if rtol is None else (folds or 2, True)
        context = Context(seed, report, start)
        return _estimate(data, measure, method, context, folds=checks, widen=widen)

    if rtol is not None and n > max_n:
        raise InputError(f"n is {n} but max_n is {max_n}; begin with fewer points or allow more.")
    with watched(progress) as report:
        if rtol is None:
            sample = design.draw(measure, n, seed=seed, progress=report)
            return _noted(fit(sample.dataset(evaluated(sample.x)), None, report), sample)
        most = min(max_n, MOST_NUMBERS // measure.dim)
        rounds = Rounds(design, measure, evaluated, n=n, max_n=most, seed=seed)
        return _noted(*until(rtol, rounds, partial(fit, report=report), report))


@float64
def estimate(
    data: Any,
    *,
    x: Any = None,
    value: Any = None,
    score: Any = None,
    support: Any = None,
    measure: Any = None,
    method: Method | None = None,
    folds: int = 0,
    seed: int = 0,
    progress: ProgressOption = None,
    fit_rows: int | None = None,
    client: Any = None,
) -> Estimate:
    """Expectation from points, values and scores that somebody already has.

    For draws of a Markov chain, a simulation that is already run, or any f that cannot be called
    from Python. Where f can be called, `integrate` also places the points.

    Of files that memory does not hold, some rows are drawn evenly and fitted, and all of them
    correct the fit in one pass, a batch of rows at a time: that is unbiased whatever the fit is.
    The std is the standard error of what the fit leaves of all rows. Rows of chains may follow
    each other: the spread of the averages of a hundred blocks counts where it is larger.

    Args:
        data: a `Dataset`, or where the rows are: a CSV or Parquet file, a directory, a pattern
            such as `"draws/*.parquet"`, or a list of these. Without scores a measure is needed by
            every method but `MonteCarlo`.
        x: of files, the columns of the points, such as `["x0", "x1"]`.
        value: of files, the column of f; a list of columns for several integrands.
        score: of files, the columns of the score, in the order of `x`.
        support: of files, bounds of coordinates as `Dataset` takes them.
        measure: what the points were drawn from, when known: gives scores and support.
        method: how to estimate; by default `Stack()`, which weighs all methods that apply by what
            held-out points say of each.
        folds: cross-fit the estimate with so many folds and keep that second opinion in
            `Estimate.check`; `Stack` does it unasked. Of files, in how many folds the fitted rows
            are held out, ten by default.
        seed: of the method, and of the rows of files that are fitted.
        progress: True for a bar, in a terminal or a notebook, or a function that is called with
            (step, total, loss) during training, and with (rows, all rows, spread of what the fit
            leaves) on the way through files.
        fit_rows: of files, how many rows are fitted, 2,000 by default; where there are no more,
            they are estimated as a `Dataset`.
        client: of files, a `distributed.Client` or the address of a Dask scheduler, whose workers
            go over the rows; by default this process does.

    Returns:
        Mean, std and status, the model of f behind them and, where one was made, the check.
    """
    of_files = {"x": x, "value": value, "score": score, "support": support}
    of_files |= {"fit_rows": fit_rows, "client": client}
    known = None if measure is None else as_measure(measure)
    if isinstance(data, Dataset):
        for name, given in of_files.items():
            if given is not None:
                raise InputError(f"{name} is for files, but data is a Dataset; leave {name} out.")
        chosen, seed = _as_method(method, folds), as_seed(seed)
        with watched(progress) as report:
            return _estimate(data, known, chosen, Context(seed, report), folds=folds)
    several = data if isinstance(data, list | tuple) else [data]
    if not all(isinstance(each, str | PathLike) for each in several):
        raise InputError(
            f"data is {type(data).__name__}; pass sq.Dataset(x, fx, score), or the path of files."
        )
    chosen, seed = _as_method(method, folds), as_seed(seed)
    size = FIT_ROWS if fit_rows is None else as_count("fit_rows", fit_rows, FEWEST_FITTED)
    source = Source.open(data, Columns.of(x, value, score))
    names = source.columns.x
    numbers = drawn_rows(source.rows, min(size, source.rows), seed)
    bounds = None if support is None else Support.parse(support, len(names), names)
    part = _dataset(source, numbers, bounds, known)
    if source.rows <= size:
        with watched(progress) as report:
            return _estimate(part, known, chosen, Context(seed, report), folds=folds)
    if known is not None:
        part = _complete(part, known)
    return estimate_rows(
        source,
        numbers,
        part,
        known,
        chosen,
        folds=folds,
        seed=seed,
        client=client,
        progress=progress,
    )


def _dataset(
    source: Source, numbers: np.ndarray, support: Support | None, measure: Measure | None
) -> Dataset:
    """The rows of these numbers."""
    if measure is not None:
        _check_dim(len(source.columns.x), measure)
    inside = measure.support if support is None and measure is not None else support
    rows, columns = source.take(numbers, inside), source.columns
    fx = rows.fx[:, 0] if columns.scalar else rows.fx
    return Dataset(rows.x, fx, rows.score, support, names=columns.x)


def _estimate(
    data: Dataset, measure: Measure | None, method: Method, context: Context, **options: Any
) -> Estimate:
    """`Method.estimate` with these options, of data that the measure has completed."""
    if measure is not None:
        data = _complete(data, measure)
    with few_threads(data.n):
        return method.estimate(data, measure, context, **options)


def _noted(est: Estimate, sample: Sample) -> Estimate:
    """What the design has to say: numbers in the stats, trouble in the status."""
    if sample.stats:
        est = replace(est, stats={**est.stats, "design": dict(sample.stats)})
    if not sample.notes or est.status.code == "not_finite":
        return est
    trouble = "; ".join(sample.notes)
    if est.status.code == "suspect":
        trouble += "; " + est.status.message
    return est.with_status(Status("suspect", trouble))


def _complete(data: Dataset, measure: Measure) -> Dataset:
    """Support, names and scores from the measure, after checking that they go together."""
    _check_dim(data.dim, measure)
    if data.support is not None and data.support != measure.support:
        raise InputError(
            f"data has support {data.support} but the measure has {measure.support}; "
            "leave support out, or correct one of them."
        )
    # Before the score, which has no value outside.
    check_inside(data.x, measure.support)
    score = measure.score(data.x) if data.score is None else data.score
    if not np.isfinite(score).all():
        row = int(np.flatnonzero(~np.isfinite(score).all(axis=1))[0])
        raise InputError(
            f"measure has a score that is not finite at row {row} of x, "
            f"{shown_point(data.x[row])}; "
            "remove points on the boundary of the support."
        )
    return data.completed(score, measure.support, measure.names)


def _check_dim(dim: int, measure: Measure) -> None:
    if dim != measure.dim:
        raise InputError(
            f"data has dim {dim} but the measure has dim {measure.dim}; "
            f"pass points of shape (n, {measure.dim})."
        )


def _evaluate(f: Callable[[Any], Any], x: Array, vectorized: bool) -> Array:
    if not callable(f):
        raise InputError(f"f is {type(f).__name__}; pass a function of a batch of points (n, d).")
    own = x.copy()  # f may write into what it is given
    values = f(own) if vectorized else [f(point) for point in own]
    array = as_numbers("what f returned", values)
    if array.ndim not in (1, 2) or len(array) != len(x):
        raise InputError(
            f"f returned shape {array.shape} for {len(x)} points; return ({len(x)},) or "
            f"({len(x)}, k), or pass vectorized=False if f takes one point at a time."
        )
    return array


def _as_method(method: Any, folds: int) -> Method:
    """A method, by default `Stack()`, with as many folds as asked for if it makes its own."""
    if not is_count(folds, 0) or folds == 1:
        raise InputError(
            f"folds is {shown(folds)}; give an integer of at least 2, or 0 for no check."
        )
    method = Stack() if method is None else method
    if not isinstance(method, Method):
        raise InputError(f"method is {shown(method)}; pass a method object such as sq.BSN().")
    return method.with_folds(as_count("folds", folds, 2)) if folds else method
