"""The posterior mean of the Goodwin oscillator in two ways that share nothing but its density.

And whether such computations of one truth contradict each other.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
from scipy.special import ndtri
from scipy.stats import qmc

import steinquad as sq
from steinquad._types import Array, Progress, no_progress
from steinquad.designs import laplace
from steinquad.errors import InputError
from steinquad.problems import Problem, goodwin_nuts
from steinquad.problems.goodwin import GENERATING

__all__ = ["Reference", "by_importance", "by_nuts", "check_sizes", "contradictions"]

CHAINS = 4
REPLICATES = 16  # scrambles of the Sobol points; their spread is the standard error
STANDARD_ERRORS = 5.0  # two computations may lie so far apart


@dataclass(frozen=True, eq=False)
class Reference:
    """The truth by one way of computing it.

    Attributes:
        name: of the way, for messages.
        mean: of each output, (k,).
        std: standard errors, (k,); zero for a stored truth.
    """

    name: str
    mean: Array
    std: Array


def check_sizes(draws: int, points: int) -> None:
    """Raise `InputError` for numbers that `by_nuts` or `by_importance` cannot use.

    Call it before either, since both take long before they would fail.

    Args:
        draws: of NUTS, a multiple of the number of chains.
        points: of importance sampling, 16 times a power of two, at least 32.
    """
    each = points // REPLICATES
    if each < 2 or points % REPLICATES or each & (each - 1):
        raise InputError(
            f"points is {points}; give {REPLICATES} times a power of two, such as 16384."
        )
    if draws < CHAINS or draws % CHAINS:
        raise InputError(f"draws is {draws}; give a multiple of {CHAINS}, such as 8000.")


def by_nuts(
    problem: Problem[Array],
    draws: int,
    *,
    order: int = 4,
    seed: int = 0,
    path: Path | None = None,
    progress: Progress = no_progress,
) -> Reference:
    """The posterior mean by whitened NUTS draws and polynomial Stein control variates.

    Args:
        problem: what `goodwin` gave.
        draws: how many, a multiple of 4, the number of chains.
        order: of the polynomials.
        seed: of the chains.
        path: directory to keep the chains in, so that a stopped run goes on.
        progress: called with (draws, all draws, minus the log density).
    """
    design = goodwin_nuts(problem, chains=CHAINS, path=path)
    sample = design.draw(problem.measure, draws, seed=seed, progress=progress)
    data = sq.Dataset(sample.x, problem.integrand(sample.x), sample.score, groups=sample.groups)
    answer = sq.estimate(data, method=sq.Polynomial(order=order, features="score"))
    return Reference(f"NUTS, order {order}", np.asarray(answer.mean), np.asarray(answer.std))


def by_importance(
    problem: Problem[Array],
    points: int,
    *,
    seed: int = 0,
    progress: Progress = no_progress,
) -> Reference:
    """The posterior mean by Sobol points of the Laplace approximation, weighted to the posterior.

    Args:
        problem: what `goodwin` gave.
        points: how many, 16 times a power of two; the spread of 16 scrambles is the error.
        seed: of the scrambles.
        progress: called with (replicates done, replicates, share of the weights that is lost).
    """
    affine = laplace(problem.measure, np.log(GENERATING))
    dim, each = problem.measure.dim, points // REPLICATES
    means, rng = [], np.random.default_rng(seed)
    for replicate in range(REPLICATES):
        z = ndtri(qmc.Sobol(dim, rng=rng).random(each))
        w = affine.shift + z @ affine.matrix.T
        # Constants of both densities are left out: they cancel in the weighted mean.
        log_ratio = problem.measure.log_density(w) + np.sum(z**2, axis=1) / 2
        weights = np.exp(log_ratio - log_ratio.max())
        means.append(weights @ problem.integrand(w) / weights.sum())
        size = weights.sum() ** 2 / np.sum(weights**2)
        progress(replicate + 1, REPLICATES, float(1 - size / each))
    std = np.std(means, axis=0, ddof=1) / np.sqrt(REPLICATES)
    return Reference("Sobol, weighted", np.mean(means, axis=0), std)


def contradictions(
    references: Sequence[Reference], names: Sequence[str], *, rtol: float
) -> Iterator[str]:
    """A sentence for each pair and output that differ by more than their errors explain.

    Args:
        references: the computations, the stored truth (with a std of zero) among them.
        names: of the outputs.
        rtol: share of the value up to which any two agree, for digits that are not stored and
            for the tolerance of a solver.
    """
    for one, other in combinations(references, 2):
        limit = STANDARD_ERRORS * np.hypot(one.std, other.std) + rtol * np.abs(one.mean)
        gap = np.abs(one.mean - other.mean)
        for i in np.flatnonzero(~(gap <= limit)).tolist():  # NaN is no agreement
            yield (
                f"E[{names[i]}] is {one.mean[i]:.10g} by {one.name} but {other.mean[i]:.10g} by "
                f"{other.name}, {gap[i]:.1e} apart where {limit[i]:.1e} is allowed"
            )
