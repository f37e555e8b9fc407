"""Rows of many files: CSV and Parquet, checked before anything is computed, read in batches."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from glob import glob, has_magic
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.csv
import pyarrow.parquet

from steinquad._types import Array, as_path
from steinquad.errors import InputError, shown, shown_point
from steinquad.support import Support

__all__ = ["Batch", "Columns", "Piece", "Source", "is_numeric"]

PARQUET, CSV = (".parquet", ".pq"), (".csv",)
BATCH = 65_536  # rows in memory at a time
PIECE = 500_000  # rows of a piece of a Parquet file, if its row groups are smaller
BUFFER = 2**20  # bytes that are read at a time of each column of a Parquet file
MOST_NAMED = 20  # columns in a message
NUMERIC = (
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_decimal,
    pa.types.is_boolean,
    pa.types.is_null,
)


def is_numeric(kind: pa.DataType) -> bool:
    """Whether a column of this type has numbers; dates and times are none."""
    return any(is_kind(kind) for is_kind in NUMERIC)


@dataclass(frozen=True)
class Columns:
    """Which columns of the files are what.

    Attributes:
        x: coordinates of the points.
        value: f there, a column for each output.
        score: gradient of the log density, one for each coordinate; empty where not in the files.
        scalar: whether the answer is a number, of a single output.
    """

    x: tuple[str, ...]
    value: tuple[str, ...]
    score: tuple[str, ...]
    scalar: bool

    @classmethod
    def of(cls, x: Any, value: Any, score: Any) -> "Columns":
        """From what the user gave: a name or several, None for no score."""
        points, values = _names("x", x), _names("value", value)
        scores = () if score is None else _names("score", score)
        if score is not None and len(scores) != len(points):
            raise InputError(
                f"score has {len(scores)} columns but x has {len(points)}; name one for each."
            )
        return cls(points, values, scores, scalar=isinstance(value, str))

    @property
    def all(self) -> tuple[str, ...]:
        """Every column that is read, once."""
        return tuple(dict.fromkeys((*self.x, *self.value, *self.score)))


class Piece(NamedTuple):
    """Consecutive rows of one file that are read by one task.

    Attributes:
        path: the file.
        first: number of its first row among all rows of all files.
        begin: number of its first row in the file.
        rows: how many.
        groups: row groups of a Parquet file; None for the whole of a CSV file.
    """

    path: str
    first: int
    begin: int
    rows: int
    groups: tuple[int, ...] | None

    def row(self, number: int) -> int:
        """Which row of the file has this number among all rows."""
        return number - self.first + self.begin


class Batch(NamedTuple):
    """Some rows.

    Attributes:
        first: number of the first among all rows.
        x: points, (n, d).
        fx: values, (n, k).
        score: (n, d), or None.
    """

    first: int
    x: Array
    fx: Array
    score: Array | None


@dataclass(frozen=True, eq=False)
class Source:
    """Rows of all files, in the order of the files; what is read is checked.

    Attributes:
        columns: that are read.
        pieces: of all files, in order.
    """

    columns: Columns
    pieces: tuple[Piece, ...]

    @classmethod
    def open(cls, given: Any, columns: Columns) -> "Source":
        """Find the files, look whether they have the columns, and count their rows.

        Of Parquet files only the metadata are read; rows of CSV files are counted by reading one
        column.

        Args:
            given: a file, a directory, a pattern such as `draws/*.parquet`, or a list of these.
            columns: that every file must have.
        """
        pieces: list[Piece] = []
        first = 0
        for path in files_of(given):
            with _readable(path):
                found = _pieces_of(path, first, columns.all)
            pieces += found
            first += sum(piece.rows for piece in found)
        if first < 2:
            raise InputError(f"source {shown(given)} has {first} rows; give at least 2.")
        return cls(columns, tuple(pieces))

    @property
    def rows(self) -> int:
        """Number of all rows."""
        return self.pieces[-1].first + self.pieces[-1].rows

    @cached_property
    def files(self) -> tuple[str, ...]:
        """The files, in order."""
        return tuple(dict.fromkeys(piece.path for piece in self.pieces))

    def take(self, numbers: np.ndarray, support: Support | None = None) -> Batch:
        """The rows of these numbers among all; only their pieces are read.

        Args:
            numbers: in ascending order.
            support: where points must lie, when known.
        """
        parts: list[Batch] = []
        for piece in self.pieces:
            ends = np.searchsorted(numbers, (piece.first, piece.first + piece.rows))
            if ends[0] == ends[1]:
                continue
            for batch in batches(piece, self.columns, support):
                end = batch.first + len(batch.x)
                own = numbers[(numbers >= batch.first) & (numbers < end)] - batch.first
                score = None if batch.score is None else batch.score[own]
                parts.append(Batch(0, batch.x[own], batch.fx[own], score))
        scores = [part.score for part in parts if part.score is not None]
        return Batch(
            first=0,
            x=np.concatenate([part.x for part in parts]),
            fx=np.concatenate([part.fx for part in parts]),
            score=np.concatenate(scores) if scores else None,
        )


def files_of(given: Any) -> list[Path]:
    """The files that a user means, each once; those of a pattern or directory by their names.

    Args:
        given: a file, a directory with all below it, a pattern, or a list of these.
    """
    several = isinstance(given, Sequence) and not isinstance(given, str)
    found: list[Path] = []
    for each in given if several else [given]:
        if not isinstance(each, str | PathLike):
            raise InputError(f"source has {shown(each)}; give paths of files.")
        found += _files_at(as_path("source", each))
    if not found:
        raise InputError("source is empty; give at least one file.")
    double = next((path for path in found if found.count(path) > 1), None) if several else None
    if double is not None:
        raise InputError(f"source has file {double} twice; give it once.")
    return found


def _files_at(path: Path) -> list[Path]:
    """One file, or those that a directory or a pattern has, sorted by name."""
    if path.is_dir():
        below = (each for each in path.rglob("*") if not _hidden(each.relative_to(path)))
        found = sorted(each for each in below if each.suffix.lower() in PARQUET + CSV)
        if not found:
            raise InputError(f"source {path} is a directory without CSV or Parquet files.")
        return found
    if path.is_file():
        return [path]
    if has_magic(str(path)):
        found = sorted(Path(each) for each in glob(str(path), recursive=True))
        if found := [each for each in found if each.is_file()]:
            return found
        raise InputError(f"source {path} matches no files.")
    raise InputError(f"source {path} does not exist.")


def _hidden(path: Path) -> bool:
    """Whether it is a note of some program beside its files, as they are named."""
    return any(part.startswith((".", "_")) for part in path.parts)


def _pieces_of(path: Path, first: int, names: tuple[str, ...]) -> list[Piece]:
    """The pieces of one file, whose columns are checked."""
    if path.suffix.lower() in CSV:
        with pyarrow.csv.open_csv(path) as head:
            _check_schema(path, head.schema, names, numeric=False)
        rows = sum(batch.num_rows for batch in _csv(path, names[:1]))
        return [Piece(str(path.resolve()), first, 0, rows, None)] if rows else []
    with pyarrow.parquet.ParquetFile(path) as file:
        _check_schema(path, file.schema_arrow, names, numeric=True)
        sizes = [file.metadata.row_group(g).num_rows for g in range(file.metadata.num_row_groups)]
    pieces: list[Piece] = []
    begin, group = 0, 0
    while group < len(sizes):
        last, rows = group + 1, sizes[group]
        while last < len(sizes) and rows + sizes[last] <= PIECE:
            rows, last = rows + sizes[last], last + 1
        if rows:
            own = tuple(range(group, last))
            pieces.append(Piece(str(path.resolve()), first + begin, begin, rows, own))
        begin, group = begin + rows, last
    return pieces


def _check_schema(path: Path, schema: pa.Schema, names: Iterable[str], *, numeric: bool) -> None:
    for name in names:
        count = len(schema.get_all_field_indices(name))
        if count != 1:
            some = ", ".join(schema.names[:MOST_NAMED]) + ", ..." * (len(schema) > MOST_NAMED)
            has = f"it {count} times" if count else some
            raise InputError(f"file {path} has no one column {name!r}; it has {has}.")
        kind = schema.field(name).type
        if numeric and not is_numeric(kind):
            raise InputError(f"file {path} has column {name!r}, which is not numeric but {kind}.")


def batches(piece: Piece, columns: Columns, support: Support | None = None) -> Iterator[Batch]:
    """The rows of a piece, in order, a bounded number at a time.

    Missing numbers and points outside of the support are refused, with file and row.

    Args:
        piece: of a source.
        columns: to be read, and no others.
        support: where points must lie, when known.
    """
    first = piece.first
    path = Path(piece.path)
    with _readable(path):
        for table in _tables(piece, columns.all):
            kept = {name: _numbers(table, name) for name in columns.all}
            for name, column in kept.items():
                bad = np.flatnonzero(~np.isfinite(column))
                if len(bad):
                    row, what = piece.row(first + bad[0]), column[bad[0]]
                    raise InputError(
                        f"file {path} has {what} in column {name!r} at row {row}; remove or "
                        "repair such rows."
                    )
            x, fx, score = (
                np.stack([kept[name] for name in own], axis=1) if own else None
                for own in (columns.x, columns.value, columns.score)
            )
            assert x is not None and fx is not None  # there are names of both
            if support is not None and not (inside := support.contains(x)).all():
                outside = int(np.flatnonzero(~inside)[0])
                raise InputError(
                    f"file {path} has at row {piece.row(first + outside)} the point "
                    f"{shown_point(x[outside].tolist())}, outside of the support {support}; "
                    "remove it or correct the support."
                )
            yield Batch(first, x, fx, score)
            first += len(x)
    if first != piece.first + piece.rows:
        raise InputError(f"file {path} has changed while it was read; leave files alone.")


def _tables(piece: Piece, names: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
    if piece.groups is None:
        yield from _csv(Path(piece.path), names)
        return
    with pyarrow.parquet.ParquetFile(piece.path, buffer_size=BUFFER) as file:
        yield from file.iter_batches(
            BATCH, row_groups=list(piece.groups), columns=list(names), use_threads=False
        )


def _csv(path: Path, names: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
    """Batches of a CSV file: of every cell a number is asked."""
    types = dict.fromkeys(names, pa.float64())
    options = pyarrow.csv.ConvertOptions(column_types=types, include_columns=list(names))
    with pyarrow.csv.open_csv(path, convert_options=options) as reader:
        yield from reader


def _numbers(table: pa.RecordBatch, name: str) -> Array:
    """A column as float64, NaN where a value is missing."""
    column = pyarrow.compute.cast(table.column(name), pa.float64(), safe=False)
    return column.to_numpy(zero_copy_only=False)


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """What Arrow says of a file that it cannot read, in one line."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        text = getattr(error, "strerror", None) or str(error)
        reason = text.partition("\n")[0]
        raise InputError(f"file {path} cannot be read as CSV or Parquet ({reason}).") from None
    except UnicodeDecodeError:
        raise InputError(
            f"file {path} has a column whose name is not UTF-8; save it as UTF-8."
        ) from None


def _names(argument: str, given: Any) -> tuple[str, ...]:
    """The names of columns, at least one and each once."""
    several = isinstance(given, list | tuple) and all(isinstance(name, str) for name in given)
    names = (given,) if isinstance(given, str) else tuple(given) if several else ()
    if not names:
        raise InputError(
            f"{argument} is {shown(given)}; name columns of the files, such as ['x0', 'x1']."
        )
    double = next((name for name in names if names.count(name) > 1), None)
    if double is not None:
        raise InputError(f"{argument} names column {double!r} twice; name it once.")
    return names
