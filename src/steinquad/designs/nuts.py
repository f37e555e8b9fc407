"""The no-U-turn sampler."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from steinquad._types import as_count
from steinquad.designs._target import Unconstrained
from steinquad.designs.chains import scan_chains
from steinquad.designs.mcmc import ChainOutcome, MarkovChains, Setting
from steinquad.errors import InputError, shown

__all__ = ["NUTS"]

WARM_UP = 2**31  # distinguishes a chain's key of the warm-up from those of its transitions


@dataclass(frozen=True, kw_only=True)
class NUTS(MarkovChains):
    """The no-U-turn sampler, tuned by BlackJAX's window adaptation with a diagonal metric.

    For a `LogDensity` or a numpyro distribution; the sampler to begin with. The warm-up, of at
    least 20 transitions, is when it is tuned. Arguments as of `MarkovChains`, and:

    Args:
        target_acceptance: what the step size is adapted to; more of it, such as 0.95, makes
            smaller steps and fewer divergences.

    >>> NUTS(chains=2, warmup=50).first_round(10_000)
    200
    """

    target_acceptance: float = 0.8

    def __post_init__(self) -> None:
        super().__post_init__()
        as_count("warmup", self.warmup, 20)  # shorter than the shortest schedule of windows
        target = self.target_acceptance
        if not (isinstance(target, float) and 0 < target < 1):
            raise InputError(
                f"target_acceptance is {shown(target)}; give a number between 0 and 1."
            )

    def sample(self, setting: Setting) -> ChainOutcome:
        """Tune and run chain after chain, each warm-up and each block a stage of its own.

        See `MarkovChains.sample`; reports step sizes and the number of divergences.
        """
        warm_up = setting.program(
            ("NUTS warm-up", self.target_acceptance),
            lambda target: _window_adaptation(target, self.target_acceptance),
        )
        program = setting.program("NUTS", lambda target: scan_chains(_nuts_step(target)))
        # Counted in draws of all chains' length, as the blocks after it are.
        before = -(-self.warmup // self.thin)
        tuned = []
        for chain, y in enumerate(setting.start.y):
            tune = partial(warm_up, setting.key, chain, y, transitions=self.warmup)
            tuned.append(jax.device_get(setting.memory.recall(f"warm-up-{chain}", tune)))
            done = before * (chain + 1) // self.chains
            setting.progress(done, before + setting.each, -float(tuned[-1][0].logdensity))
        states, tunings = jax.tree.map(lambda *leaves: np.stack(leaves), *tuned)
        chains = setting.run(program, states, tunings, thin=self.thin, before=before)
        stats = {"step_size": np.asarray(tunings[0]), "divergences": chains.failures}
        transitions = self.chains * setting.each * self.thin
        trouble = (
            f"{chains.failures} of {transitions} transitions diverged, so part of the measure may "
            "not have been visited: raise target_acceptance or reparametrize"
        )
        return ChainOutcome(chains, stats, (trouble,) * (chains.failures > 0))


def _window_adaptation(target: Unconstrained, acceptance: float) -> Callable[..., Any]:
    """`(key, chain, y, transitions) -> state, (step size, inverse mass matrix)` of one chain."""
    import blackjax
    from blackjax.adaptation.base import get_filter_adapt_info_fn

    adaptation = blackjax.window_adaptation(
        blackjax.nuts,
        target.log_density,
        target_acceptance_rate=acceptance,
        adaptation_info_fn=get_filter_adapt_info_fn(),
    )

    def warm_up(key: Any, chain: Any, y: Any, transitions: int) -> Any:
        own = jax.random.fold_in(jax.random.fold_in(key, chain), WARM_UP)
        result, _ = adaptation.run(own, y, num_steps=transitions)  # pyright: ignore
        tuned = result.parameters
        return result.state, (tuned["step_size"], tuned["inverse_mass_matrix"])

    return jax.jit(warm_up, static_argnames="transitions")


def _nuts_step(target: Unconstrained) -> Callable[..., Any]:
    from blackjax.mcmc.nuts import build_kernel

    kernel = build_kernel()

    def step(key: Any, state: Any, tuning: Any, t: Any) -> Any:
        state, info = kernel(key, state, target.log_density, *tuning)
        return state, tuning, info.acceptance_rate, jnp.asarray(info.is_divergent, int)

    return step
