"""What Markov chains share: their lengths, their starts, and what is made of their draws."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np

from steinquad._float64 import float64
from steinquad._types import Progress, as_count, no_progress
from steinquad.designs._starts import Start, as_start, start_points
from steinquad.designs._target import Unconstrained, as_target, compiled
from steinquad.designs.base import Design, Sample, split_evenly
from steinquad.designs.chains import Chains, Memory, convergence, stuck
from steinquad.measures.base import Measure
from steinquad.measures.checks import as_draw_request

__all__ = ["ChainOutcome", "MarkovChains", "Setting"]

BLOCKS = 20  # progress is reported so often


class Setting(NamedTuple):
    """All that a sampler needs to run its chains.

    Attributes:
        measure: what is sampled.
        target: the same on all of R^d.
        each: draws to keep of each chain.
        start: where they begin.
        key: of everything random.
        progress: to be called with (draws, all draws, minus the log density).
        memory: what keeps finished stages of the run.
    """

    measure: Measure
    target: Unconstrained
    each: int
    start: Start
    key: Any
    progress: Progress
    memory: Memory

    def program(self, name: Any, build: Callable[[Unconstrained], Any]) -> Any:
        """The compiled program of that name for this measure, built when first asked for."""
        return compiled(self.measure, name, lambda: build(self.target))

    def run(
        self, program: Any, states: Any, tunings: Any, *, thin: int, skip: int = 0, before: int = 0
    ) -> Chains:
        """Run chains in blocks of one length, so that one compiled program does them all.

        Args:
            program: what `scan_chains` made.
            states: where the chains are, a row each.
            tunings: of their steps, a row each.
            thin: transitions for a draw.
            skip: draws dropped before those that are kept.
            before: draws made already, by a warm-up of another kind: progress counts them.
        """
        total = skip + self.each
        block = -(-total // BLOCKS)
        parts, failures = [], 0
        for first in range(0, total, block):
            compute = partial(program, self.key, states, tunings, first, draws=block, thin=thin)
            (states, tunings), (*answer, failed) = self.memory.recall(f"draws-{first}", compute)
            # The last block may be longer than what is left to do.
            done = slice(max(skip - first, 0), min(block, total - first))
            parts.append([np.asarray(a)[:, done] for a in answer])
            failures += int(np.asarray(failed)[:, : total - first].sum())
            loss = -float(np.mean(np.asarray(states.logdensity)))
            self.progress(before + min(first + block, total), before + total, loss)
        position, gradient, acceptance = (
            np.concatenate(column, axis=1) for column in zip(*parts, strict=True)
        )
        return Chains(position, gradient, acceptance, failures, tunings)


class ChainOutcome(NamedTuple):
    """What a sampler hands back: the chains, what it has to report, and trouble as sentences."""

    chains: Chains
    stats: dict[str, Any]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class MarkovChains(Design):
    """Several Markov chains of one length, for a `LogDensity` or a numpyro distribution.

    A bounded support is sampled in unconstrained coordinates; points and scores are those of the
    user's. A new sampler is a subclass with `sample`.

    Args:
        chains: how many; n draws are split evenly among them.
        warmup: transitions dropped at the beginning of each chain.
        thin: transitions for each draw kept.
        start: points (chains, d); a function `(chains, seed) -> (chains, d)` or a distribution,
            such as the prior, to draw them from; None for the measure's own sampler, or else a
            box of half width 2 in unconstrained coordinates.
    """

    chains: int = 4
    warmup: int = 1000
    thin: int = 1
    _: KW_ONLY
    start: Any = None

    def __post_init__(self) -> None:
        for name, least in (("chains", 1), ("warmup", 0), ("thin", 1)):
            as_count(name, getattr(self, name), least)
        object.__setattr__(self, "start", as_start(self.start))

    @property
    def block(self) -> int:
        """One point for each chain: all are of one length."""
        return self.chains

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
        """Run the chains; see `Design.draw`. The loss reported is minus the log density.

        `memory` keeps finished stages of the run, so that a stopped one goes on; `Resumable`
        passes one that writes files.
        """
        n, seed = as_draw_request(n, seed)
        each = split_evenly(n, self.chains, "chains")
        target = as_target(measure)
        start = self._starts(measure, target, seed)
        memory = memory or Memory()
        memory.same(start=start.y, log_density=start.value, score=start.slope)
        key = jax.random.key(seed)
        setting = Setting(measure, target, each, start, key, progress or no_progress, memory)
        return _sample(setting, self.sample(setting))

    @abstractmethod
    def sample(self, setting: Setting) -> ChainOutcome:
        """Run all chains from their starts, in unconstrained coordinates.

        Args:
            setting: the target, starts, lengths and random key.

        Returns:
            The draws to keep, `setting.each` of every chain, with what the sampler reports.
        """

    def _starts(self, measure: Measure, target: Unconstrained, seed: int) -> Start:
        return start_points(self.start, measure, target, self.chains, seed)


def _sample(setting: Setting, outcome: ChainOutcome) -> Sample:
    """Draws and scores in the user's coordinates, with the diagnostics."""
    chains, measure = outcome.chains, setting.measure
    number, dim = len(setting.start.y), measure.dim
    y = chains.position.reshape(-1, dim)
    if measure.support.bounded:
        # The chain's gradient is that of y, with the Jacobian: not the user's score.
        to_x = setting.program("to x", lambda target: jax.jit(jax.vmap(target.to_x)))
        x = np.array(to_x(y))
        score = measure.score(x)
    else:
        x, score = np.array(y), np.array(chains.gradient.reshape(-1, dim))
    by_chain = x.reshape(number, setting.each, dim)
    mixing, warnings = convergence(by_chain, measure.names)
    return Sample(
        x,
        score,
        groups=np.repeat(np.arange(number), setting.each),
        notes=(*stuck(by_chain), *warnings, *outcome.notes),
        stats={
            **mixing,
            "acceptance": chains.acceptance.mean(axis=1),
            "redrawn_starts": setting.start.redrawn,
            **outcome.stats,
        },
    )
