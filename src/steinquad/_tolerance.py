"""Add points until the checked standard deviation is small enough."""

from collections.abc import Callable

import numpy as np

from steinquad._types import Array, Progress
from steinquad.dataset import Dataset
from steinquad.designs import Design, Sample
from steinquad.estimate import Estimate, Status
from steinquad.measures import Measure

__all__ = ["until"]

LEAST_GROWTH, LARGEST_GROWTH = 1.5, 4.0  # of the number of points from one round to the next


def until(
    rtol: float,
    *,
    evaluate: Callable[[Array], Array],
    fit: Callable[[Dataset, Estimate | None], Estimate],
    design: Design,
    measure: Measure,
    n: int,
    max_n: int,
    seed: int,
    progress: Progress,
) -> tuple[Estimate, Sample]:
    """The estimate at the first number of points with `std <= rtol |mean|`, or at `max_n`.

    Every round keeps all earlier points, evaluates f at new ones only, and starts the fit where
    the last one ended. The next number of points presumes that the std falls as 1/n, between
    a plain average and a smooth fit.
    """
    nested = getattr(design, "nested", False)
    rounds: list[Sample] = []
    known = _Known(evaluate)
    estimate: Estimate | None = None
    wanted = n
    while True:
        done = sum(len(each.x) for each in rounds)
        if nested:  # the same points and more
            rounds = [design.draw(measure, wanted, seed=seed, progress=progress)]
        else:
            own = seed if not rounds else _derived(seed, len(rounds))
            rounds.append(design.draw(measure, wanted - done, seed=own, progress=progress))
        data = joined(rounds, [known(each.x) for each in rounds])
        estimate = fit(data, estimate)
        sample = Sample(
            x=data.x,
            notes=rounds[-1].notes,  # the first rounds are too short to judge chains by
            stats=rounds[-1].stats,
        )
        target = rtol * np.abs(np.atleast_1d(estimate.mean))
        excess = float(np.max(np.atleast_1d(estimate.std) / np.maximum(target, 1e-300)))
        if excess <= 1 or not np.isfinite(excess):
            return estimate, sample
        growth = np.clip(excess, LEAST_GROWTH, LARGEST_GROWTH)
        if nested:  # sequences are even at powers of two
            growth = 2.0 if growth <= 2 else 4.0
            growth = growth if growth * data.n <= max_n else 2.0
        block = getattr(design, "chains", 1)  # chains are of one length
        wanted = data.n + block * int(np.ceil((growth - 1) * data.n / block))
        if not nested:
            wanted = min(wanted, data.n + block * ((max_n - data.n) // block))
        if not data.n < wanted <= max_n:
            return _short_of(estimate, rtol, excess), sample


class _Known:
    """Values of f, each point asked for once."""

    def __init__(self, evaluate: Callable[[Array], Array]) -> None:
        self.evaluate = evaluate
        self.points: list[Array] = []
        self.values: dict[bytes, Array] = {}

    def __call__(self, x: Array) -> Array:
        keys = [row.tobytes() for row in x]
        first = {key: i for i, key in reversed(list(enumerate(keys)))}  # chains repeat points
        new = sorted(i for key, i in first.items() if key not in self.values)
        if new:
            try:
                fx = self.evaluate(x[new])
            except Exception as error:
                self._keep(error)
                raise
            self.points.append(x[new])
            self.values.update((keys[i], value) for i, value in zip(new, fx, strict=True))
        return np.stack([self.values[key] for key in keys])

    def _keep(self, error: Exception) -> None:
        """Hand what was computed over with the exception."""
        if not self.points:
            return
        x = np.concatenate(self.points)
        fx = np.stack([self.values[row.tobytes()] for row in x])
        error.data = Dataset(x, fx)  # pyright: ignore[reportAttributeAccessIssue]
        error.add_note(
            f"The {len(x)} evaluations before this one are kept in the exception's .data; "
            "pass it to steinquad.estimate."
        )


def joined(samples: list[Sample], values: list[Array]) -> Dataset:
    """All rounds as one dataset; chains or replicates of different rounds are other groups."""
    x = np.concatenate([sample.x for sample in samples])
    fx = np.concatenate(values)
    groups = None
    if samples[0].groups is not None:
        labels, offset = [], 0
        for sample in samples:
            assert sample.groups is not None
            labels.append(sample.groups + offset)
            offset += int(sample.groups.max()) + 1
        groups = np.concatenate(labels)

    def together(parts: list[Array | None]) -> Array | None:
        known = [part for part in parts if part is not None]
        return np.concatenate(known) if len(known) == len(parts) else None

    return Dataset(
        x,
        fx,
        together([sample.score for sample in samples]),
        weights=together([sample.weights for sample in samples]),
        groups=groups,
        sampled=samples[0].sampled,
    )


def _derived(seed: int, round_: int) -> int:
    return int(np.random.SeedSequence([seed, round_]).generate_state(1)[0])


def _short_of(estimate: Estimate, rtol: float, excess: float) -> Estimate:
    if estimate.status.code in ("suspect", "not_finite"):
        return estimate
    return estimate.with_status(
        Status(
            "max_n",
            f"the std is {excess:.2g} times what rtol={rtol:g} asks for after {estimate.n} "
            "points; allow more with max_n=, or accept the std",
        )
    )
