"""The two entry points: `integrate` an integrand, or `estimate` from evaluations at hand."""

from collections.abc import Callable
from typing import Any

import numpy as np

from steinquad._float64 import float64
from steinquad._types import Array, Progress, no_progress
from steinquad.dataset import Dataset, check_inside
from steinquad.errors import InputError
from steinquad.estimate import Estimate
from steinquad.estimators.base import Method
from steinquad.estimators.bsn import BSN
from steinquad.measures import Draws, Measure, as_measure

__all__ = ["estimate", "integrate"]


@float64
def integrate(
    f: Callable[[Any], Any],
    measure: Any,
    *,
    n: int | None = None,
    method: Method | None = None,
    seed: int = 0,
    vectorized: bool = True,
    progress: Progress | None = None,
) -> Estimate:
    """Expectation of `f` under `measure` from `n` evaluations at independent draws.

    Args:
        f: the integrand, a NumPy batch (n, d) -> (n,), or (n, k) for k integrands at once.
        measure: a numpyro distribution, a frozen scipy.stats one, or a measure of this library.
        n: number of evaluations; for `Draws` the default is all of them.
        method: how to estimate; `BSN()` by default.
        seed: of the draws and of the method; the same seed gives the same answer, and every method
            sees the same draws.
        vectorized: False if `f` takes one point (d,) at a time.
        progress: called with (step, total, loss) during training.

    >>> import numpyro.distributions as dist, steinquad as sq
    >>> est = sq.integrate(lambda x: x[:, 0] ** 2, dist.Normal(0, 1), n=200)
    >>> abs(est.mean - 1) < 0.01
    True
    """
    measure = as_measure(measure)
    if n is None and isinstance(measure, Draws):
        n = len(measure.x)
    if n is None:
        raise InputError("n is missing; say how many evaluations of f to make, e.g. n=1000.")
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 2:
        raise InputError(f"n is {n!r}; give an integer of at least 2.")
    _check_seed(seed)
    x = measure.sample(int(n), seed=seed)
    fx = _evaluate(f, x, vectorized)
    data = Dataset(x, fx)
    return _estimate(data, measure, method or BSN(), seed, progress or no_progress)


@float64
def estimate(
    data: Dataset,
    *,
    measure: Any = None,
    method: Method | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Estimate:
    """Expectation from points, values and scores that somebody already has.

    Args:
        data: the evaluations; without scores a measure is needed by every method but `MonteCarlo`.
        measure: what the points were drawn from, when known: gives scores and support.
        method: how to estimate; `BSN()` by default.
        seed: of the method.
        progress: called with (step, total, loss) during training.
    """
    if not isinstance(data, Dataset):
        raise InputError(f"data is {type(data).__name__}; pass sq.Dataset(x, fx, score).")
    _check_seed(seed)
    known = None if measure is None else as_measure(measure)
    return _estimate(data, known, method or BSN(), seed, progress or no_progress)


def _estimate(
    data: Dataset, measure: Measure | None, method: Method, seed: int, progress: Progress
) -> Estimate:
    if not isinstance(method, Method):
        raise InputError(f"method is {method!r}; pass a method object such as sq.BSN().")
    if measure is not None:
        data = _complete(data, measure)
    return method.estimate(data, measure, seed=int(seed), progress=progress)


def _complete(data: Dataset, measure: Measure) -> Dataset:
    """Support, names and scores from the measure, after checking that they go together."""
    if data.dim != measure.dim:
        raise InputError(
            f"data has dim {data.dim} but the measure has dim {measure.dim}; "
            f"pass points of shape (n, {measure.dim})."
        )
    if data.support is not None and data.support != measure.support:
        raise InputError(
            f"data has support {data.support} but the measure has {measure.support}; "
            "leave support out, or correct one of them."
        )
    check_inside(data.x, measure.support)
    score = measure.score(data.x) if data.score is None else data.score
    if not np.isfinite(score).all():
        row = int(np.flatnonzero(~np.isfinite(score).all(axis=1))[0])
        raise InputError(
            f"measure has a score that is not finite at row {row} of x; "
            "remove points on the boundary of the support."
        )
    return data.completed(score, measure.support, measure.names)


def _evaluate(f: Callable[[Any], Any], x: Array, vectorized: bool) -> Array:
    if not callable(f):
        raise InputError(f"f is {type(f).__name__}; pass a function of a batch of points (n, d).")
    values = f(x) if vectorized else [f(point) for point in x]
    array = np.asarray(values, dtype=np.float64)
    if array.ndim not in (1, 2) or len(array) != len(x):
        raise InputError(
            f"f returned shape {array.shape} for {len(x)} points; return ({len(x)},) or "
            f"({len(x)}, k), or pass vectorized=False if f takes one point at a time."
        )
    return array


def _check_seed(seed: int) -> None:
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise InputError(f"seed is {seed!r}; give an integer >= 0.")
