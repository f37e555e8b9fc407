"""One thread of linear algebra for small problems, one for every free core for large ones.

Matrices of a thousand points gain next to nothing from a second thread, and threads that wait for
each other by spinning cost many times what they save where other work shares the cores: a study of
200 runs took 208 CPU seconds on a busy machine with two threads, 24 with one. Large matrices gain
from cores that nobody else uses: those beyond the load of the machine at the time of the call.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from threadpoolctl import threadpool_info, threadpool_limits

__all__ = ["few_threads", "free_cores"]

MANY = 2000  # points beyond which BLAS takes as many threads as there are free cores

_lock = Lock()
_inside: list[threadpool_limits] = []  # the limit, once for every caller inside


@contextmanager
def few_threads(n: int) -> Iterator[None]:
    """A context in which BLAS has one thread if n is small; what was set before comes back.

    For many points it has one for every free core, and never more than before.
    """
    most = free_cores() if n > MANY else 1
    # The limit is one for all threads of the process: the first sets it, the last takes it back.
    with _lock:
        _inside.append(_inside[0] if _inside else _limited(most))
    try:
        yield
    finally:
        with _lock:
            limits = _inside.pop()
            if not _inside:
                limits.restore_original_limits()


def free_cores() -> int:
    """Cores that this process may use and others leave to it, at least one.

    By the load of the last minute, of which one core is taken to be this process's own; all that
    it may use where the system tells no load.
    """
    affinity = getattr(os, "sched_getaffinity", None)  # not everywhere
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    try:
        load = os.getloadavg()[0]
    except (AttributeError, OSError):
        return cores
    return min(cores, max(1, round(cores + 1 - load)))


def _limited(most: int) -> threadpool_limits:
    """No more than so many threads; a library that has fewer keeps them."""
    now = [lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"]
    return threadpool_limits(min(most, *now) if now else most, user_api="blas")
