"""The SQLite file of a study: its tables, how it is made and opened, and whether it is whole.

Write-ahead log, so that readers and the writer do not wait for each other. Whatever SQLite has to
complain of becomes one sentence; a damaged file is refused and left as it is.
"""

import errno
import glob
import hashlib
import os
import shutil
import sqlite3
import stat
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from steinquad.errors import InputError

__all__ = [
    "APPLICATION",
    "Database",
    "check_path",
    "checksum",
    "damaged",
    "plainly",
    "transaction",
]

APPLICATION, FORMAT = 0x53515354, 4  # "SQST", and the version of the tables below
OLD_FORMATS = (2, 3)  # without checksums of all rows; `writing` adds them
BESIDE = ("-wal", "-shm", "-journal")  # files of SQLite itself
LITTLE = 100_000  # bytes, about what SQLite needs beside the rows
MAGIC = b"SQLite format 3\x00"

TABLES = """
CREATE TABLE about (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE evaluation (
    number INTEGER PRIMARY KEY,
    status TEXT NOT NULL CHECK (status IN ('done', 'failed')),
    input TEXT NOT NULL,
    outputs TEXT,
    seconds REAL NOT NULL,
    attempt INTEGER NOT NULL,
    failure TEXT,
    error TEXT,
    version TEXT NOT NULL,
    checksum TEXT NOT NULL
);
CREATE INDEX by_status ON evaluation (status, seconds);
CREATE TABLE session (id INTEGER PRIMARY KEY, began TEXT NOT NULL, seconds REAL NOT NULL);
CREATE TABLE choice (
    number INTEGER PRIMARY KEY,
    input TEXT NOT NULL,
    candidates INTEGER NOT NULL,
    chance REAL NOT NULL,
    checksum TEXT NOT NULL
);
CREATE TABLE estimate (
    n INTEGER,
    settings TEXT,
    record TEXT NOT NULL,
    checksum TEXT NOT NULL,
    PRIMARY KEY (n, settings)
);
"""
ATTEMPT = 5  # its place in a row of `evaluation`; it may be set back, so no checksum counts it

# What is there instead of a regular file, and what to call it.
KINDS = (
    (stat.S_ISDIR, "directory"),
    (stat.S_ISFIFO, "named pipe"),
    (stat.S_ISSOCK, "socket"),
    (stat.S_ISCHR, "device"),
    (stat.S_ISBLK, "device"),
)


def check_path(path: Path) -> None:
    """Refuse whatever is at a path and is no regular file, before it is opened or replaced.

    Links are followed; a path where nothing is may become a file.

    Args:
        path: of the store, or of a file that belongs to it.
    """
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        mode = stat.S_IFREG if path.name else stat.S_IFDIR
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"store {path} cannot be used ({reason}); give another path.") from None
    for is_kind, kind in KINDS:
        if is_kind(mode):
            raise InputError(f"store {path} is a {kind}; give the path of a file.")


def checksum(row: Sequence[Any]) -> str:
    """A word that changes with any field of a row, to notice one that was altered.

    Args:
        row: the fields before the checksum, as SQLite stores them; of an evaluation the number of
            attempts does not count.
    """
    lasting = (*row[:ATTEMPT], *row[ATTEMPT + 1 :])
    # Not `repr`, which escapes by the Unicode tables of the interpreter: stores outlive those.
    return hashlib.blake2b(ascii(lasting).encode(), digest_size=8).hexdigest()


class Database:
    """A file with the tables of a study, which holds what `about` says or is refused.

    It knows how the file is made, opened and checked; what the rows mean is known to `Store`.

    Args:
        path: of the file, which need not be there before the first `writing`.
        about: what identifies the study, names to texts; written when the file is made, and
            compared whenever it is opened.
    """

    def __init__(self, path: Path, about: Mapping[str, str]) -> None:
        self.path, self.about = path, dict(about)

    @property
    def exists(self) -> bool:
        """Whether there is a file with something in it; an empty one is as good as none."""
        self._check_paths()
        return self.path.exists() and self.path.stat().st_size > 0

    def check(self) -> None:
        """Refuse what is there and is no store of this study, without leaving a trace of the look.

        For a writer, before it makes a lock; a path where nothing is may become a store.
        """
        if self.exists:
            self._check_head()
            with _connection(self.path, "ro") as reader:
                self._check_about(reader, (*OLD_FORMATS, FORMAT))

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection that cannot write, closed at the end of the `with` block.

        Safe while another process writes. The file is checked for its size and its study first,
        but not read as a whole, which would take long for a large one.

        Raises:
            InputError: there is no file, or it is cut off, or of another study or format.
        """
        if not self.exists:
            raise InputError(f"store {self.path} does not exist; run the study first.")
        self._check_head()
        with _connection(self.path, "ro") as reader:
            self._check_about(reader, (FORMAT,))
            yield reader

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A connection that can write; the file is made if it is not there, else checked first.

        The caller has to hold the lock of the store. The check reads the whole file once, since
        rows that are added to a damaged file may be lost with it.

        Raises:
            InputError: the file is damaged, or of another study or format.
        """
        if self.exists:
            self.check()
            with _connection(self.path, "ro") as reader:
                (verdict,) = reader.execute("PRAGMA quick_check(1)").fetchone()
                if verdict != "ok":
                    raise damaged(self.path, verdict.replace("\n", " "))
        else:
            self._create()
        with _connection(self.path, "rw") as writer:  # closing it also empties the log
            writer.execute("PRAGMA synchronous = NORMAL")
            if writer.execute("PRAGMA user_version").fetchone() != (FORMAT,):
                _upgrade(writer)
            yield writer

    def _create(self) -> None:
        """Make the file under another name, for its owner alone: nobody ever sees half of it."""
        for rest in self._beside():  # of a store that was deleted: it would be read into this
            if not rest.name.endswith("-shm") and rest.exists() and rest.stat().st_size:
                raise InputError(
                    f"store {self.path} is missing but its log {rest.name} is there; restore the "
                    "store, or delete the log."
                )
        for rest in self._beside():
            rest.unlink(missing_ok=True)
        target = self.path.resolve()  # what a link leads to, not the link
        prefix, ending = f".{target.name}.", ".new"
        killed = f"{glob.escape(prefix)}????????{ending}"
        for old in target.parent.glob(killed):
            old.unlink(missing_ok=True)
        # In the same directory, since a file can be replaced at once only within a file system;
        # `mkstemp` makes a file that was not there, with mode 0600.
        handle, name = tempfile.mkstemp(ending, prefix, target.parent)
        os.close(handle)
        new = Path(name)
        try:
            with _connection(new, "rw") as writer:
                writer.execute(f"PRAGMA application_id = {APPLICATION}")
                writer.execute(f"PRAGMA user_version = {FORMAT}")
                for statement in TABLES.split(";")[:-1]:
                    writer.execute(statement)
                writer.executemany("INSERT INTO about VALUES (?, ?)", self.about.items())
                writer.execute("PRAGMA journal_mode = WAL").fetchall()
            os.replace(new, target)
        finally:
            new.unlink(missing_ok=True)

    def _beside(self) -> list[Path]:
        target = self.path.resolve()
        return [target.with_name(target.name + ending) for ending in BESIDE]

    def _check_paths(self) -> None:
        check_path(self.path)
        for path in self._beside():
            check_path(path)

    def _check_about(self, connection: sqlite3.Connection, formats: Sequence[int]) -> None:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version not in formats:
            mend = "run the study to renew it" if version in OLD_FORMATS else "use what wrote it"
            raise InputError(
                f"store {self.path} has format {version}, this version of steinquad reads "
                f"{FORMAT}; {mend}."
            )
        stored = dict(connection.execute("SELECT key, value FROM about").fetchall())
        for key, value in self.about.items():
            if stored.get(key) != value:
                raise InputError(
                    f"store {self.path} belongs to another study: its {key} is "
                    f"{stored.get(key)}, here it is {value}; restore that, or give another store."
                )

    def _check_head(self) -> None:
        """Refuse what is no store, or one that was cut off, without opening it as a database."""
        log = self._beside()[0]
        logged = log.exists() and log.stat().st_size > 0  # looked at first: a writer may end now
        with self.path.open("rb") as file:
            head = file.read(100)
            size = file.seek(0, os.SEEK_END)
        if not head.startswith(MAGIC):
            raise InputError(f"store {self.path} is not an SQLite file; give another path.")
        unit = int.from_bytes(head[16:18], "big")
        expected = (65536 if unit == 1 else unit) * int.from_bytes(head[28:32], "big")
        if size < 100 or (size < expected and not logged):  # else pages may still be in the log
            raise damaged(self.path, f"it has {size} bytes of {max(expected, 100)}")
        if int.from_bytes(head[68:72], "big") != APPLICATION:
            raise InputError(f"store {self.path} is a database of something else; give another.")


def _upgrade(writer: sqlite3.Connection) -> None:
    with transaction(writer):
        for table in ("evaluation", "choice", "estimate"):
            names = [row[1] for row in writer.execute(f"PRAGMA table_info({table})")]
            if "checksum" in names:
                continue
            writer.execute(f"ALTER TABLE {table} ADD COLUMN checksum TEXT NOT NULL DEFAULT ''")
            rows = writer.execute(f"SELECT rowid, {', '.join(names)} FROM {table}").fetchall()
            words = ((checksum(row[1:]), row[0]) for row in rows)
            writer.executemany(f"UPDATE {table} SET checksum = ? WHERE rowid = ?", words)
        writer.execute("DROP TABLE IF EXISTS version")
        writer.execute(f"PRAGMA user_version = {FORMAT}")


@contextmanager
def transaction(writer: sqlite3.Connection) -> Iterator[None]:
    """All statements of the `with` block take effect together, or none of them.

    Whatever is raised inside, an interrupt too, rolls back and goes on its way.

    Args:
        writer: a connection in autocommit mode, as `Database.writing` gives it.
    """
    writer.execute("BEGIN IMMEDIATE")
    try:
        yield
        writer.execute("COMMIT")
    except BaseException:
        if writer.in_transaction:  # SQLite itself has rolled back where the disk is full
            with suppress(sqlite3.Error):
                writer.execute("ROLLBACK")
        raise


@contextmanager
def plainly(path: Path) -> Iterator[None]:
    """Turn what SQLite complains of, or texts that make no sense, into one sentence.

    A `ValueError`, `TypeError` or `KeyError` in the `with` block counts as damage, since only
    stored texts are parsed there; nothing else should happen in it.

    Args:
        path: of the store, to be named in the `InputError`.
    """
    try:
        yield
    except InputError:
        raise
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        raise damaged(path, str(error)) from None
    except sqlite3.OperationalError as error:
        code = getattr(error, "sqlite_errorcode", None)
        # Python's own of bytes that are no text, and SQLite's of tables that are not there.
        if code in (None, sqlite3.SQLITE_ERROR):
            raise damaged(path, str(error)) from None
        # SQLite calls it an I/O error where it is the index of its log that finds no space.
        lacking = code & 0xFF == sqlite3.SQLITE_IOERR and _is_full(path)
        if code == sqlite3.SQLITE_FULL or lacking:
            raise _full(path) from None
        raise InputError(
            f"store {path} cannot be used ({error}); see that its directory can be written, has "
            "space and is on a local disk."
        ) from None
    except sqlite3.DatabaseError as error:
        raise damaged(path, str(error)) from None
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise _full(path) from None
        raise InputError(f"store {path} cannot be used ({error.strerror}).") from None


@contextmanager
def _connection(path: Path, mode: str) -> Iterator[sqlite3.Connection]:
    uri = f"{path.resolve().as_uri()}?mode={mode}"
    connection = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=30)
    try:
        yield connection
    finally:
        connection.close()


def damaged(path: Path, reason: str) -> InputError:
    """The complaint about a file that cannot be trusted, to be raised by the caller.

    Args:
        path: of the store.
        reason: what was found, with the row where it is known.
    """
    return InputError(
        f"store {path} is damaged ({reason}) and was left as it is; restore a copy, or save "
        f"what can be read with sqlite3's .recover."
    )


def _is_full(path: Path) -> bool:
    with suppress(OSError):
        return shutil.disk_usage(path.resolve().parent).free < LITTLE
    return False


def _full(path: Path) -> InputError:
    return InputError(
        f"store {path} cannot grow: the disk is full; free some space and run again, what was "
        "stored before is kept."
    )
