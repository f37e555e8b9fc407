"""A measure as Markov chains see it: a log density on all of R^d, and programs compiled of it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import jax.numpy as jnp
import numpy as np

from steinquad.errors import InputError
from steinquad.measures.base import Measure
from steinquad.support import Support

__all__ = ["PROGRAMS", "Unconstrained", "as_target", "compiled"]

# So that a second run on the same measure need not compile again.
PROGRAMS: WeakKeyDictionary[Measure, dict[Any, Any]] = WeakKeyDictionary()


def compiled(measure: Measure, name: Any, build: Callable[[], Any]) -> Any:
    """The program of that name for a measure, built when it is first asked for.

    Args:
        measure: what the program is about; it must not be referred to by the program itself,
            which would keep it alive.
        name: hashable, with everything that the program depends on besides the measure.
        build: makes the program, such as a `jax.jit` of a function.
    """
    known = PROGRAMS.setdefault(measure, {})
    if name not in known:
        known[name] = build()
    return known[name]


@dataclass(frozen=True)
class Unconstrained:
    """The log density of unconstrained coordinates y, and the way between x and y.

    All three functions are JAX ones of a single point (d,). It must hold no reference to the
    measure: compiled programs that close over it are cached for as long as the measure lives.
    """

    log_density: Callable[[Any], Any]
    to_x: Callable[[Any], Any]
    to_y: Callable[[Any], Any]


def as_target(measure: Measure) -> Unconstrained:
    """The log density of a `LogDensity` or a numpyro distribution on all of R^d.

    Bounded coordinates become logarithms or logits, with their Jacobian. Other measures have no
    JAX log density and are refused.
    """
    log_density = measure.jax_log_density()
    if log_density is None:
        other = "design=IID()" if "sample" in measure.provides else "its own draws"
        raise InputError(
            f"measure {type(measure).__name__} has no JAX log density for a Markov chain; "
            f"use {other}, or pass the log density to LogDensity."
        )
    parts = _bijections(measure.support)

    inverses = [(where, bijection.inv) for where, bijection in parts]
    to_x, to_y = partial(_mapped, parts), partial(_mapped, inverses)

    def unconstrained(y: Any) -> Any:
        x = to_x(y)
        value = log_density(x)
        for where, bijection in parts:
            value += jnp.sum(bijection.log_abs_det_jacobian(y[where], x[where]))
        # A density that is not a number, or infinite by rounding to the boundary, is no place
        # to go: a chain would never leave it.
        return jnp.where(jnp.isfinite(value), value, -jnp.inf)

    return Unconstrained(unconstrained, to_x, to_y)


def _mapped(maps: list[tuple[np.ndarray, Any]], point: Any) -> Any:
    """A point (d,) with each map applied to its own coordinates."""
    for where, elementwise in maps:
        point = point.at[where].set(elementwise(point[where]))
    return point


def _bijections(support: Support) -> list[tuple[np.ndarray, Any]]:
    """From R to the bounded coordinates: their indices and an elementwise map of each kind."""
    if not support.bounded:
        return []
    from numpyro.distributions import constraints
    from numpyro.distributions.transforms import biject_to

    low, high = support.low, support.high
    below, above = np.isfinite(low), np.isfinite(high)
    kinds = (
        (below & above, lambda low, high: constraints.interval(low, high)),
        (below & ~above, lambda low, high: constraints.greater_than(low)),
        (~below & above, lambda low, high: constraints.less_than(high)),
    )
    return [
        (where, biject_to(constraint(low[where], high[where])))
        for chosen, constraint in kinds
        if len(where := np.flatnonzero(chosen))
    ]
