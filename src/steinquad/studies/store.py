"""The evaluations of a study in one SQLite file that survives being killed at any moment.

A row is an evaluation, written in a transaction when it has finished (write-ahead log, synced to
the disk every few seconds). One process at a time may write, by a lock that dies with it; any
number may read meanwhile. A file that is damaged is refused and left as it is.
"""

import fcntl
import json
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal, NamedTuple

from steinquad.errors import InputError

__all__ = ["Choice", "Counts", "Evaluation", "Sessions", "Store"]

APPLICATION, FORMAT = 0x53515354, 2  # "SQST", and the version of the tables below
SYNC = 5.0  # s of finished evaluations that a power cut may cost; a killed process costs none
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


class Evaluation(NamedTuple):
    """A row: a point that was evaluated, as far as it went."""

    number: int
    status: Literal["done", "failed"]
    input: Sequence[float]
    outputs: Sequence[float] | None
    seconds: float
    attempt: int
    failure: str | None
    error: str | None
    version: str


class Choice(NamedTuple):
    """A row: where an adaptive point lies, and the chance with which it came to lie there."""

    number: int
    input: Sequence[float]
    candidates: int  # independent draws of which two were taken
    chance: float  # to be one of them

    @property
    def weight(self) -> float:
        """By which it counts in an average."""
        return 2.0 / (self.candidates * self.chance)


@dataclass(frozen=True)
class Counts:
    """How far a study is: how many evaluations are stored, and how long they took."""

    done: int
    failed: int
    seconds: float


@dataclass(frozen=True)
class Sessions:
    """The times that a study was run: how many, when first (UTC), how long in all by the clock."""

    count: int
    began: str | None
    seconds: float


class Store:
    """The file of one study.

    Args:
        path: of the file; it is made by the first `writing`.
        about: what the study is, names to texts; among them `inputs` and `outputs`, JSON lists of
            their names. A store made for another one is refused.
    """

    def __init__(self, path: Path, about: Mapping[str, str]) -> None:
        self.path, self.about = path, dict(about)
        try:
            useless = path.is_dir()
        except (OSError, ValueError) as error:
            raise InputError(
                f"store {path} cannot be used ({error}); give another path."
            ) from None
        if useless or not path.name:
            raise InputError(f"store {path} is a directory; give the path of a file.")
        self._sizes = {key: len(json.loads(about[key])) for key in ("inputs", "outputs")}
        self._writer: sqlite3.Connection | None = None
        self._synced = 0.0
        self._began, self._session = 0.0, None

    @property
    def exists(self) -> bool:
        """Whether anything was stored yet."""
        return self.path.exists()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """While this lasts, `record` and `keep_estimate` work here and in no other process."""
        lock = self._lock()
        try:
            with _plainly(self.path):
                if self.path.exists() and self.path.stat().st_size:
                    self._check_whole()
                else:
                    self._create()
                self._writer = self._open_to_write()
            self._began, self._session = time.monotonic(), None
            yield
        finally:
            if self._writer is not None:
                self._writer.close()  # which also empties the log
                self._writer = None
            _locks.release(lock)

    def record(self, rows: Iterable[Evaluation]) -> None:
        """Write finished evaluations, all or none; a later attempt replaces an earlier one."""
        writer = self._require_writer()
        packed = [
            row._replace(
                input=json.dumps(row.input),  # pyright: ignore[reportArgumentType]
                outputs=None if row.outputs is None else json.dumps(row.outputs),  # pyright: ignore[reportArgumentType]
            )
            for row in rows
        ]
        with _plainly(self.path):
            with _transaction(writer):
                writer.executemany(
                    "INSERT INTO evaluation VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) "
                    "ON CONFLICT (number) DO UPDATE SET status = excluded.status, "
                    "outputs = excluded.outputs, seconds = excluded.seconds, "
                    "attempt = excluded.attempt, failure = excluded.failure, "
                    "error = excluded.error, version = excluded.version "
                    "WHERE status = 'failed'",
                    packed,
                )
                writer.executemany(
                    "INSERT OR IGNORE INTO version VALUES (?)",
                    {(row.version,) for row in packed if row.status == "done"},
                )
                self._keep_time(writer)
            if time.monotonic() - self._synced >= SYNC:
                writer.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
                self._synced = time.monotonic()

    def counts(self) -> Counts:
        """Done, failed and seconds, from an index alone."""
        found = dict.fromkeys(("done", "failed"), (0, 0.0))
        with self._reading() as reader:
            query = "SELECT status, COUNT(*), SUM(seconds) FROM evaluation GROUP BY status"
            for status, count, seconds in reader.execute(query):
                found[status] = (count, seconds)
        (done, spent), (failed, lost) = found["done"], found["failed"]
        return Counts(done, failed, spent + lost)

    def sessions(self) -> Sessions:
        """When something was evaluated; from the start of each session to its last evaluation."""
        with self._reading() as reader:
            query = "SELECT COUNT(*), MIN(began), TOTAL(seconds) FROM session"
            return Sessions(*reader.execute(query).fetchone())

    def failures(self) -> dict[str, int]:
        """How many failed in which way."""
        with self._reading() as reader:
            query = (
                "SELECT failure, COUNT(*) FROM evaluation WHERE status = 'failed' GROUP BY failure"
            )
            return dict(reader.execute(query).fetchall())

    def first_failures(self) -> list[tuple[str, int, int, str]]:
        """For each way of failing: how many, and the first of them by number with its error."""
        query = (  # SQLite takes `error` from the row that has the minimum
            "SELECT failure, COUNT(*), MIN(number), error FROM evaluation "
            "WHERE status = 'failed' GROUP BY failure ORDER BY COUNT(*) DESC"
        )
        with self._reading() as reader:
            return reader.execute(query).fetchall()

    def median_and_longest(self) -> tuple[float, float] | None:
        """Seconds of the evaluations that are done, None if there is none."""
        each = "SELECT seconds FROM evaluation WHERE status = 'done' ORDER BY seconds"
        with self._reading() as reader:
            query = "SELECT COUNT(*), MAX(seconds) FROM evaluation WHERE status = 'done'"
            count, longest = reader.execute(query).fetchone()
            if not count:
                return None
            (median,) = reader.execute(f"{each} LIMIT 1 OFFSET ?", (count // 2,)).fetchone()
            return median, longest

    def versions(self) -> list[str]:
        """Of the integrand, among the evaluations that are done."""
        with self._reading() as reader:
            return [name for (name,) in reader.execute("SELECT name FROM version ORDER BY name")]

    def attempts(self, start: int, stop: int) -> dict[int, int | None]:
        """Of the numbers start to stop - 1 that are stored: None if done, else failed attempts."""
        with self._reading() as reader:
            query = (
                "SELECT number, status, attempt FROM evaluation WHERE number >= ? AND number < ?"
            )
            rows = reader.execute(query, (start, stop))
            return {number: None if s == "done" else attempt for number, s, attempt in rows}

    def rows(self, stop: int | None = None) -> Iterator[Evaluation]:
        """Evaluations in the order of their numbers, those below `stop`, a few at a time."""
        query = "SELECT * FROM evaluation WHERE number < ? ORDER BY number"
        with self._reading() as reader:
            cursor = reader.execute(query, (2**62 if stop is None else stop,))
            for row in cursor:
                each = Evaluation(*row)
                outputs = each.outputs
                if outputs is not None:
                    outputs = _numbers(outputs, self._sizes["outputs"])
                point = _numbers(each.input, self._sizes["inputs"])
                yield each._replace(input=point, outputs=outputs)

    def forget_attempts(self) -> int:
        """Give every failed point all its attempts back; how many there are."""
        with _plainly(self.path):
            query = "UPDATE evaluation SET attempt = 0 WHERE status = 'failed'"
            return self._require_writer().execute(query).rowcount

    def keep_choices(self, rows: Iterable[Choice]) -> None:
        """Write down adaptive points before they are evaluated, all or none."""
        writer = self._require_writer()
        packed = [row._replace(input=json.dumps(row.input)) for row in rows]  # pyright: ignore[reportArgumentType]
        with _plainly(self.path), _transaction(writer):
            writer.executemany("INSERT INTO choice VALUES (?, ?, ?, ?)", packed)

    def count_choices(self) -> int:
        """How many adaptive points there are."""
        with self._reading() as reader:
            return reader.execute("SELECT COUNT(*) FROM choice").fetchone()[0]

    def choices(self, start: int, stop: int) -> list[Choice]:
        """Adaptive points of the numbers start to stop - 1."""
        query = "SELECT * FROM choice WHERE number >= ? AND number < ? ORDER BY number"
        with self._reading() as reader:
            rows = [Choice(*row) for row in reader.execute(query, (start, stop))]
        with _plainly(self.path):
            size = self._sizes["inputs"]
            return [row._replace(input=_numbers(row.input, size)) for row in rows]

    def keep_estimate(self, n: int, settings: str, record: Mapping[str, Any]) -> None:
        """The answer from the first n points with these settings."""
        with _plainly(self.path):
            query = "INSERT OR REPLACE INTO estimate VALUES (?, ?, ?)"
            self._require_writer().execute(query, (n, settings, json.dumps(record)))

    def estimates(self) -> list[tuple[int, str, dict[str, Any]]]:
        """Every answer that was kept: points, settings, record; in the order of points."""
        with self._reading() as reader:
            rows = reader.execute("SELECT n, settings, record FROM estimate ORDER BY n")
            return [(n, settings, json.loads(record)) for n, settings, record in rows]

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with _plainly(self.path):
            if self._writer is not None:
                yield self._writer
                return
            if not self.path.exists():
                raise InputError(f"store {self.path} does not exist; run the study first.")
            self._check_size()
            reader = _connect(self.path, "ro")
            try:
                self._check_about(reader)
                yield reader
            finally:
                reader.close()

    def _keep_time(self, writer: sqlite3.Connection) -> None:
        """How long this session has lasted; one in which nothing is evaluated leaves no trace."""
        seconds = time.monotonic() - self._began
        if self._session is None:
            start = datetime.now(UTC) - timedelta(seconds=seconds)
            row = (start.isoformat(timespec="seconds"), seconds)
            query = "INSERT INTO session (began, seconds) VALUES (?, ?)"
            self._session = writer.execute(query, row).lastrowid
        else:
            row = (seconds, self._session)
            writer.execute("UPDATE session SET seconds = ? WHERE id = ?", row)

    def _require_writer(self) -> sqlite3.Connection:
        if self._writer is None:
            raise RuntimeError("this needs `with store.writing():`")
        return self._writer

    def _lock(self) -> int:
        real = self.path.resolve()  # one lock, whatever link leads there
        file = real.with_name(real.name + ".lock")
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            lock = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise InputError(
                f"store {self.path} cannot be written ({error.strerror}); give another path."
            ) from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.read(lock, 40).decode(errors="replace")
            os.close(lock)
            raise InputError(
                f"store {self.path} is being written by process {holder}; wait or stop it."
            ) from None
        os.truncate(lock, 0)
        os.write(lock, str(os.getpid()).encode())
        _locks.hold(lock)
        return lock

    def _open_to_write(self) -> sqlite3.Connection:
        writer = _connect(self.path, "rw")
        try:
            writer.execute("PRAGMA synchronous = NORMAL")
            self._check_about(writer)
        except BaseException:
            writer.close()
            raise
        return writer

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
        new = self.path.with_name(self.path.name + ".new")
        new.unlink(missing_ok=True)  # of a process that was killed here
        writer = _connect(new, "rwc")
        try:
            writer.execute(f"PRAGMA application_id = {APPLICATION}")
            writer.execute(f"PRAGMA user_version = {FORMAT}")
            for statement in TABLES.split(";")[:-1]:
                writer.execute(statement)
            writer.executemany("INSERT INTO about VALUES (?, ?)", self.about.items())
            writer.execute("PRAGMA journal_mode = WAL").fetchall()
        finally:
            writer.close()
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
            wanted = unit * int.from_bytes(head[28:32], "big")
            if size < max(wanted, 100):
                raise _damaged(self.path, f"it has {size} bytes of {wanted}")

    def _check_whole(self) -> None:
        """Refuse a file that is damaged or not ours before anything is written to it."""
        self._check_size()
        reader = _connect(self.path, "ro")
        try:
            (verdict,) = reader.execute("PRAGMA quick_check(1)").fetchone()
            if verdict != "ok":
                raise _damaged(self.path, verdict.replace("\n", " "))
            self._check_about(reader)
        finally:
            reader.close()


def _numbers(text: Any, size: int) -> list[float]:
    """A list of so many numbers that was written as JSON."""
    found = json.loads(text)
    listed = isinstance(found, list) and len(found) == size
    if not listed or not all(isinstance(each, float | int) for each in found):
        raise ValueError(f"{str(text)[:60]!r} is no list of numbers, {size} in all")
    return found


class _Locks:
    """Files that are locked: a copy of this process, as pools make by fork, gives them up.

    Else the copies of a process that was killed would go on holding its locks.
    """

    def __init__(self) -> None:
        self._held: set[int] = set()
        self._known = False

    def hold(self, lock: int) -> None:
        if not self._known:
            os.register_at_fork(after_in_child=self._give_up)
            self._known = True
        self._held.add(lock)

    def release(self, lock: int) -> None:
        if lock in self._held:
            self._held.discard(lock)
            os.close(lock)

    def _give_up(self) -> None:
        for lock in tuple(self._held):
            self.release(lock)


_locks = _Locks()


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    uri = f"{path.resolve().as_uri()}?mode={mode}"
    return sqlite3.connect(uri, uri=True, isolation_level=None, timeout=30)


@contextmanager
def _transaction(writer: sqlite3.Connection) -> Iterator[None]:
    writer.execute("BEGIN IMMEDIATE")
    try:
        yield
        writer.execute("COMMIT")
    except BaseException:
        writer.execute("ROLLBACK")
        raise


@contextmanager
def _plainly(path: Path) -> Iterator[None]:
    """What SQLite has to complain of, or texts that make no sense, in one sentence."""
    try:
        yield
    except InputError:
        raise
    except (ValueError, TypeError, KeyError) as error:
        raise _damaged(path, str(error)) from None
    except sqlite3.OperationalError as error:
        if "malformed" in str(error):
            raise _damaged(path, str(error)) from None
        raise InputError(
            f"store {path} cannot be used ({error}); see that its directory can be written, has "
            "space and is on a local disk."
        ) from None
    except sqlite3.DatabaseError as error:
        raise _damaged(path, str(error)) from None
    except OSError as error:
        raise InputError(f"store {path} cannot be read ({error.strerror}).") from None


def _damaged(path: Path, reason: str) -> InputError:
    return InputError(
        f"store {path} is damaged ({reason}) and was left as it is; restore a copy, or save "
        f"what can be read with sqlite3's .recover."
    )
