"""One writer at a time, by a lock that dies with its process."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from steinquad.errors import InputError
from steinquad.studies.database import check_path, plainly

__all__ = ["locked"]


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of a store while a `with` block lasts; refused if another process has it.

    The system takes the lock back when its process dies, however that happens; copies of the
    process, as pools make by fork, do not hold it.

    Args:
        path: of the store; the lock is a file beside it whose name ends in `.lock`.
    """
    check_path(path)
    real = path.resolve()  # one lock, whatever link leads there
    file = real.with_name(real.name + ".lock")
    check_path(file)
    if file.exists() and not _is_lock(file):
        raise InputError(
            f"store {path} needs the file {file} as its lock, but that is something else; move "
            "it, or give another store."
        )
    lock = FileLock(file, mode=0o600, blocking=False)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout:
        try:
            holder = file.read_text(errors="replace")
        except FileNotFoundError:  # nobody has it: the directory is gone, or takes no files
            raise InputError(
                f"store {path} cannot be written (no lock can be made beside it); give another "
                "path."
            ) from None
        raise InputError(
            f"store {path} is being written by process {holder}; wait or stop it."
        ) from None
    except OSError as error:
        raise InputError(
            f"store {path} cannot be written ({error.strerror}); give another path."
        ) from None
    try:
        with plainly(path):
            file.write_text(str(os.getpid()))  # for the complaint of others
        yield
    finally:
        lock.release()


def _is_lock(file: Path) -> bool:
    with plainly(file), file.open("rb") as content:
        start = content.read(21)
    return not file.is_symlink() and (not start or (len(start) <= 20 and start.isdigit()))
