"""One writer at a time, by a lock that dies with its process."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from steinquad.errors import InputError

__all__ = ["locked"]


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """While this lasts, no other process can lock this store; refused if one has."""
    lock = _lock(path)
    _held.add(lock)
    try:
        yield
    finally:
        _held.release(lock)


def _lock(path: Path) -> int:
    real = path.resolve()  # one lock, whatever link leads there
    file = real.with_name(real.name + ".lock")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        lock = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise InputError(
            f"store {path} cannot be written ({error.strerror}); give another path."
        ) from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        holder = os.read(lock, 40).decode(errors="replace")
        os.close(lock)
        raise InputError(
            f"store {path} is being written by process {holder}; wait or stop it."
        ) from None
    os.truncate(lock, 0)
    os.write(lock, str(os.getpid()).encode())
    return lock


class _Held:
    """Files that are locked: a copy of this process, as pools make by fork, gives them up.

    Else the copies of a process that was killed would go on holding its locks.
    """

    def __init__(self) -> None:
        self._locks: set[int] = set()
        self._known = False

    def add(self, lock: int) -> None:
        if not self._known:
            os.register_at_fork(after_in_child=self._give_up)
            self._known = True
        self._locks.add(lock)

    def release(self, lock: int) -> None:
        if lock in self._locks:
            self._locks.discard(lock)
            os.close(lock)

    def _give_up(self) -> None:
        for lock in tuple(self._locks):
            self.release(lock)


_held = _Held()
