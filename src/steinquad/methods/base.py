"""The protocol that every method follows, and what they all do first."""

from typing import Protocol, runtime_checkable

import numpy as np

from steinquad._types import Array, Progress
from steinquad.dataset import Dataset
from steinquad.estimate import Estimate, Status
from steinquad.measures.base import Measure

__all__ = ["Method", "constant_estimate", "constant_outputs", "obstacle"]


@runtime_checkable
class Method(Protocol):
    """A way to estimate an expectation; a new one is a class with these two members.

    It may have more, each of which something else looks for: `obstacle(data, measure)`, the reason
    why it cannot be used on such data or None; `design`, where it wants its points; `dear`, True
    if `Choose` should try cheaper methods first; `light`, a cheaper version of itself for
    ranking; `checks_itself`, True if its answer is cross-fitted already; `warm_folds`, True if the
    fits of a cross-fit may start from that of all data, of which they must remember nothing.
    """

    @property
    def name(self) -> str:
        """Short name for tables."""
        ...

    def estimate(
        self,
        data: Dataset,
        measure: Measure | None,
        *,
        seed: int,
        progress: Progress,
        start: Estimate | None = None,
    ) -> Estimate:
        """The expectation of every output of `data`.

        Args:
            data: checked, with scores and support filled in from the measure where it has them.
            measure: what the points were drawn from, when known.
            seed: of everything random in the method.
            progress: to be called after every training step.
            start: an earlier estimate by the same method to start from; may be ignored.
        """
        ...


def obstacle(method: Method, data: Dataset, measure: Measure | None) -> str | None:
    """Why a method cannot be used on such data, where it says so itself, or None."""
    own = getattr(method, "obstacle", None)
    return None if own is None else own(data, measure)


def constant_outputs(data: Dataset) -> np.ndarray:
    """Which outputs do not vary at all."""
    return np.ptp(data.fx, axis=0) == 0


def constant_estimate(data: Dataset, name: str) -> Estimate:
    """The exact answer for an f that takes one value only."""
    mean: Array = data.fx[0]
    k = data.outputs

    def predictor(x: Array, score: Array | None, return_std: bool) -> tuple[Array, Array | None]:
        del score
        return np.tile(mean, (len(x), 1)), np.zeros((len(x), k)) if return_std else None

    return Estimate.build(
        mean,
        np.zeros((k, k)),
        scalar=data.scalar,
        method=name,
        status=Status("constant", f"f takes the same value at all {data.n} points"),
        n=data.n,
        values=data.fx,
        fitted=data.fx,
        predictor=predictor,
    )
