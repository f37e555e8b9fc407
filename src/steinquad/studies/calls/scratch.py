"""Directories for the files of a command, none of which outlasts the next command.

A process that is killed cannot remove its own. So each has a file that is locked for as long as
its owner lives, and whoever makes a directory first removes those that nobody holds any more.
"""

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["remove_abandoned", "scratch_directory"]

PREFIX, LOCK = "steinquad-", "lock"
YOUNG = 60.0  # s in which a directory may still be without its lock


@contextmanager
def scratch_directory() -> Iterator[Path]:
    """An empty directory that only this user can read, removed at the end of the `with` block."""
    place = Path(tempfile.mkdtemp(prefix=PREFIX))
    lock = os.open(place / LOCK, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)
        os.close(lock)


def remove_abandoned() -> None:
    """Remove directories of this user whose owners are gone; those of the living stay."""
    for place in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError):
            known = place.lstat()  # a link in its place is somebody else's
            if known.st_uid == os.getuid() and place.is_dir() and not place.is_symlink():
                _remove(place, time.time() - known.st_mtime)


def _remove(place: Path, age: float) -> None:
    try:
        lock = os.open(place / LOCK, os.O_RDWR | os.O_NOFOLLOW)
    except FileNotFoundError:
        if age > YOUNG:
            shutil.rmtree(place, ignore_errors=True)
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # BlockingIOError while it is held
        shutil.rmtree(place, ignore_errors=True)
    finally:
        os.close(lock)
