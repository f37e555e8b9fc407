"""Add points until the checked standard deviation is small enough."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from steinquad._types import Array, Progress
from steinquad.dataset import Dataset
from steinquad.designs import Design, Sample
from steinquad.errors import InputError
from steinquad.estimate import Estimate
from steinquad.fit import Status, WarmStart
from steinquad.measures import Measure

__all__ = ["Rounds", "until"]

TOLD_APART = 2.0  # standard deviations of a mean that is not zero
LEAST_GROWTH, LARGEST_GROWTH = 1.5, 4.0  # of the number of points from one round to the next


@dataclass(frozen=True, eq=False)
class Rounds:
    """Where the points of every round come from.

    A nested design returns its earlier points when it is asked for more; any other adds an
    independent sample in each round.

    Attributes:
        design: that places them.
        measure: what they are drawn from.
        evaluate: f.
        n: number of points of the first round.
        max_n: most points of all rounds.
        seed: of the points.
    """

    design: Design
    measure: Measure
    evaluate: Callable[[Array], Array]
    n: int
    max_n: int
    seed: int

    def drawn(self, earlier: list[Sample], n: int, progress: Progress) -> list[Sample]:
        """Samples of n points in all, after those of earlier rounds.

        Args:
            earlier: samples of all rounds so far; a nested design contains them already.
            n: number of points of all samples together.
            progress: of a design that takes steps, such as a Markov chain.
        """
        if self.design.nested or not earlier:  # the same points and more
            return [self.design.draw(self.measure, n, seed=self.seed, progress=progress)]
        done = sum(len(sample.x) for sample in earlier)
        # A stream for each round: the first seed again would repeat the first points.
        own = int(np.random.SeedSequence([self.seed, len(earlier)]).generate_state(1)[0])
        return [*earlier, self.design.draw(self.measure, n - done, seed=own, progress=progress)]

    def next_size(self, n: int, excess: float) -> int:
        """Points of all rounds after one more, if the std is `excess` times too large; n for none.

        The std is presumed to fall as 1/n, between a plain average and a smooth fit. A nested
        sequence goes on to twice or four times as many points, where it is even, or to `max_n` if
        that is half as many again; replicates, which are averaged as they are, stay even.

        Args:
            n: points of all rounds so far.
            excess: the std over what the tolerance asks for, above 1.
        """
        growth = np.clip(excess, LEAST_GROWTH, LARGEST_GROWTH)
        if self.design.nested:  # sequences are even at powers of two
            growth = 2.0 if growth <= 2 else 4.0
            growth = growth if growth * n <= self.max_n else 2.0
        block = self.design.block  # chains are of one length
        size = n + block * int(np.ceil((growth - 1) * n / block))
        most = n + block * ((self.max_n - n) // block)
        if not self.design.nested or (block == 1 and size > most >= LEAST_GROWTH * n):
            size = min(size, most)
        return size if n < size <= self.max_n else n

    def remedy(self, n: int) -> str:
        """What to do where no round follows.

        Args:
            n: points of all rounds.
        """
        if self.design.nested and n + self.design.block <= self.max_n:
            return f"the next round takes {2 * n} points, allow them with max_n={2 * n}"
        return "allow more with max_n="


def until(
    rtol: float,
    rounds: Rounds,
    fit: Callable[[Dataset, WarmStart | None], Estimate],
    progress: Progress,
) -> tuple[Estimate, Sample]:
    """The estimate at the first number of points with `std <= rtol |mean|`, or at `max_n`.

    Every round keeps all earlier points, evaluates f at new ones only, and starts the fit where
    the last one ended.

    Args:
        rtol: tolerance, relative to the mean of each output; all of them have to meet it.
        rounds: where points come from, and how many at most.
        fit: estimate from data and a warm start; its std should be a checked one, because
            stopping when it is small favors estimates whose std is too small.
        progress: passed on to the design.

    Returns:
        The estimate of the last round and all points that it was made of.
    """
    known = _Known(rounds.evaluate)
    samples: list[Sample] = []
    start: WarmStart | None = None
    size = rounds.n
    while True:
        samples = rounds.drawn(samples, size, progress)
        sample = Sample.joined(samples)
        data = sample.dataset(known(sample.x))
        estimate = fit(data, start)
        start = estimate.fit.warm_start
        mean, std = np.abs(np.atleast_1d(estimate.mean)), np.atleast_1d(estimate.std)
        ratios = _excess(rtol * mean, std)
        worst, excess = int(np.argmax(ratios)), float(np.max(ratios))
        if excess <= 1 or not (np.isfinite(mean).all() and np.isfinite(std).all()):
            return estimate, sample
        size = rounds.next_size(data.n, excess)
        if size == data.n and estimate.status.doubtful:
            return estimate, sample
        if size == data.n:
            message = f"{_short_of(rtol, worst, excess, estimate)}; {rounds.remedy(data.n)}"
            return estimate.with_status(
                Status("max_n", f"{message}, or accept the std; {estimate.status.message}")
            ), sample


def _excess(target: Array, std: Array) -> Array:
    """How many times each std (k,) is what is asked for; infinite where that is zero.

    Of a mean of zero no share is small enough: the rounds go on to `max_n`.
    """
    ratio = np.where(std > 0, np.inf, 0.0)
    with np.errstate(over="ignore"):
        return np.divide(std, target, out=ratio, where=target > 0)


def _short_of(rtol: float, worst: int, excess: float, estimate: Estimate) -> str:
    """Why the tolerance is not met: a std that is too large, or a mean that may well be zero."""
    after = f"after {estimate.n} points"
    if excess * rtol < 1 / TOLD_APART:
        return f"the std is {excess:.2g} times what rtol={rtol:g} asks for {after}"
    mean, std = (float(np.atleast_1d(each)[worst]) for each in (estimate.mean, estimate.std))
    where = f" of output {worst}" if np.size(estimate.mean) > 1 else ""
    return (
        f"the mean{where}, {mean:.3g} +- {std:.2g} {after}, is not told apart from 0, of which "
        f"rtol={rtol:g} is no share"
    )


class _Known:
    """Values of f, each point asked for once."""

    def __init__(self, evaluate: Callable[[Array], Array]) -> None:
        self.evaluate = evaluate
        self.values: dict[bytes, tuple[Array, Array]] = {}  # x and f(x), as they were evaluated

    def __call__(self, x: Array) -> Array:
        keys = [row.tobytes() for row in x]
        # A chain that rejects repeats its point, also within one round.
        new = {key: row for key, row in zip(keys, x, strict=True) if key not in self.values}
        if new:
            rows = np.stack(list(new.values()))
            try:
                fx = self.evaluate(rows)
            except Exception as error:
                self._keep(error)
                raise
            known = next((value.shape for _, value in self.values.values()), fx.shape[1:])
            if known != fx.shape[1:]:
                raise InputError(
                    f"f returned shape {fx.shape} after rounds of shape (n, *{known}); return as "
                    "many outputs every time."
                )
            self.values.update(zip(new, zip(rows, fx, strict=True), strict=True))
        return np.stack([self.values[key][1] for key in keys])

    def _keep(self, error: Exception) -> None:
        """Hand what was computed over with the exception."""
        if not self.values:
            return
        x, fx = map(np.stack, zip(*self.values.values(), strict=True))
        error.data = Dataset(x, fx)  # pyright: ignore[reportAttributeAccessIssue]
        error.add_note(
            f"The {len(x)} evaluations before this one are kept in the exception's .data; "
            "pass it to steinquad.estimate."
        )
