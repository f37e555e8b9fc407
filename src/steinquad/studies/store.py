"""The evaluations of a study in one SQLite file that survives being killed at any moment.

A row is an evaluation, written in a transaction when it has finished (write-ahead log, synced to
the disk every few seconds). One process at a time may write, by a lock that dies with it; any
number may read meanwhile. A file that is damaged is refused and left as it is.
"""

import json
import math
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal, NamedTuple

from steinquad.studies.database import (
    Database,
    check_path,
    checksum,
    damaged,
    plainly,
    transaction,
)
from steinquad.studies.lock import locked

__all__ = ["Choice", "Counts", "Evaluation", "Sessions", "Store"]

SYNC = 5.0  # s of finished evaluations that a power cut may cost; a killed process costs none


class Evaluation(NamedTuple):
    """A row of the store: a point that was evaluated, and what came of its last attempt.

    Attributes:
        number: of the point in the study.
        status: `done`, or `failed` with or without attempts left.
        input: coordinates of the point.
        outputs: in the order of the study's outputs; None if it failed.
        seconds: that the last attempt took.
        attempt: how many were made, from 1; 0 after `Store.forget_attempts`.
        failure: its kind, see `Outcome`; None if it is done.
        error: what is known of the failure; None if it is done.
        version: of the integrand.
    """

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
    """A row: where an adaptive point lies, and the chance with which it came to lie there.

    Kept because it cannot be computed again without the outputs of the scouts, and because an
    average over chosen points is unbiased only with the chances by which they were taken.

    Attributes:
        number: of the point in the study.
        input: its coordinates.
        candidates: how many independent draws there were, of which two were taken.
        chance: to be one of these two.
    """

    number: int
    input: Sequence[float]
    candidates: int
    chance: float

    @property
    def weight(self) -> float:
        """By which the point counts in an average: 2 / (candidates × chance).

        This is the inverse of the chance, scaled to 1 where all candidates have the same; so an
        average over pairs has the expectation of one over their pools.
        """
        return 2.0 / (self.candidates * self.chance)


@dataclass(frozen=True)
class Counts:
    """How far a study is: how many evaluations are stored, and how long they took.

    Attributes:
        done: points with outputs.
        failed: points whose last attempt failed, with or without attempts left.
        seconds: sum over both, of the last attempt each: simulator time, not that of the clock.
    """

    done: int
    failed: int
    seconds: float


@dataclass(frozen=True)
class Sessions:
    """The times that a study was run, as far as anything was evaluated.

    Attributes:
        count: how many there were.
        began: when the first of them did, as ISO text in UTC; None if there was none.
        seconds: that they lasted in all by the clock, each up to its last evaluation.
    """

    count: int
    began: str | None
    seconds: float


class Store:
    """The file of one study.

    Args:
        path: of the file; it is made by the first `writing`.
        about: what the study is, names to texts; among them `inputs` and `outputs`, JSON lists of
            their names. A store made for another one is refused.
        clock: seconds that only rise, by which sessions are timed.
    """

    def __init__(
        self,
        path: Path,
        about: Mapping[str, str],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.path, self._database, self._clock = path, Database(path, about), clock
        check_path(path)
        self._sizes = {key: len(json.loads(about[key])) for key in ("inputs", "outputs")}
        self._writer: sqlite3.Connection | None = None
        self._synced = 0.0
        self._began, self._session = 0.0, None

    @property
    def exists(self) -> bool:
        """Whether there is a file with something in it; without, everything that reads is refused.

        A study that was never run has none, and may ask this first to answer with zeros.
        """
        return self._database.exists

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the store for writing while a `with` block lasts, here and in no other process.

        Needed by `record`, `forget_attempts`, `keep_choices` and `keep_estimate`. Makes the file
        if it is not there, and checks it as a whole if it is. Reading needs none of this.

        Raises:
            InputError: another process is writing, or the file cannot be used.
        """
        with plainly(self.path):
            self._database.check()  # nothing is left beside a file that is refused
        with locked(self.path), ExitStack() as stack:
            with plainly(self.path):
                self._writer = stack.enter_context(self._database.writing())
            self._began, self._session = self._clock(), None
            try:
                yield
            finally:
                self._writer = None

    def record(self, rows: Iterable[Evaluation]) -> None:
        """Write finished evaluations in one transaction, all or none.

        A process that is killed after this loses nothing of it; a power cut may cost the last
        seconds.

        Args:
            rows: a point that failed before is replaced by a later attempt; one that is done never
                is.
        """
        writer = self._require_writer()
        packed = [_packed(row) for row in rows]
        with plainly(self.path):
            with transaction(writer):
                writer.executemany(
                    "INSERT INTO evaluation VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
                    "ON CONFLICT (number) DO UPDATE SET status = excluded.status, "
                    "outputs = excluded.outputs, seconds = excluded.seconds, "
                    "attempt = excluded.attempt, failure = excluded.failure, "
                    "error = excluded.error, version = excluded.version, "
                    "checksum = excluded.checksum "
                    "WHERE status = 'failed'",
                    packed,
                )
                self._keep_time(writer)
            if self._clock() - self._synced >= SYNC:
                # A checkpoint is what syncs the log to the disk; PASSIVE never waits for readers.
                writer.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
                self._synced = self._clock()

    def counts(self) -> Counts:
        """How many are done and failed, and the seconds they took, from an index alone.

        Quick for a million rows, and safe while another process writes: for a display of progress
        that asks again and again.
        """
        totals = dict.fromkeys(("done", "failed"), (0, 0.0))
        with self._reading() as reader:
            query = (
                "SELECT status, COUNT(*), SUM(seconds), MIN(seconds), MAX(seconds) "
                "FROM evaluation GROUP BY status"
            )
            for status, count, seconds, *ends in reader.execute(query):
                if status not in totals or not _are_times(ends):
                    self._name_altered_row()
                totals[status] = (count, seconds)
        (done, spent), (failed, lost) = totals["done"], totals["failed"]
        return Counts(done, failed, spent + lost)

    def sessions(self) -> Sessions:
        """When something was evaluated, for the time by the clock in a report.

        A session lasts from its start to its last evaluation; one without any leaves no trace. The
        time that `counts` gives is another: many processes make more than a second in one.
        """
        with self._reading() as reader:
            query = (
                "SELECT COUNT(*), MIN(began), TOTAL(seconds), MIN(seconds), MAX(seconds) "
                "FROM session"
            )
            count, began, seconds, *ends = reader.execute(query).fetchone()
            if count and not _are_times(ends):
                raise ValueError("a session has lasted for no number of seconds")
            if count:
                datetime.fromisoformat(began)
            return Sessions(count, began, seconds)

    def failures(self) -> dict[str, int]:
        """How many evaluations failed in which way: the kind, such as `time-out`, to a number.

        Kinds are those of `Outcome`; one that did not happen is not there. `first_failures` has an
        example of each.
        """
        with self._reading() as reader:
            query = (
                "SELECT failure, COUNT(*) FROM evaluation WHERE status = 'failed' GROUP BY failure"
            )
            counts = dict(reader.execute(query).fetchall())
            if not all(isinstance(kind, str) for kind in counts):
                self._name_altered_row()
            return counts

    def first_failures(self) -> list[tuple[int, Evaluation]]:
        """For each way of failing, how often it happened and the first example of it.

        Returns:
            Counts and evaluations, those of lowest number that failed so; the most frequent kind
            first.
        """
        query = (
            "SELECT COUNT(*), MIN(number) FROM evaluation "
            "WHERE status = 'failed' GROUP BY failure ORDER BY COUNT(*) DESC"
        )
        examples: list[tuple[int, Evaluation]] = []
        with self._reading() as reader:
            for count, number in reader.execute(query).fetchall():
                one = "SELECT * FROM evaluation WHERE number = ?"
                with self._naming(f"row {number}"):
                    row = self._unpacked(reader.execute(one, (number,)).fetchone())
                examples.append((count, row))
        return examples

    def median_and_longest(self) -> tuple[float, float] | None:
        """Seconds of the evaluations that are done, None if there is none.

        Read from the index by status and seconds, so that no list of all times is sorted here. Of
        an even number the median is the upper of the two in the middle.
        """
        each = "SELECT seconds FROM evaluation WHERE status = 'done' ORDER BY seconds"
        with self._reading() as reader:
            query = "SELECT COUNT(*), MAX(seconds) FROM evaluation WHERE status = 'done'"
            count, longest = reader.execute(query).fetchone()
            if not count:
                return None
            (median,) = reader.execute(f"{each} LIMIT 1 OFFSET ?", (count // 2,)).fetchone()
            if not _are_times([median, longest]):
                self._name_altered_row()
            return median, longest

    def versions(self) -> list[str]:
        """Versions of the integrand among the evaluations that are done, in order of the alphabet.

        More than one makes an estimate suspect: the outputs may be those of different functions.
        Read from the evaluations themselves, so that none can be of a version that is not here.
        """
        query = "SELECT DISTINCT version FROM evaluation WHERE status = 'done' ORDER BY version"
        with self._reading() as reader:
            return [name for (name,) in reader.execute(query)]

    def attempts(self, start: int, stop: int) -> dict[int, int | None]:
        """What is stored of some points, for the driver to know which are still to do.

        Args:
            start: the first number.
            stop: the number after the last.

        Returns:
            For every number that is stored: None if it is done, else how often it failed.
        """
        with self._reading() as reader:
            query = (
                "SELECT number, status, attempt FROM evaluation WHERE number >= ? AND number < ?"
            )
            known: dict[int, int | None] = {}
            for number, status, attempt in reader.execute(query, (start, stop)):
                with self._naming(f"row {number}"):
                    _check_number("attempt", attempt, int)
                known[number] = None if status == "done" else attempt
            return known

    def rows(self, stop: int | None = None) -> Iterator[Evaluation]:
        """Evaluations in the order of their numbers, done and failed, read a few at a time.

        A row that is not as it was written is refused, with its number.

        Args:
            stop: only numbers below this; all by default.
        """
        query = "SELECT * FROM evaluation WHERE number < ? ORDER BY number"
        with self._reading() as reader:
            cursor = reader.execute(query, (2**62 if stop is None else stop,))
            for row in cursor:
                with self._naming(f"row {row[0]}"):
                    unpacked = self._unpacked(row)
                yield unpacked

    def forget_attempts(self) -> int:
        """Give every failed point all its attempts back, after the integrand was repaired.

        They stay failed in the store until one of the new attempts succeeds.

        Returns:
            How many points this concerns.
        """
        with plainly(self.path):
            query = "UPDATE evaluation SET attempt = 0 WHERE status = 'failed'"
            return self._require_writer().execute(query).rowcount

    def keep_choices(self, rows: Iterable[Choice]) -> None:
        """Write down adaptive points before they are evaluated, in one transaction.

        Before, because a run that is killed has to go on with the same points, also if a scout
        that had failed was repaired meanwhile.

        Args:
            rows: of numbers that have none yet; where a point lies is never changed.
        """
        writer = self._require_writer()
        packed = [
            _checked((number, json.dumps(point), candidates, float(chance)))
            for number, point, candidates, chance in rows
        ]
        with plainly(self.path), transaction(writer):
            writer.executemany("INSERT INTO choice VALUES (?, ?, ?, ?, ?)", packed)

    def count_choices(self) -> int:
        """How many adaptive points have been chosen, evaluated or not.

        They are chosen in whole blocks from the first on, so this number says which block is next.
        """
        with self._reading() as reader:
            return reader.execute("SELECT COUNT(*) FROM choice").fetchone()[0]

    def choices(self, start: int, stop: int) -> list[Choice]:
        """Adaptive points with their chances, in the order of their numbers.

        Both points of a pair are among them, the independent draw too, since its weight depends on
        the pool that it was in.

        Args:
            start: the first number.
            stop: the number after the last.
        """
        query = "SELECT * FROM choice WHERE number >= ? AND number < ? ORDER BY number"
        choices: list[Choice] = []
        with self._reading() as reader:
            for row in reader.execute(query, (start, stop)):
                with self._naming(f"choice {row[0]}"):
                    number, text, candidates, chance = _without_checksum(row)
                    point = _numbers(text, self._sizes["inputs"])
                choices.append(Choice(number, point, candidates, chance))
        return choices

    def keep_estimate(self, n: int, settings: str, record: Mapping[str, Any]) -> None:
        """Keep an answer, so that another run need not compute it again.

        Args:
            n: it is from the first so many points.
            settings: a text that says what else it depends on; see `Look.key`.
            record: the answer as `Estimate.to_dict` gives it.
        """
        with plainly(self.path):
            query = "INSERT OR REPLACE INTO estimate VALUES (?, ?, ?, ?)"
            self._require_writer().execute(query, _checked((n, settings, json.dumps(record))))

    def estimates(self) -> list[tuple[int, str, dict[str, Any]]]:
        """Every answer that was kept on the way, by any method and settings.

        Returns:
            Number of points, text of the settings as in `Look.key`, and the record as
            `Estimate.to_dict` gave it; in the order of the number of points.
        """
        kept: list[tuple[int, str, dict[str, Any]]] = []
        with self._reading() as reader:
            for row in reader.execute("SELECT * FROM estimate ORDER BY n"):
                with self._naming(f"the estimate kept at n = {row[0]}"):
                    n, settings, record = _without_checksum(row)
                    kept.append((n, settings, json.loads(record)))
        return kept

    def _unpacked(self, stored: Sequence[Any]) -> Evaluation:
        row = Evaluation(*stored[:-1])
        _check_number("seconds", row.seconds, float)
        _check_number("attempt", row.attempt, int)
        _without_checksum(stored)
        outputs = row.outputs
        if outputs is not None:
            outputs = _numbers(outputs, self._sizes["outputs"])
        return row._replace(input=_numbers(row.input, self._sizes["inputs"]), outputs=outputs)

    @contextmanager
    def _naming(self, what: str) -> Iterator[None]:
        """Say which row it is that makes no sense."""
        try:
            yield
        except (ValueError, TypeError, OverflowError, RecursionError) as error:
            said = str(error).partition("\n")[0][:200]
            raise damaged(self.path, f"{what}: {said}") from None

    def _name_altered_row(self) -> None:
        for _ in self.rows():
            pass

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with plainly(self.path):
            if self._writer is not None:
                yield self._writer
                return
            with self._database.reading() as reader:
                yield reader

    def _keep_time(self, writer: sqlite3.Connection) -> None:
        """How long this session has lasted; one in which nothing is evaluated leaves no trace."""
        seconds = self._clock() - self._began
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


def _packed(row: Evaluation) -> tuple[Any, ...]:
    """What is stored of an evaluation."""
    outputs = None if row.outputs is None else json.dumps(row.outputs)
    head = (row.number, row.status, json.dumps(row.input), outputs, float(row.seconds))
    return _checked((*head, row.attempt, row.failure, row.error, row.version))


def _checked(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return (*row, checksum(row))


def _without_checksum(stored: Sequence[Any]) -> Sequence[Any]:
    if checksum(stored[:-1]) != stored[-1]:
        raise ValueError("its checksum is wrong, so it was altered after it was written")
    return stored[:-1]


def _numbers(text: Any, size: int) -> list[float]:
    """A list of so many finite numbers that was written as JSON."""
    values = json.loads(text)
    listed = isinstance(values, list) and len(values) == size
    if not listed or not all(type(v) in (float, int) and math.isfinite(v) for v in values):
        raise ValueError(f"{str(text)[:60]!r} is no list of numbers, {size} in all")
    return values


def _check_number(name: str, value: Any, kind: type) -> None:
    if type(value) is not kind or not 0 <= value < math.inf:
        raise ValueError(f"{name} is {str(value)[:60]!r}, not a number of at least 0")


def _are_times(seconds: Sequence[Any]) -> bool:
    # SQLite sorts whatever is no number behind all numbers, so a least and a largest show it.
    return all(isinstance(each, float) and 0 <= each < math.inf for each in seconds)
