"""One thread of linear algebra for small problems.

Matrices of a thousand points gain next to nothing from a second thread, and threads that wait for
each other by spinning cost many times what they save where other work shares the cores: a study of
200 runs took 208 CPU seconds on a busy machine with two threads, 24 with one.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from threadpoolctl import threadpool_limits

__all__ = ["few_threads"]

MANY = 2000  # points from which on BLAS takes as many threads as it likes

_lock = Lock()
_inside: list[threadpool_limits] = []  # the limit, once for every caller inside


@contextmanager
def few_threads(n: int) -> Iterator[None]:
    """A context in which BLAS has one thread if n is small; what was set before comes back."""
    if n > MANY:
        yield
        return
    # The limit is one for all threads of the process: the first sets it, the last takes it back.
    with _lock:
        _inside.append(_inside[0] if _inside else threadpool_limits(1, user_api="blas"))
    try:
        yield
    finally:
        with _lock:
            limits = _inside.pop()
            if not _inside:
                limits.restore_original_limits()
