"""Compiled programs, kept for as long as their measure lives."""

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from steinquad.measures.base import Measure

__all__ = ["PROGRAMS", "compiled"]

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
