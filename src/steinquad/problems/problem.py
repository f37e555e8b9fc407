"""An integral to compute and its true value."""

from collections.abc import Callable
from dataclasses import dataclass

from steinquad._types import Array
from steinquad.measures.base import Measure

__all__ = ["Problem"]


@dataclass(frozen=True, eq=False)
class Problem:
    """The integral of `integrand` under `measure`.

    Attributes:
        name: short name, for tables.
        integrand: function of a batch of points, (n, d) -> (n,).
        measure: what is integrated against.
        truth: the integral.
        source: where the problem and its truth come from, one sentence.
    """

    name: str
    integrand: Callable[[Array], Array]
    measure: Measure
    truth: float
    source: str
