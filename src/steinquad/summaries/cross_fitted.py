"""The distribution of each output: cross-fit a model, and let it help where it does."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from steinquad._float64 import float64
from steinquad._threads import few_threads
from steinquad._types import Array, Progress, ProgressOption, as_count
from steinquad.api import estimate as mean_of
from steinquad.checking.folds import folds_of, others
from steinquad.checking.held_out import HeldOut
from steinquad.checking.standard_error import MANY_GROUPS, autocorrelated
from steinquad.dataset import Dataset
from steinquad.errors import InputError
from steinquad.estimate import Estimate
from steinquad.fit import Context
from steinquad.measures import Measure, as_measure
from steinquad.methods.base import Method
from steinquad.methods.stack import Stack
from steinquad.points import Points
from steinquad.summaries import corrected, simulated
from steinquad.summaries.requested import QUANTILES, Requested
from steinquad.summaries.statistic import Statistic, better
from steinquad.terminal.watched import watched

__all__ = ["distribution", "distributions"]

FOLDS = 5
FRESH = 100_000  # draws by which the distribution of a model is known
MOST_PAIRS = 400_000_000  # of fresh and simulated points: fewer draws for large samples
STREAM = 2**40  # of random numbers, apart from those of the points


@float64
def distribution(
    data: Dataset,
    *,
    measure: Any = None,
    method: Method | None = None,
    quantiles: Sequence[float] = QUANTILES,
    above: Sequence[float] = (),
    below: Sequence[float] = (),
    draws: int = FRESH,
    seed: int = 0,
    estimate: Estimate | None = None,
    progress: ProgressOption = None,
) -> tuple[tuple[Statistic, ...], ...]:
    """Standard deviation, quantiles and chances of every output, with 95 % intervals.

    From the simulated values alone, or, for quantiles and chances whose intervals it makes shorter
    by a fifth or more, through a model of f: its distribution by fresh draws, corrected at
    the simulated points, each compared with a model that was fitted without it.

    Args:
        data: independent draws of the measure, or the replicates of a randomized quasi-Monte Carlo
            design as `groups`, without weights and noise.
        measure: what they were drawn from; without it there are no fresh draws, and no model.
        method: that fits the model; by default `Stack()`.
        quantiles: probabilities.
        above: limits of which the chance that f exceeds them is requested.
        below: limits of which the chance that f stays below is requested.
        draws: fresh draws by which the distribution of the model is known.
        seed: of folds, fits and fresh draws.
        estimate: the answer for the mean, where there is one: says which method `Stack` took.
        progress: True for a bar, in a terminal or a notebook, or a function that is called with
            (step, total, loss) while a method is trained.

    Returns:
        For each output its statistics: the std, then quantiles, then chances.

    >>> import numpy as np, scipy.stats as st, steinquad as sq
    >>> x = np.random.default_rng(0).normal(size=(300, 1))
    >>> data = sq.Dataset(x, np.exp(0.5 * x[:, 0]))
    >>> (load,) = sq.distribution(data, measure=st.norm(), quantiles=[0.95], above=[2.0])
    >>> print(load[1].describe("load"))
    95 % quantile of load = 2.274   95 %: [2.148, 2.439]   with the model
    """
    requested = Requested(quantiles, above, below)
    _check_data(data)
    with watched(progress) as report:
        return distributions(
            data,
            [requested] * data.outputs,
            measure=None if measure is None else as_measure(measure),
            method=Stack() if method is None else method,
            draws=as_count("draws", draws, 2),
            seed=int(seed),
            estimate=estimate,
            progress=report,
        )


@float64
def distributions(
    data: Dataset,
    requested: Sequence[Requested],
    *,
    measure: Measure | None,
    method: Method,
    draws: int = FRESH,
    seed: int,
    estimate: Estimate | None,
    progress: Progress,
) -> tuple[tuple[Statistic, ...], ...]:
    """The same with requests for each output; one model serves them all.

    Args:
        data: as for `distribution`, checked.
        requested: for each output, in the order of the outputs.
        measure: what the points were drawn from; None for statistics of the values alone.
        method: that fits the model; of `Stack` the winner is taken.
        draws: fresh draws by which the distribution of the model is known.
        seed: of folds, fits and fresh draws.
        estimate: the answer for the mean, if there is one, which saves choosing again.
        progress: called with (step, total, loss) while a method is trained.
    """
    modelled = measure is not None and not data.constant.all()
    if modelled and isinstance(method, Stack):
        if estimate is None:
            estimate = mean_of(data, measure=measure, method=method, seed=seed, progress=progress)
        winner = method.winner(estimate.fit)
        modelled, method = winner is not method, winner
    models = None
    if modelled and measure is not None:
        with few_threads(data.n):
            models = _surrogates(data, measure, method, draws, seed, progress)
    statistics = []
    for j, each in enumerate(requested):
        values, rows = data.fx[:, j], []
        for kind, at in each.asked():
            row = _alone(values, data.groups, kind, at)
            if models is not None and at is not None:
                row = better(row, _through(models[j], values, kind, at))
            rows.append(row)
        statistics.append(tuple(rows))
    return tuple(statistics)


def _check_data(data: Dataset) -> None:
    if not isinstance(data, Dataset):
        raise InputError(f"data is {type(data).__name__}; pass sq.Dataset(x, fx).")
    trouble = None
    if data.weights is not None:
        trouble = "weights"
    elif data.noise is not None:
        trouble = "noise in its values"
    elif not data.sampled:
        trouble = "points that are not a sample of the measure"
    elif data.groups is not None and (
        len(np.unique(data.groups)) < MANY_GROUPS or autocorrelated(data.fx)
    ):
        trouble = "groups that look like Markov chains"
    if trouble:
        raise InputError(
            f"data has {trouble}, for which the intervals of a distribution do not hold; "
            "pass independent draws."
        )


def _surrogates(
    data: Dataset, measure: Measure, method: Method, draws: int, seed: int, progress: Progress
) -> list[corrected.Surrogate] | None:
    """Cross-fitted models of every output, or None where there are none."""
    folds = min(FOLDS, data.n // 2)
    if folds < 2 or "sample" not in measure.provides:
        return None
    own = np.random.SeedSequence([seed, STREAM]).generate_state(1, np.uint64)[0]
    # 63 bits, so that the seed also fits a signed integer.
    x = measure.sample(max(min(draws, MOST_PAIRS // data.n), 2), seed=int(own >> 1))
    score = measure.score(data.x) if data.score is None else data.score
    full = data.completed(score, measure.support, measure.names)
    fresh = Points(x, measure=measure)
    split, fits = folds_of(full, folds, seed), []
    for rows in split:
        rest = full.take(others(data.n, rows))
        try:
            fit = method.light.checked_fit(rest, measure, Context(seed, progress))
        except (InputError, np.linalg.LinAlgError):  # too few points for this method
            return None
        if fit.model is None or fit.status.code == "constant":
            return None
        fits.append(fit)
    held = HeldOut.of(fits, split, full, measure).predicted
    everywhere = np.stack([fit.predict(fresh)[0] for fit in fits])
    if not (np.isfinite(held).all() and np.isfinite(everywhere).all()):
        return None
    shares = np.array([len(rows) / data.n for rows in split])
    return [
        corrected.Surrogate(held[:, j], everywhere[:, :, j], shares) for j in range(data.outputs)
    ]


def _alone(values: Array, groups: np.ndarray | None, kind: str, at: float | None) -> Statistic:
    """A statistic of the simulated values."""
    if at is None:
        return simulated.spread(values, groups)
    if kind == "quantile":
        return simulated.quantile(values, at)
    return simulated.chance(values, kind, at)


def _through(model: corrected.Surrogate, values: Array, kind: str, at: float) -> Statistic:
    """A quantile or a chance with the model."""
    if kind == "quantile":
        return corrected.quantile(values, model, at)
    return corrected.chance(values, model, kind, at)
