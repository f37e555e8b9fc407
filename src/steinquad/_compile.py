"""`jax.jit` for programs that are expensive to compile.

On a CPU the first level of LLVM's optimization gives programs as fast as its third, in two thirds
of the time (three layers: 8 CPU seconds instead of 13 in a first call). Accelerators keep their
own default.
"""

from collections.abc import Callable
from functools import cache, wraps
from typing import Any, ParamSpec, TypeVar

import jax

__all__ = ["compiled"]

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
