"""`posterior_expectation`: draws and scores in, a table of better expectations out."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from steinquad._float64 import float64
from steinquad._types import Array, Progress, ProgressOption, as_finite, is_word
from steinquad.api import estimate
from steinquad.chains.identity import identity_violation
from steinquad.chains.improve import Expectations, improve, plain
from steinquad.chains.layout import ChainDraws, read
from steinquad.chains.requested import Moments, OwnFunction
from steinquad.chains.result import PosteriorSummary
from steinquad.chains.row import SummaryRow
from steinquad.chains.scores import locate
from steinquad.dataset import Dataset, as_weights
from steinquad.designs.chains import RHAT_LIMIT, convergence, stuck
from steinquad.errors import InputError, shown
from steinquad.fit import Status
from steinquad.fitting.standard_frame import score_obstacle
from steinquad.methods.base import Method
from steinquad.methods.monte_carlo import FEW
from steinquad.methods.stack import Stack
from steinquad.terminal.watched import watched

__all__ = ["posterior_expectation"]

NOT_MIXED = 1.05  # R-hat that makes the answer suspect; above RHAT_LIMIT the row says so


@float64
def posterior_expectation(
    draws: Any,
    f: Callable[[Any], Any] | None = None,
    *,
    score: Any = None,
    weights: Any = None,
    var_names: Sequence[str] | None = None,
    method: Method | None = None,
    seed: int = 0,
    progress: ProgressOption = None,
) -> PosteriorSummary:
    """Posterior expectations from the draws of MCMC, more accurate than their averages.

    Control variates by Stein's method: what is left of f after a regression on functions that have
    posterior mean zero has the same mean as f and a smaller variance. Chains are cut into blocks
    of consecutive draws; every block is corrected by a regression on the other blocks, and
    held-out errors choose the order of the polynomials for every output, the plain mean included.
    Standard errors count the autocorrelation that is left. Thinning is not needed.

    Args:
        draws: an ArviZ `DataTree` or `InferenceData` with a group `posterior`, an xarray
            `Dataset`, a dict of arrays (chain, draw, *shape), or an array (chain, draw, dim) or
            (draw, dim).
        f: function of all draws at once, of a dict of arrays (n, *shape) by name where draws have
            names, else of the array (n, dim); returns (n,), (n, ...) or a dict of such. By default
            mean, variance and 5, 50 and 95 % quantiles of every parameter.
        score: gradient of the log density: a model or `Target`; a function of points (n, d); an
            array laid out as the draws; a dict or tree of arrays by variable, where variables
            without scores are functions of the others; `sq.Draws(points, scores)` for points of
            R^d that are not the draws themselves, rows chain after chain; None for what the draws
            bring: a group `score`, or `unconstrained_draw` and `gradient` in `sample_stats`.
            Without a model, draws are taken as points of all of R^d: pass logarithms of positive
            parameters, with the Jacobian in the density.
        weights: of weighted draws (SMC, importance sampling), (chain, draw) or (n,), >= 0, up to a
            constant.
        var_names: variables requested in the table, by default all.
        method: another method for all outputs, e.g. `sq.ControlFunctional()` or `sq.BSN()`.
        seed: of that method; the default has nothing random.
        progress: True for a bar, in a terminal or a notebook, or a function that is called with
            (step, total, loss) while that method is trained.

    Returns:
        A `PosteriorSummary`: `print` it, `to_dataframe()`, `summary()`, `to_datatree()`. Where the
        scores do not belong to the draws, or chains have not mixed, its status is `suspect`; in
        the first case every answer is the plain one.

    >>> import numpy as np, steinquad as sq
    >>> x = np.random.default_rng(0).normal([1.0, 2.0], [0.5, 3.0], size=(4, 500, 2))
    >>> result = sq.posterior_expectation(x, score=-(x - [1.0, 2.0]) / [0.25, 9.0])
    >>> row, variance = result["x1"], result["x1", "variance"]
    >>> print(f"{row.plain:.3f} {row.mean:.6f} {variance.mean:.6f}")
    1.982 2.000000 9.000000
    """
    sample = read(draws)
    names = _requested_names(sample, var_names)
    at = locate(sample, score)
    weight = None if weights is None else _weights(weights, sample)
    share = np.ones(sample.n) if weight is None else weight
    if f is None:
        requested = Moments(*sample.columns(names), share / share.sum())
    else:
        requested = OwnFunction.evaluate(f, sample)
    data = Dataset(
        at.points,
        requested.values,
        at.scores,
        weights=weight,
        names=at.names,
        groups=sample.groups,
    )
    if weight is not None:
        data = data.take(np.flatnonzero(weight))
    if reason := score_obstacle(data, None):
        raise InputError(reason)
    rhat, ess, notes = _mixing(sample, weight)
    with watched(progress) as report:
        violation = identity_violation(data)
        if violation is not None:
            notes = [violation + "; every answer is the plain one", *notes]
            expectations = plain(data)
        else:
            expectations, more = _by_method(data, method, seed, report)
            notes += more
    chosen = "held-out draws chose the method of every row"
    message = "; ".join(notes) or (chosen if method is None else f"by {method.name}")
    rows = requested.rows(expectations)
    return PosteriorSummary(
        rows=tuple(_with_warnings(row, rhat if f is None else {}) for row in rows),
        status=Status("suspect" if notes else "converged", message),
        warnings=tuple(notes),
        n=sample.n,
        chains=sample.chains,
        dim=data.dim,
        rhat=rhat,
        ess=ess,
        draws=sample,
        of_function=f is not None,
    )


def _requested_names(sample: ChainDraws, names: Sequence[str] | None) -> list[str]:
    known = list(sample.variables)
    if names is None:
        return known
    try:
        names = [names] if isinstance(names, str) else list(names)
    except TypeError:
        raise InputError(
            f"var_names is {shown(names)}; give names of variables, or None for all."
        ) from None
    for name in names:
        if not is_word(name, *known):
            raise InputError(f"var_names has {shown(name)}; draws has {', '.join(known)}.")
    if not names:
        raise InputError("var_names is empty; give at least one, or None for all.")
    return names


def _weights(weights: Any, sample: ChainDraws) -> Array:
    array = as_finite("weights", weights)
    if array.shape not in ((sample.n,), (sample.chains, sample.draws)):
        raise InputError(
            f"weights has shape {array.shape} for {sample.chains} chains of {sample.draws} draws; "
            f"pass ({sample.n},) or ({sample.chains}, {sample.draws})."
        )
    return as_weights(array.reshape(-1), sample.n)


def _mixing(
    sample: ChainDraws, weights: Array | None
) -> tuple[dict[str, float], dict[str, float], list[str]]:
    """R-hat and effective sample size by label, and sentences on what they say.

    Weighted draws are of another distribution, and need be no chains: only their weights are
    looked at.
    """
    if weights is not None:
        size = float(weights.sum() ** 2 / np.sum(weights**2))
        few = size < min(FEW, sample.n / 2)
        note = f"the weights leave an effective sample size of {size:.1f} of {sample.n} draws"
        return {}, {}, [note] * few
    columns, labels = sample.columns()
    chains = columns.reshape(sample.chains, sample.draws, -1)
    stats, _ = convergence(chains, labels)
    rhat, ess = (dict(zip(labels, map(float, stats[key]), strict=True)) for key in ("rhat", "ess"))
    notes = stuck(chains)
    unknown = np.flatnonzero(np.isnan(stats["rhat"]) & (np.ptp(columns, axis=0) > 0))
    if len(unknown):
        notes.append(
            f"chains of {sample.draws} draws are too short to tell whether they mixed: there is "
            f"no R-hat of {labels[unknown[0]]}"
        )
    high = [label for label in labels if rhat[label] > NOT_MIXED]
    if high:
        worst = max(high, key=rhat.__getitem__)
        notes.append(
            f"the chains did not mix: R-hat is {rhat[worst]:.3g} for {worst} (above {NOT_MIXED} "
            f"for {len(high)} of {len(labels)}); run longer or start elsewhere"
        )
    return rhat, ess, notes


def _by_method(
    data: Dataset, method: Method | None, seed: int, progress: Progress
) -> tuple[Expectations, list[str]]:
    """The answers of one method for all outputs, cross-fitted where it does not do so itself."""
    if method is None:
        return improve(data), []
    if not isinstance(method, Method):
        raise InputError(f"method is {method!r}; pass a method such as sq.BSN(), or None.")
    before = plain(data)
    cross_fitted = method if method.holds_out else Stack([method])
    answer = estimate(data, method=cross_fitted, seed=seed, progress=progress)
    mean, std = np.atleast_1d(answer.mean), np.atleast_1d(answer.std)
    name = answer.method.removeprefix("Stack: ")
    names = tuple("constant" if error == 0 else name for error in before.mcse)
    notes = [answer.status.message] * (answer.status.code in ("suspect", "not_finite"))
    dof = np.full(len(mean), answer.dof)
    return before._replace(mean=mean, std=std, dof=dof, method=names), notes


def _with_warnings(row: SummaryRow, rhat: dict[str, float]) -> SummaryRow:
    """With what is doubtful of this row."""
    warnings = list(row.warnings)
    if rhat.get(row.name, 1.0) > RHAT_LIMIT:
        warnings.append(f"R-hat is {rhat[row.name]:.3g}")
    if row.std > 0 and abs(row.mean - row.plain) > 4 * row.mcse:
        warnings.append("far from the plain value")
    return replace(row, warnings=tuple(warnings)) if warnings else row
