"""One transition of a Metropolis-adjusted Langevin chain, its drift truncated or not, in JAX."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from blackjax.mcmc.mala import MALAState
from blackjax.mcmc.proposal import compute_asymmetric_acceptance_ratio, static_binomial_sampling

__all__ = ["LangevinInfo", "langevin_kernel"]


class LangevinInfo(NamedTuple):
    """What became of a proposal."""

    acceptance_rate: Any
    failed: Any  # 1 where its log density or score is not finite: it was rejected


def langevin_kernel(limit: float | None) -> Callable[..., Any]:
    """A kernel with the signature of BlackJAX's MALA and a drift of bounded length.

    Proposes `x + tau g + sqrt(2 tau) xi` with `g = score * D / max(D, |score|)`, and accepts by
    the Metropolis-Hastings ratio of just these proposals, so the measure stays invariant.

    Args:
        limit: D, the largest length of g; None for `sqrt(2 d / tau)`, with which the drift is
            never longer than the root mean square of the noise; infinity for plain MALA.
    """

    def drift(state: MALAState, step_size: Any) -> Any:
        score: Any = state.logdensity_grad
        if limit == math.inf:  # D / max(D, ...) would be inf / inf
            return step_size * score
        largest = jnp.sqrt(2 * len(score) / step_size) if limit is None else limit
        return step_size * score * (largest / jnp.maximum(largest, jnp.linalg.norm(score)))

    def energy(state: MALAState, new_state: MALAState, step_size: Any) -> Any:
        """Of the new state and of the way back from it."""
        old: Any = state.position
        back = old - new_state.position - drift(new_state, step_size)
        return -new_state.logdensity + back @ back / (4 * step_size)

    log_ratio = compute_asymmetric_acceptance_ratio(energy)

    def kernel(
        key: Any, state: MALAState, log_density: Callable[[Any], Any], step_size: Any
    ) -> tuple[MALAState, LangevinInfo]:
        to_move, to_accept = jax.random.split(key)
        position: Any = state.position
        noise = jax.random.normal(to_move, position.shape, position.dtype)
        proposal = position + drift(state, step_size) + jnp.sqrt(2 * step_size) * noise
        new_state = MALAState(proposal, *jax.value_and_grad(log_density)(proposal))
        log_p = log_ratio(state, new_state, step_size=step_size)
        chosen, info = static_binomial_sampling(to_accept, log_p, state, new_state)
        new_score: Any = new_state.logdensity_grad
        fine = jnp.isfinite(new_state.logdensity) & jnp.isfinite(new_score).all()
        probability: Any = info[1]
        return chosen, LangevinInfo(probability, jnp.asarray(~fine, int))

    return kernel
