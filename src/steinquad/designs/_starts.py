"""Where chains start."""

from typing import Any, NamedTuple

import jax
import numpy as np

from steinquad._types import Array, as_points
from steinquad.designs._target import Unconstrained, compiled
from steinquad.errors import InputError
from steinquad.measures.base import Measure
from steinquad.measures.convert import as_measure

__all__ = ["Start", "as_start", "start_points"]

TRIALS = 100  # draws of a start before we give up on a finite log density
HALF_WIDTH = 2.0  # of the box in unconstrained coordinates, without anything better to go by


def as_start(start: Any) -> Any:
    """An array as nested tuples, so that designs can be compared and hashed; others as given."""
    array = hasattr(start, "__array__")  # a data frame has a method `sample` too
    if start is None or (not array and (callable(start) or _is_distribution(start))):
        return start
    return tuple(tuple(float(v) for v in row) for row in as_points("start", start))


class Start(NamedTuple):
    """Unconstrained points (chains, d), the log density (chains,) and its gradient there."""

    y: Array
    value: Array
    slope: Array
    redrawn: int  # points that were not finite and drawn again


def start_points(
    start: Any,
    measure: Measure,
    target: Unconstrained,
    chains: int,
    seed: int,
    candidates: int = 1,
) -> Start:
    """Where the chains begin: points of finite log density and gradient.

    Args:
        start: points, a function or a distribution to draw from, or None; see `MarkovChains`.
        measure: what is sampled.
        target: the same on all of R^d.
        chains: how many starts.
        seed: of what is drawn; points that are not finite are drawn again, 100 times at most.
        candidates: draws for each chain, of which it takes the likeliest.
    """
    if candidates > 1 and isinstance(start, tuple):
        raise InputError(
            f"candidates is {candidates}, but start is an array; pass a distribution to draw from."
        )
    dim, to_y = measure.dim, np.asarray
    if measure.support.bounded:
        to_y = compiled(measure, "to y", lambda: jax.jit(jax.vmap(target.to_y)))
    slope_of = jax.value_and_grad(target.log_density)
    check = compiled(measure, "starts", lambda: jax.jit(lambda y: jax.lax.map(slope_of, y)))
    seeds = np.random.SeedSequence(seed).generate_state(TRIALS).tolist()
    redrawn, missing = 0, np.ones(chains, dtype=bool)
    y, slopes, values = np.empty((chains, dim)), np.empty((chains, dim)), np.empty(chains)
    for trial in seeds:
        x = _draw(start, measure, chains * candidates, trial)
        if x is None:
            shape = (chains * candidates, dim)
            new = np.random.default_rng(trial).uniform(-HALF_WIDTH, HALF_WIDTH, shape)
        else:
            new = np.asarray(to_y(x))
        value, slope = (np.asarray(a) for a in check(new))
        good = np.isfinite(value) & np.isfinite(slope).all(axis=1)
        if isinstance(start, tuple) and not good.all():
            raise InputError(
                f"start has a log density or score that is not finite in row "
                f"{int(np.argmin(good))}; start inside the support, where the density is positive."
            )
        best = np.where(good, value, -np.inf).reshape(chains, candidates).argmax(axis=1)
        chosen = np.arange(chains) * candidates + best
        take = missing & good[chosen]  # a start that was found before is kept
        for of_chains, drawn in ((y, new), (values, value), (slopes, slope)):
            of_chains[take] = drawn[chosen[take]]
        missing &= ~take
        redrawn += int(missing.sum())
        if not missing.any():
            return Start(y, values, slopes, redrawn)
    raise InputError(
        f"start gave no point of finite log density and score in {TRIALS} draws; "
        f"pass start= an array of shape ({chains}, {dim})."
    )


def _draw(start: Any, measure: Measure, chains: int, seed: int) -> Array | None:
    """Points in the user's coordinates, or None for the unconstrained box."""
    if isinstance(start, tuple):
        x = np.array(start)
    elif _is_distribution(start):
        x = as_measure(start).sample(chains, seed=seed)
    elif start is not None:
        x = as_points("start", start(chains, seed))
    elif "sample" in measure.provides:
        x = measure.sample(chains, seed=seed)
    else:
        return None
    if x.shape != (chains, measure.dim):
        raise InputError(
            f"start has shape {x.shape}; give one point for each chain, ({chains}, {measure.dim})."
        )
    inside = measure.support.contains(x)
    if not inside.all():
        raise InputError(
            f"start row {int(np.argmin(inside))} lies outside the support {measure.support}; "
            "start inside."
        )
    return x


def _is_distribution(start: Any) -> bool:
    return hasattr(start, "sample") or hasattr(start, "rvs")
