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


@contextmanager
def few_threads(n: int) -> Iterator[None]:
    """A context in which BLAS has one thread if n is small; what was set before comes back."""
    if n > MANY:
        yield
        return
    _limit.enter()
    try:
        yield
    finally:
        _limit.leave()


class _Limit:
    """One limit for all threads of this process: the first sets it, the last takes it back."""

    def __init__(self) -> None:
        self._lock, self._inside = Lock(), 0
        self._limits: threadpool_limits | None = None

    def enter(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._limits = threadpool_limits(1, user_api="blas")
            self._inside += 1

    def leave(self) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0 and self._limits is not None:
                self._limits.restore_original_limits()


_limit = _Limit()
