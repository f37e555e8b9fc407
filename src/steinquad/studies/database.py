"""The SQLite file of a study: its tables, how it is made and opened, and whether it is whole.

Write-ahead log, so that readers and the writer do not wait for each other. Whatever SQLite has to
complain of becomes one sentence; a damaged file is refused and left as it is.
"""

import errno
import hashlib
import os
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

APPLICATION, FORMAT = 0x53515354, 3  # "SQST", and the version of the tables below
OLD_FORMAT = 2  # without checksums; `writing` adds them
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
CREATE TABLE version (name TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE choice (
    number INTEGER PRIMARY KEY,
    input TEXT NOT NULL,
    candidates INTEGER NOT NULL,
    chance REAL NOT NULL
);
CREATE TABLE estimate (n INTEGER, settings TEXT, record TEXT NOT NULL, PRIMARY KEY (n, settings));
"""


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
    """A word that changes with any field of an evaluation, to notice one that was altered.

    Args:
        row: the nine fields before the checksum, as SQLite stores them; of these the number of
            attempts does not count, since it may be set back.
    """
    lasting = (*row[:5], *row[6:])
    return hashlib.blake2b(repr(lasting).encode(), digest_size=8).hexdigest()


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

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection that cannot write, closed at the end of the `with` block.

        Safe while another process writes. The file is checked for its size and its study first,
        but not read as a whole, which would take long for a large one.

        Raises:
            InputError: there is no file, or it is cut off, or of another study or format.
        """
        check_path(self.path)
        if not self.path.exists():
            raise InputError(f"store {self.path} does not exist; run the study first.")
        self._check_size()
        with _connection(self.path, "ro") as reader:
            self._check_about(reader)
            yield reader

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A connection that can write; the file is made if it is not there, else checked first.

        The caller has to hold the lock of the store. The check reads the whole file once, since
        rows that are added to a damaged file may be lost with it.

        Raises:
            InputError: the file is damaged, or of another study or format.
        """
        check_path(self.path)
        if self.path.exists() and self.path.stat().st_size:
            self._check_whole()
        else:
            self._create()
        with _connection(self.path, "rw") as writer:  # closing it also empties the log
            writer.execute("PRAGMA synchronous = NORMAL")
            if writer.execute("PRAGMA user_version").fetchone() == (OLD_FORMAT,):
                _upgrade(writer)
            yield writer

    def _create(self) -> None:
        """Make the file under another name, for its owner alone: nobody ever sees half of it."""
        for ending in ("-wal", "-shm"):  # of a store that was deleted: it would be read into this
            rest = self.path.with_name(self.path.name + ending)
            if ending == "-wal" and rest.exists() and rest.stat().st_size:
                raise InputError(
                    f"store {self.path} is missing but its log {rest.name} is there; restore the "
                    "store, or delete the log."
                )
            rest.unlink(missing_ok=True)
        target = self.path.resolve()  # what a link leads to, not the link
        prefix, ending = f".{target.name}.", ".new"
        for old in target.parent.glob(f"{prefix}????????{ending}"):  # of a process killed here
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

    def _check_about(
        self, connection: sqlite3.Connection, formats: Sequence[int] = (FORMAT,)
    ) -> None:
        if connection.execute("PRAGMA application_id").fetchone() != (APPLICATION,):
            raise InputError(f"store {self.path} is a database of something else; give another.")
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version not in formats:
            mend = "run the study to renew it" if version == OLD_FORMAT else "use what wrote it"
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

    def _check_size(self) -> None:
        """Refuse what is no database, or one that was cut off, without opening it."""
        log = self.path.with_name(self.path.name + "-wal")
        logged = log.exists() and log.stat().st_size > 0  # looked at first: a writer may end now
        with self.path.open("rb") as file:
            head = file.read(100)
            size = file.seek(0, os.SEEK_END)
        if not head.startswith(MAGIC):
            raise InputError(f"store {self.path} is not an SQLite file; give another path.")
        if not logged:  # else pages may still be in there
            unit = int.from_bytes(head[16:18], "big")
            unit = 65536 if unit == 1 else unit
            expected = unit * int.from_bytes(head[28:32], "big")
            if size < max(expected, 100):
                raise damaged(self.path, f"it has {size} bytes of {expected}")

    def _check_whole(self) -> None:
        """Refuse a file that is damaged or not ours before anything is written to it."""
        self._check_size()
        with _connection(self.path, "ro") as reader:
            (verdict,) = reader.execute("PRAGMA quick_check(1)").fetchone()
            if verdict != "ok":
                raise damaged(self.path, verdict.replace("\n", " "))
            self._check_about(reader, (OLD_FORMAT, FORMAT))


def _upgrade(writer: sqlite3.Connection) -> None:
    with transaction(writer):
        writer.execute("ALTER TABLE evaluation ADD COLUMN checksum TEXT NOT NULL DEFAULT ''")
        rows = writer.execute("SELECT * FROM evaluation").fetchall()
        words = ((checksum(row[:-1]), row[0]) for row in rows)
        writer.executemany("UPDATE evaluation SET checksum = ? WHERE number = ?", words)
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
        if code is None:  # Python's own, of bytes that are no text
            raise damaged(path, str(error)) from None
        if code == sqlite3.SQLITE_FULL:
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
        raise InputError(f"store {path} cannot be read ({error.strerror}).") from None


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


def _full(path: Path) -> InputError:
    return InputError(
        f"store {path} cannot grow: the disk is full; free some space and run again, what was "
        "stored before is kept."
    )
