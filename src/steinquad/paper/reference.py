"""Independent computations of one truth, and whether they contradict each other."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from steinquad._types import Array

__all__ = ["Reference", "contradictions"]

STANDARD_ERRORS = 5.0  # two computations may lie so far apart


@dataclass(frozen=True, eq=False)
class Reference:
    """The truth by one way of computing it.

    Attributes:
        name: of the way, for messages.
        mean: of each output, (k,).
        std: standard errors, (k,); zero for a stored truth.
    """

    name: str
    mean: Array
    std: Array


def contradictions(
    references: Sequence[Reference], names: Sequence[str], *, rtol: float
) -> Iterator[str]:
    """A sentence for each pair and output that differ by more than their errors explain.

    Args:
        references: the computations, the stored truth (with a std of zero) among them.
        names: of the outputs.
        rtol: share of the value up to which any two agree, for digits that are not stored and
            for the tolerance of a solver.
    """
    for one, other in combinations(references, 2):
        limit = STANDARD_ERRORS * np.hypot(one.std, other.std) + rtol * np.abs(one.mean)
        gap = np.abs(one.mean - other.mean)
        for i in np.flatnonzero(~(gap <= limit)).tolist():  # NaN is no agreement
            yield (
                f"E[{names[i]}] is {one.mean[i]:.10g} by {one.name} but {other.mean[i]:.10g} by "
                f"{other.name}, {gap[i]:.1e} apart where {limit[i]:.1e} is allowed"
            )
