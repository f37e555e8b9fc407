"""Records in a JSON-lines file that survives being killed at any moment.

A record is one line, written by one call and synced before the next run starts. What a kill can
leave is a last line without its end: readers drop it, the next writer cuts it off. One process at
a time may write, so that no run is done twice.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from steinquad.errors import InputError
from steinquad.reproduce.record import Record

__all__ = ["Store"]


class Store:
    """The records of one file, by the keys of their runs; nothing is written before `writing`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.records: dict[str, Record] = {}
        self._file: int | None = None
        self._read()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """While this lasts, `add` works, and no other process can write."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError as error:
            raise InputError(
                f"path {self.path} cannot be written ({error.strerror}); give another directory."
            ) from None
        try:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise InputError(
                    f"path {self.path} is being written by another process; wait or stop it."
                ) from None
            os.ftruncate(self._file, self._read())
            yield
        finally:
            os.close(self._file)  # which unlocks
            self._file = None

    def add(self, record: Record) -> None:
        """Append; on return the record is on the disk."""
        if self._file is None:
            raise RuntimeError("add needs `with store.writing():`")
        key = record.run.key
        if key in self.records:
            raise RuntimeError(f"recorded already: {key}")
        line = (record.to_json() + "\n").encode()
        while line:
            line = line[os.write(self._file, line) :]
        os.fsync(self._file)
        self.records[key] = record

    def _read(self) -> int:
        """Read all whole lines; how many bytes they take."""
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            content = b""
        except OSError as error:
            raise InputError(f"path {self.path} cannot be read ({error.strerror}).") from None
        whole = content.rfind(b"\n") + 1
        self.records = {}
        for number, line in enumerate(content[:whole].splitlines(), 1):
            try:
                record = Record.from_json(line.decode())
            except ValueError:
                raise InputError(
                    f"file {self.path} has no record in line {number}; delete that line."
                ) from None
            if record.run.key in self.records:
                raise InputError(
                    f"file {self.path} repeats a run in line {number}; delete that line."
                )
            self.records[record.run.key] = record
        return whole
