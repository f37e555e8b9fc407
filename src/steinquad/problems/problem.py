"""An integral to compute and its true value."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from steinquad._types import Array
from steinquad.measures.base import Measure
from steinquad.measures.convert import as_measure

__all__ = ["Problem", "standard_normal"]

Truth = TypeVar("Truth", float, Array)


@dataclass(frozen=True, eq=False)
class Problem(Generic[Truth]):
    """The integral of `integrand` under `measure`.

    Attributes:
        name: short name, for tables.
        integrand: function of a batch of points, (n, d) -> (n,), or (n, k) for k integrals.
        measure: what is integrated against.
        truth: the integral, a float or (k,); NaN where nobody has computed it.
        source: where the problem and its truth come from, one sentence.
    """

    name: str
    integrand: Callable[[Array], Array]
    measure: Measure
    truth: Truth
    source: str


def standard_normal(d: int) -> Measure:
    """N(0, I_d), under which the Genz integrals are and from which Goodwin chains start."""
    import numpyro.distributions as nd

    return as_measure(nd.Normal(0.0, 1.0).expand([d]).to_event(1))
