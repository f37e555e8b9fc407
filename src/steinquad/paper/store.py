"""Records in a JSON-lines file that survives being killed at any moment.

A record is one line, written by one call and synced before the next run starts. What a kill can
leave is a last line without its end: readers drop it, the next writer cuts it off. One process at
a time may write, so that no run is done twice.

`pack` moves all records into a compressed file beside it, NAME.jsonl.gz, which is read as well:
records small enough to be handed on, and a run that goes on from them.
"""

import fcntl
import gzip
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from steinquad._files import replaced
from steinquad.errors import InputError
from steinquad.paper.record import Record

__all__ = ["RecordStore", "replacing"]


class RecordStore:
    """The records of one file, and of the packed one beside it, by the keys of their runs.

    Making one reads what is there; nothing is written before `with store.writing():`.

    Args:
        path: a .jsonl file, which need not exist.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.packed = path.with_name(path.name + ".gz")
        self.records: dict[str, Record] = {}
        self._file: int | None = None
        self._read()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """While this lasts, `add` works, and no other process can write.

        Raises `InputError` if another process is writing, or the file cannot be written.

        What other processes have added since is read first, and a last line without its end is cut
        off. The lock ends with the block, or with the process.
        """
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
        """Append a record of a run that has none yet; on return it is on the disk.

        Args:
            record: of a run whose key is not in `records`; a second one is a `RuntimeError`, as is
                a call outside of `writing`.
        """
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

    def pack(self) -> None:
        """Move all records into the compressed file, which a stop at any moment leaves whole.

        The new file is written beside the old one and then takes its place in one operation; the
        plain file is removed last. Equal records give equal bytes.
        """
        with self.writing():
            lines = "".join(record.to_json() + "\n" for record in self.records.values())
            with replacing(self.packed) as stream:
                stream.write(gzip.compress(lines.encode(), mtime=0))
            self.path.unlink()

    def _read(self) -> int:
        """Read all whole lines of both files; how many bytes those of the plain one take."""
        self.records = {}
        try:
            packed = gzip.decompress(_content(self.packed))
        except (OSError, EOFError, zlib.error):
            raise InputError(f"file {self.packed} cannot be unpacked; delete it.") from None
        self._add_lines(self.packed, packed, {})
        content = _content(self.path)
        whole = content.rfind(b"\n") + 1
        # A kill in the middle of `pack` leaves records in both.
        self._add_lines(self.path, content[:whole], dict(self.records))
        return whole

    def _add_lines(self, path: Path, content: bytes, packed: dict[str, Record]) -> None:
        for number, line in enumerate(content.splitlines(), 1):
            try:
                record = Record.from_json(line.decode())
            except ValueError:
                raise InputError(
                    f"file {path} has no record in line {number}; delete that line."
                ) from None
            key = record.run.key
            if key in self.records and packed.get(key) != record:
                raise InputError(f"file {path} repeats a run in line {number}; delete that line.")
            self.records[key] = record


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A stream that becomes the file when the block ends: on the disk, and in one operation.

    A stop at any moment, or an error in the block, leaves the file as it was.
    """
    with replaced(path, "path") as unfinished, unfinished.open("wb") as stream:
        yield stream


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise InputError(f"path {path} cannot be read ({error.strerror}).") from None
