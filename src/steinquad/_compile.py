"""`jax.jit` for programs that are expensive to compile, and batches of few sizes.

On a CPU the first level of LLVM's optimization gives programs as fast as its third, in two thirds
of the time (three layers: 8 CPU seconds instead of 13 in a first call). Accelerators keep their
own default.
"""

from collections.abc import Callable
from functools import cache, wraps
from typing import Any, ParamSpec, TypeVar

import jax
import numpy as np

from steinquad._types import Array

__all__ = ["compiled", "filled_up"]

P = ParamSpec("P")
R = TypeVar("R")


def compiled(function: Callable[P, R], **options: Any) -> Callable[P, R]:
    """A compiled function, not to be called from another one; `options` are those of `jax.jit`."""

    @cache
    def program(backend: str) -> Callable[P, R]:
        faster = {"xla_backend_optimization_level": 1} if backend == "cpu" else None
        return jax.jit(function, compiler_options=faster, **options)

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        # Asked at the call: at import it would start JAX's backends.
        return program(jax.default_backend())(*args, **kwargs)

    return call


def filled_up(rows: Array) -> Array:
    """A batch (n, ...) with copies of its last row, up to one of four sizes an octave.

    Programs are compiled for every shape: so that any number of rows needs few of them, at the
    cost of a tenth more rows on average. Who takes the results takes the first n.

    >>> [len(filled_up(np.zeros((n, 1)))) for n in (7, 9, 100, 1000, 1025)]
    [7, 10, 112, 1024, 1280]
    """
    n = len(rows)
    step = 1 << max((n - 1).bit_length() - 3, 0)
    return rows[np.minimum(np.arange(-(-n // step) * step), n - 1)]
