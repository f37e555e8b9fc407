"""CPU seconds of this process."""

import resource

__all__ = ["cpu_seconds"]


def cpu_seconds() -> float:
    """User and system time of this process so far, of all its threads.

    The difference of two calls is what a computation cost; unlike wall time it does not fall when
    more threads share the work.
    """
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
