"""The SQLite file of a study: its tables, how it is made and opened, and whether it is whole.

Write-ahead log, so that readers and the writer do not wait for each other. Whatever SQLite has to
complain of becomes one sentence; a damaged file is refused and left as it is.
"""

import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from steinquad.errors import InputError

__all__ = ["APPLICATION", "Database", "plainly", "transaction"]

APPLICATION, FORMAT = 0x53515354, 2  # "SQST", and the version of the tables below
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
    version TEXT NOT NULL
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
        if self.path.exists() and self.path.stat().st_size:
            self._check_whole()
        else:
            self._create()
        with _connection(self.path, "rw") as writer:  # closing it also empties the log
            writer.execute("PRAGMA synchronous = NORMAL")
            self._check_about(writer)
            yield writer

    def _create(self) -> None:
        """Make the file under another name: nobody ever sees half of it."""
        for ending in ("-wal", "-shm"):  # of a store that was deleted: it would be read into this
            rest = self.path.with_name(self.path.name + ending)
            if ending == "-wal" and rest.exists() and rest.stat().st_size:
                raise InputError(
                    f"store {self.path} is missing but its log {rest.name} is there; restore the "
                    "store, or delete the log."
                )
            rest.unlink(missing_ok=True)
        # In the same directory, since a file can be replaced at once only within a file system.
        new = self.path.with_name(self.path.name + ".new")
        new.unlink(missing_ok=True)  # of a process that was killed here
        with _connection(new, "rwc") as writer:
            writer.execute(f"PRAGMA application_id = {APPLICATION}")
            writer.execute(f"PRAGMA user_version = {FORMAT}")
            for statement in TABLES.split(";")[:-1]:
                writer.execute(statement)
            writer.executemany("INSERT INTO about VALUES (?, ?)", self.about.items())
            writer.execute("PRAGMA journal_mode = WAL").fetchall()
        os.replace(new, self.path)

    def _check_about(self, connection: sqlite3.Connection) -> None:
        if connection.execute("PRAGMA application_id").fetchone() != (APPLICATION,):
            raise InputError(f"store {self.path} is a database of something else; give another.")
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version != FORMAT:
            raise InputError(
                f"store {self.path} has format {version}, this version of steinquad reads "
                f"{FORMAT}; use the version that wrote it."
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
                raise _damaged(self.path, f"it has {size} bytes of {expected}")

    def _check_whole(self) -> None:
        """Refuse a file that is damaged or not ours before anything is written to it."""
        self._check_size()
        with _connection(self.path, "ro") as reader:
            (verdict,) = reader.execute("PRAGMA quick_check(1)").fetchone()
            if verdict != "ok":
                raise _damaged(self.path, verdict.replace("\n", " "))
            self._check_about(reader)


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
    except (ValueError, TypeError, KeyError) as error:
        raise _damaged(path, str(error)) from None
    except sqlite3.OperationalError as error:
        if not hasattr(error, "sqlite_errorcode"):  # Python's own, of bytes that are no text
            raise _damaged(path, str(error)) from None
        raise InputError(
            f"store {path} cannot be used ({error}); see that its directory can be written, has "
            "space and is on a local disk."
        ) from None
    except sqlite3.DatabaseError as error:
        raise _damaged(path, str(error)) from None
    except OSError as error:
        raise InputError(f"store {path} cannot be read ({error.strerror}).") from None


@contextmanager
def _connection(path: Path, mode: str) -> Iterator[sqlite3.Connection]:
    uri = f"{path.resolve().as_uri()}?mode={mode}"
    connection = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=30)
    try:
        yield connection
    finally:
        connection.close()


def _damaged(path: Path, reason: str) -> InputError:
    return InputError(
        f"store {path} is damaged ({reason}) and was left as it is; restore a copy, or save "
        f"what can be read with sqlite3's .recover."
    )
