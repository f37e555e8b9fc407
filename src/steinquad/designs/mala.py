"""The Metropolis-adjusted Langevin algorithm, plain and with a truncated drift."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from steinquad._types import as_count, as_positive
from steinquad.designs._starts import Start, start_points
from steinquad.designs._target import Unconstrained
from steinquad.designs.chains import scan_chains
from steinquad.designs.mcmc import ChainOutcome, MarkovChains, Setting
from steinquad.errors import InputError
from steinquad.measures.base import Measure

__all__ = ["MALA", "TruncatedMALA"]

LANGEVIN_ACCEPTANCE = 0.574  # optimal in high dimension (Roberts and Rosenthal, 1998)


@dataclass(frozen=True, kw_only=True)
class MALA(MarkovChains):
    """Metropolis-adjusted Langevin chains, `x' = x + tau score(x) + sqrt(2 tau) xi`.

    For a `LogDensity` or a numpyro distribution. One gradient a transition makes it the choice
    where gradients are expensive; `NUTS` mixes better for each draw. Arguments as of
    `MarkovChains`, and:

    Args:
        step_size: tau, half the variance of the noise; None adapts it during warm-up, by dual
            averaging, to an acceptance of 0.574.
        candidates: starts drawn for each chain, which begins at the likeliest of them; a function
            is asked for `chains * candidates` points.

    >>> from steinquad.measures import LogDensity
    >>> normal = LogDensity(lambda x: -x @ x / 2, 2)
    >>> MALA(chains=2, warmup=50).draw(normal, 20, seed=0).x.shape
    (20, 2)
    """

    step_size: float | None = None
    candidates: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        as_count("candidates", self.candidates, 1)
        if self.step_size is not None:
            as_positive("step_size", self.step_size)
        elif self.warmup < 1:
            raise InputError("step_size is missing; give a number, or warmup >= 1 to adapt it.")

    def sample(self, setting: Setting) -> ChainOutcome:
        """Run the chains, the step size adapted during their warm-up unless it is given.

        See `MarkovChains.sample`; reports step sizes and the number of failed proposals.
        """
        from blackjax.adaptation.step_size import dual_averaging_adaptation
        from blackjax.mcmc.mala import MALAState

        limit = self._limit
        program = setting.program(
            ("Langevin", limit), lambda target: scan_chains(_langevin_step(limit, target))
        )
        y, value, slope, _ = setting.start
        init, _, _ = dual_averaging_adaptation(LANGEVIN_ACCEPTANCE)
        adapt = setting.program("dual averaging", lambda _: jax.jit(jax.vmap(init)))
        # Of the order of the variance where the density is near normal; small in a steep tail.
        first = 1 / np.maximum(np.mean(slope**2, axis=1), 1.0)
        fixed = np.full(self.chains, np.nan if self.step_size is None else float(self.step_size))
        # Through NumPy: JAX's weak types would make the second block compile again.
        adaptation = jax.device_get(adapt(first))
        tunings = _StepSize(adaptation, fixed, np.full(self.chains, self.warmup))
        states: Any = MALAState(y, value, slope)  # pyright: ignore[reportArgumentType]
        skip = -(-self.warmup // self.thin)
        chains = setting.run(program, states, tunings, thin=self.thin, skip=skip)
        adapted = np.exp(np.asarray(chains.tuning.adaptation.log_step_size_avg))
        step_size = adapted if self.step_size is None else fixed
        return ChainOutcome(chains, {"step_size": step_size, "failed_proposals": chains.failures})

    @property
    def _limit(self) -> float | None:
        """The largest length of the score in the drift, as `langevin_kernel` takes it."""
        return math.inf

    def _starts(self, measure: Measure, target: Unconstrained, seed: int) -> Start:
        return start_points(self.start, measure, target, self.chains, seed, self.candidates)


@dataclass(frozen=True)
class TruncatedMALA(MALA):
    """MALA with a drift of bounded length, which finds its way back from a steep tail.

    The score is replaced by `score * D / max(D, |score|)` in the proposal, and the Metropolis
    correction knows it: the measure stays exactly invariant. Plain MALA freezes where the score
    is so large that every proposal overshoots.

    Args:
        truncation: D, in the units of the score in unconstrained coordinates; None for
            `sqrt(2 d / step_size)`, a drift never longer than the typical noise.

    All other arguments are those of `MALA`.
    """

    truncation: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.truncation is not None:
            as_positive("truncation", self.truncation)

    @property
    def _limit(self) -> float | None:
        return self.truncation


class _StepSize(NamedTuple):
    """The tuning of a Langevin chain."""

    adaptation: Any  # state of the dual averaging
    fixed: Any  # step size that was given, or NaN
    warmup: Any  # transitions during which it is adapted


def _langevin_step(limit: float | None, target: Unconstrained) -> Callable[..., Any]:
    from blackjax.adaptation.step_size import dual_averaging_adaptation

    from steinquad.designs._langevin import langevin_kernel

    kernel = langevin_kernel(limit)
    _, update, _ = dual_averaging_adaptation(LANGEVIN_ACCEPTANCE)

    def step(key: Any, state: Any, tuning: _StepSize, t: Any) -> Any:
        adapting = t < tuning.warmup
        now, average = tuning.adaptation.log_step_size, tuning.adaptation.log_step_size_avg
        adapted = jnp.exp(jnp.where(adapting, now, average))
        step_size = jnp.where(jnp.isnan(tuning.fixed), adapted, tuning.fixed)
        state, info = kernel(key, state, target.log_density, step_size)
        new = update(tuning.adaptation, info.acceptance_rate)
        kept = jax.tree.map(
            lambda a, b: jnp.where(adapting, a, b).astype(b.dtype), new, tuning.adaptation
        )
        return state, tuning._replace(adaptation=kept), info.acceptance_rate, info.failed

    return step
