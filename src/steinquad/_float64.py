"""Computation in float64 whatever the caller's JAX flags say, without touching those flags."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import jax

from steinquad._fork import refuse_forked

__all__ = ["float64"]

P = ParamSpec("P")
R = TypeVar("R")


def float64(function: Callable[P, R]) -> Callable[P, R]:
    """Run `function` with 64-bit JAX types and the usual promotion rules.

    The caller's settings are back when it returns. A process that was forked after JAX had been
    used is refused: it would wait for ever.
    """

    @wraps(function)
    def scoped(*args: P.args, **kwargs: P.kwargs) -> R:
        refuse_forked()
        with (
            jax.enable_x64(True),
            jax.numpy_rank_promotion("allow"),
            jax.numpy_dtype_promotion("standard"),
        ):
            return function(*args, **kwargs)

    return scoped
