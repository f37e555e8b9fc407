"""Markov chains: the Metropolis-adjusted Langevin algorithm, plain and truncated, and NUTS."""

import math
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import jax
import jax.numpy as jnp
import numpy as np

from steinquad._float64 import float64
from steinquad._types import Progress, no_progress
from steinquad.designs._starts import Start, as_start, start_points
from steinquad.designs._target import Unconstrained, as_target
from steinquad.designs.base import Sample, as_count, split_evenly
from steinquad.designs.chains import (
    Chains,
    Forgetful,
    Memory,
    convergence,
    run_blocks,
    scan_chains,
    stuck,
)
from steinquad.errors import InputError
from steinquad.measures.base import Measure
from steinquad.measures.checks import as_draw_request

__all__ = ["MALA", "NUTS", "TruncatedMALA"]

LANGEVIN_ACCEPTANCE = 0.574  # optimal in high dimension (Roberts and Rosenthal, 1998)

WARM_UP = 2**31  # distinguishes a chain's key of the warm-up from those of its transitions

# Compiled programs of a measure, so that a second run of the same design need not compile again.
PROGRAMS: WeakKeyDictionary[Measure, dict[Any, Any]] = WeakKeyDictionary()


@dataclass(frozen=True)
class MALA:
    """Metropolis-adjusted Langevin chains, `x' = x + tau score(x) + sqrt(2 tau) xi`.

    For a `LogDensity` or a numpyro distribution. A bounded support is sampled in unconstrained
    coordinates; points and scores are those of the user's.

    Args:
        chains: how many; n draws are split evenly among them.
        warmup: transitions dropped at the beginning of each chain.
        thin: transitions for each draw kept.
        step_size: tau, half the variance of the noise; None adapts it during warm-up, by dual
            averaging, to an acceptance of 0.574.
        start: points (chains, d); a function `(chains, seed) -> (chains, d)` or a distribution,
            such as the prior, to draw them from; None for the measure's own sampler, or else a
            box of half width 2 in unconstrained coordinates.
        candidates: starts drawn for each chain, which begins at the likeliest of them; a function
            is asked for `chains * candidates` points.

    >>> from steinquad.measures import LogDensity
    >>> normal = LogDensity(lambda x: -x @ x / 2, 2)
    >>> MALA(chains=2, warmup=50).draw(normal, 20, seed=0).x.shape
    (20, 2)
    """

    chains: int = 4
    warmup: int = 1000
    thin: int = 1
    _: KW_ONLY
    step_size: float | None = None
    start: Any = None
    candidates: int = 1

    def __post_init__(self) -> None:
        _check_lengths(self.chains, self.warmup, self.thin)
        as_count("candidates", self.candidates, 1)
        if self.step_size is not None:
            _check_positive("step_size", self.step_size)
        elif self.warmup < 1:
            raise InputError("step_size is missing; give a number, or warmup >= 1 to adapt it.")
        object.__setattr__(self, "start", as_start(self.start))

    @property
    def name(self) -> str:
        """Short name for tables."""
        return type(self).__name__

    @float64
    def draw(
        self,
        measure: Measure,
        n: int,
        *,
        seed: int,
        progress: Progress | None = None,
        memory: Memory | None = None,
    ) -> Sample:
        """Run the chains; see `Design.draw`. The loss reported is minus the log density."""
        memory = memory or Forgetful()
        from blackjax.adaptation.step_size import dual_averaging_adaptation
        from blackjax.mcmc.mala import MALAState

        run = _Run.prepare(self.start, measure, self.chains, n, seed, memory, self.candidates)
        kernel_key, build = self._kernel()
        program = run.program(
            kernel_key, lambda target: scan_chains(_langevin_step(build(), target))
        )
        y, value, slope, _ = run.start
        init, _, _ = dual_averaging_adaptation(LANGEVIN_ACCEPTANCE)
        # Of the order of the variance where the density is near normal; small in a steep tail.
        first = 1 / np.maximum(np.mean(slope**2, axis=1), 1.0)
        tunings = _StepSize(
            # To the host and back: JAX's weak types would make the second block compile again.
            jax.device_get(jax.jit(jax.vmap(init))(first)),
            np.full(self.chains, math.nan if self.step_size is None else float(self.step_size)),
            np.full(self.chains, self.warmup),
        )
        chains = run_blocks(
            program,
            run.key,
            MALAState(y, value, slope),  # pyright: ignore[reportArgumentType]
            tunings,
            skip=-(-self.warmup // self.thin),
            keep=run.each,
            thin=self.thin,
            progress=progress or no_progress,
            memory=memory,
        )
        step = self.step_size
        adapted = np.exp(np.asarray(chains.tuning.adaptation.log_step_size_avg))
        stats = {
            "step_size": adapted if step is None else np.full(self.chains, float(step)),
            "failed_proposals": chains.failures,
        }
        return run.finish(chains, stats, [])

    def _kernel(self) -> tuple[Any, Callable[[], Any]]:
        """What it is called in the cache, and how it is built."""
        from steinquad.designs._langevin import langevin_kernel

        return "MALA", lambda: langevin_kernel(math.inf)


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
            _check_positive("truncation", self.truncation)

    def _kernel(self) -> tuple[Any, Callable[[], Any]]:
        from steinquad.designs._langevin import langevin_kernel

        limit = self.truncation
        return ("TruncatedMALA", limit), lambda: langevin_kernel(limit)


@dataclass(frozen=True)
class NUTS:
    """The no-U-turn sampler, tuned by BlackJAX's window adaptation with a diagonal metric.

    For a `LogDensity` or a numpyro distribution; see `MALA` for supports.

    Args:
        chains: how many; n draws are split evenly among them.
        warmup: transitions dropped at the beginning of each chain, in which it is tuned.
        thin: transitions for each draw kept.
        target_acceptance: what the step size is adapted to.
        start: as of `MALA`.
    """

    chains: int = 4
    warmup: int = 1000
    thin: int = 1
    _: KW_ONLY
    target_acceptance: float = 0.8
    start: Any = None

    def __post_init__(self) -> None:
        _check_lengths(self.chains, self.warmup, self.thin)
        as_count("warmup", self.warmup, 20)  # shorter than the shortest schedule of windows
        target = self.target_acceptance
        if not (isinstance(target, float) and 0 < target < 1):
            raise InputError(f"target_acceptance is {target!r}; give a number between 0 and 1.")
        object.__setattr__(self, "start", as_start(self.start))

    @property
    def name(self) -> str:
        """Short name for tables."""
        return "NUTS"

    @float64
    def draw(
        self,
        measure: Measure,
        n: int,
        *,
        seed: int,
        progress: Progress | None = None,
        memory: Memory | None = None,
    ) -> Sample:
        """Run the chains; see `Design.draw`. The loss reported is minus the log density."""
        memory = memory or Forgetful()
        progress = progress or no_progress
        run = _Run.prepare(self.start, measure, self.chains, n, seed, memory)
        warm_up = run.program(
            ("NUTS warm-up", self.target_acceptance),
            lambda target: _window_adaptation(target, self.target_acceptance),
        )
        program = run.program("NUTS", lambda target: scan_chains(_nuts_step(target)))
        # Counted in draws of all chains' length, as the blocks after it are.
        before = -(-self.warmup // self.thin)
        tuned = []
        for chain, y in enumerate(run.start.y):
            tune = partial(warm_up, run.key, chain, y, transitions=self.warmup)
            tuned.append(jax.device_get(memory.recall(f"warm-up-{chain}", tune)))
            done = before * (chain + 1) // self.chains
            progress(done, before + run.each, -float(tuned[-1][0].logdensity))
        states, tunings = jax.tree.map(lambda *leaves: np.stack(leaves), *tuned)
        chains = run_blocks(
            program,
            run.key,
            states,
            tunings,
            skip=0,
            keep=run.each,
            thin=self.thin,
            progress=progress,
            memory=memory,
            offset=before,
        )
        diverged = chains.failures
        stats = {"step_size": np.asarray(tunings[0]), "divergences": diverged}
        notes = []
        if diverged:
            notes.append(
                f"{diverged} of {n * self.thin} transitions diverged, so part of the measure may "
                "not have been visited: raise target_acceptance or reparametrize"
            )
        return run.finish(chains, stats, notes)


class _StepSize(NamedTuple):
    """The tuning of a Langevin chain."""

    adaptation: Any  # state of the dual averaging
    fixed: Any  # step size that was given, or NaN
    warmup: Any  # transitions during which it is adapted


class _Run(NamedTuple):
    """What the samplers share: the target, starts and keys, and what is made of the draws."""

    measure: Measure
    target: Unconstrained
    each: int  # draws of a chain
    start: Start
    key: Any

    @classmethod
    def prepare(
        cls,
        start: Any,
        measure: Measure,
        chains: int,
        n: int,
        seed: int,
        memory: Memory,
        candidates: int = 1,
    ) -> "_Run":
        n, seed = as_draw_request(n, seed)
        each = split_evenly(n, chains, "chains")
        target = as_target(measure)
        points = start_points(start, measure, target, chains, seed, candidates)
        memory.same(start=points.y, log_density=points.value, score=points.slope)
        return cls(measure, target, each, points, jax.random.key(seed))

    def program(self, key: Any, build: Callable[[Unconstrained], Any]) -> Any:
        """The compiled program of that name, built when it is first asked for."""
        known = PROGRAMS.setdefault(self.measure, {})
        if key not in known:
            known[key] = build(self.target)
        return known[key]

    def finish(self, chains: Chains, stats: dict[str, Any], notes: list[str]) -> Sample:
        """Draws and scores in the user's coordinates, with the diagnostics."""
        number, dim = len(self.start.y), self.measure.dim
        y = chains.position.reshape(-1, dim)
        if self.measure.support.bounded:
            x = np.array(jax.jit(jax.vmap(self.target.to_x))(y))
            score = self.measure.score(x)
        else:
            x, score = np.array(y), np.array(chains.gradient.reshape(-1, dim))
        by_chain = x.reshape(number, self.each, dim)
        mixing, warnings = convergence(by_chain, self.measure.names)
        found: dict[str, Any] = {
            **mixing,
            "acceptance": chains.acceptance.mean(axis=1),
            "redrawn_starts": self.start.redrawn,
        }
        return Sample(
            x,
            score,
            groups=np.repeat(np.arange(number), self.each),
            notes=(*stuck(by_chain), *warnings, *notes),
            stats=found | stats,
        )


def _langevin_step(kernel: Callable[..., Any], target: Unconstrained) -> Callable[..., Any]:
    from blackjax.adaptation.step_size import dual_averaging_adaptation

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
        found = result.parameters
        return result.state, (found["step_size"], found["inverse_mass_matrix"])

    return jax.jit(warm_up, static_argnames="transitions")


def _nuts_step(target: Unconstrained) -> Callable[..., Any]:
    from blackjax.mcmc.nuts import build_kernel

    kernel = build_kernel()

    def step(key: Any, state: Any, tuning: Any, t: Any) -> Any:
        del t
        state, info = kernel(key, state, target.log_density, *tuning)
        return state, tuning, info.acceptance_rate, jnp.asarray(info.is_divergent, int)

    return step


def _check_lengths(chains: Any, warmup: Any, thin: Any) -> None:
    for name, value, least in (("chains", chains, 1), ("warmup", warmup, 0), ("thin", thin, 1)):
        as_count(name, value, least)


def _check_positive(name: str, value: Any) -> None:
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not (number and 0 < value < math.inf):
        raise InputError(f"{name} is {value!r}; give a positive number.")
