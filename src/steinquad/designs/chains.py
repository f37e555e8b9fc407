"""All chains in one compiled program, and what can be said of them afterwards."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from steinquad._types import Array

__all__ = ["RHAT_LIMIT", "Chains", "Memory", "convergence", "scan_chains", "stuck"]

RHAT_LIMIT = 1.01


class Chains(NamedTuple):
    """What was kept of all chains, arrays of shape (chains, draws, ...).

    Attributes:
        position: unconstrained points.
        gradient: of the log density there.
        acceptance: mean over the transitions since the last kept draw.
        failures: among all transitions, dropped ones included; what one is, the step says.
        tuning: as the last block left it.
    """

    position: Array
    gradient: Array
    acceptance: Array
    failures: int
    tuning: Any


class Memory:
    """Where a run keeps what it has done; this one forgets, for a run that nobody will continue.

    A run asks first whether it is the `same` that was begun, then for stage after stage.
    """

    def same(self, **arrays: Array) -> None:
        """Keep the arrays that tell this run from others: starts, log density and score there.

        A memory of files raises `InputError` if those of another run were kept.
        """

    def recall(self, stage: str, compute: Callable[[], Any]) -> Any:
        """`compute()`, a pytree of arrays, or what it gave the last time for this `stage`."""
        return compute()


def scan_chains(step: Callable[..., Any]) -> Callable[..., Any]:
    """A compiled program that runs all chains for a number of kept draws.

    Chains run one after the other: a batch of adaptive solvers or of trees takes as long as its
    slowest member at every step, and costs several times more on a CPU.

    Args:
        step: `(key, state, tuning, t) -> state, tuning, acceptance, failed` for transition t.
    """

    @partial(jax.jit, static_argnames=("draws", "thin"))
    def program(key: Any, states: Any, tunings: Any, first: Any, *, draws: int, thin: int) -> Any:
        def chain(start: tuple[Any, Any, Any]) -> Any:
            number, state, tuning = start
            own = jax.random.fold_in(key, number)

            def transition(i: Any, carry: Any, draw: Any) -> Any:
                state, tuning, acceptance, failures = carry
                t = draw * thin + i
                state, tuning, p, bad = step(jax.random.fold_in(own, t), state, tuning, t)
                return state, tuning, acceptance + p / thin, failures + bad

            def kept(carry: Any, draw: Any) -> Any:
                start = (*carry, jnp.zeros(()), jnp.zeros((), int))
                end = jax.lax.fori_loop(0, thin, partial(transition, draw=draw), start)
                state, tuning, acceptance, failures = end
                answer = (state.position, state.logdensity_grad, acceptance, failures)
                return (state, tuning), answer

            return jax.lax.scan(kept, (state, tuning), first + jnp.arange(draws))

        numbers = jnp.arange(len(states.position))
        return jax.lax.map(chain, (numbers, states, tunings))

    return program


def convergence(x: Array, names: Sequence[str]) -> tuple[dict[str, Array], list[str]]:
    """Rank-normalized R-hat and bulk effective sample size of chains (chains, draws, d).

    One chain is compared with itself, half against half. Both are NaN for less than eight draws.

    Returns:
        `rhat` and `ess` of every coordinate, (d,) each; and a sentence, with the name of the
        worst coordinate, if some R-hat is above `RHAT_LIMIT`.
    """
    from arviz_stats.base.array import array_stats

    chains, draws, dim = x.shape
    if chains == 1:
        x = x[:, draws % 2 :].reshape(2, draws // 2, dim)
    rhat, size = np.full(dim, np.nan), np.full(dim, np.nan)
    if draws >= 8:
        for i in np.flatnonzero(np.ptp(x, axis=(0, 1)) > 0):
            # ArviZ takes a range below 1e-15 for a constant: pass it values of unit scale.
            unit = (x[:, :, i] - x[:, :, i].mean()) / (x[:, :, i].std() or 1.0)
            with np.errstate(all="ignore"):
                rhat[i] = array_stats.rhat(unit, chain_axis=0, draw_axis=1, method="rank")
                size[i] = array_stats.ess(unit, chain_axis=0, draw_axis=1, method="bulk")
    notes = []
    high = np.flatnonzero(rhat > RHAT_LIMIT)
    if len(high):
        worst = int(np.nanargmax(rhat))
        also = f" (above {RHAT_LIMIT} in {len(high)} of {dim})" if len(high) > 1 else ""
        notes.append(
            f"R-hat is {rhat[worst]:.3g} in coordinate {names[worst]}{also}, so the chains "
            "have not mixed: run longer or start elsewhere"
        )
    return {"rhat": rhat, "ess": size}, notes


def stuck(x: Array) -> list[str]:
    """A sentence that names the chains (chains, draws, d) whose draws are all one point.

    An empty list if all of them moved, or have one draw only.
    """
    if x.shape[1] < 2:
        return []
    still = np.flatnonzero(np.all(x == x[:, :1], axis=(1, 2)))
    if not len(still):
        return []
    which = ", ".join(map(str, still[:5])) + ", ..." * (len(still) > 5)
    return [
        f"chain{'s' * (len(still) > 1)} {which} did not move ({x.shape[1]} identical draws): "
        "take a smaller step size, a longer warm-up, another start, or TruncatedMALA"
    ]
