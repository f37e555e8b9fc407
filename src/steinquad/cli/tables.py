"""Tables in files: CSV and Parquet, columns by name."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from steinquad._types import Array
from steinquad.errors import InputError, shown
from steinquad.streaming.source import is_numeric
from steinquad.studies.calls.answers import number_in
from steinquad.terminal.plain import listed

__all__ = ["column_names", "parse_support", "read_table", "safe_for_spreadsheets", "select"]

LONGEST_INDEX = 9  # digits; what is longer is a name
FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n")  # how a text begins that is taken for one


def read_table(path: Path) -> pa.Table:
    """The table in a .csv or .parquet file, whatever its columns.

    Raises `InputError`, with the reason, for a file that is not there or cannot be read, and for
    names of columns that are not UTF-8.
    """
    try:
        if not path.is_file():
            raise InputError(f"file {path} does not exist or is not a file.")
        if path.suffix.lower() in (".parquet", ".pq"):
            table = pyarrow.parquet.read_table(path)
        else:
            table = pyarrow.csv.read_csv(path)
        assert table.column_names is not None  # decodes them all, now
        return table
    except (pa.ArrowException, OSError) as error:
        text = getattr(error, "strerror", None) or str(error)
        reason = text.partition("\n")[0]  # Arrow goes on for lines, a complaint is one
        raise InputError(f"file {path} cannot be read as CSV or Parquet ({reason}).") from None
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise InputError(
            f"file {path} has a column whose name is not UTF-8 (byte {byte:#x}); save it as UTF-8."
        ) from None


def column_names(columns: str) -> list[str]:
    """The names in an option such as `--x x0,x1`; spaces around a name do not count.

    >>> column_names("x0, x1")
    ['x0', 'x1']
    """
    return [name.strip() for name in columns.split(",")]


def select(table: pa.Table, option: str, columns: str) -> Array:
    """Columns of a table as an array (n, k), in the order in which they are named.

    Args:
        table: what `read_table` gave.
        option: where the names come from, such as `--x`, for the message to a user who names a
            column that is not there or not numeric.
        columns: the names, separated by commas.
    """
    parts = []
    for name in column_names(columns):
        places = table.schema.get_all_field_indices(name)
        if len(places) != 1:
            known = f"it {len(places)} times" if places else listed(table.column_names)
            raise InputError(f"{option} names column {name!r}; the file has {known}.")
        parts.append(_numbers(table.column(places[0]), f"{option} names column {name!r}"))
    return np.stack(parts, axis=1)


def _numbers(column: pa.ChunkedArray, named: str) -> Array:
    """A column as float64, NaN where a value is missing; dates and times are no numbers.

    Texts are read as anywhere else: Arrow leaves a column as text for one cell that it cannot
    read, and NumPy would take `1_000` in it for a number.
    """
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    texts = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    if not (texts or is_numeric(kind)):
        raise InputError(f"{named}, which is not numeric but {kind}.")
    if not texts:
        return np.asarray(column.to_numpy(), dtype=np.float64)
    values = np.full(len(column), np.nan)
    for row, cell in enumerate(column.to_pylist()):
        if cell is not None:
            try:
                values[row] = number_in(cell)
            except ValueError:
                raise InputError(
                    f"{named}, which is not numeric: row {row} has {shown(cell)}."
                ) from None
    return values


def parse_support(text: str) -> dict[int | str, tuple[float | None, float | None]]:
    """Bounds of coordinates from an option, `coordinate=low:high` separated by commas.

    A coordinate is an index or the name of a column; an empty side is open. Numbers are in plain
    digits, as other programs write them.

    >>> parse_support("0=0:45,speed=0:")
    {0: (0.0, 45.0), 'speed': (0.0, None)}
    """
    bounds: dict[int | str, tuple[float | None, float | None]] = {}
    for part in text.split(","):
        coordinate, equals, sides = part.partition("=")
        low, colon, high = sides.partition(":")
        try:
            if not (equals and colon):
                raise ValueError
            pair = (
                number_in(low) if low.strip() else None,
                number_in(high) if high.strip() else None,
            )
        except ValueError:
            raise InputError(
                f"--support has {part!r}; write coordinate=low:high with an empty open side, "
                "e.g. 0=0:45,3=0:."
            ) from None
        key: Any = coordinate.strip()
        if key.isascii() and key.isdigit() and len(key) <= LONGEST_INDEX:
            key = int(key)
        if key in bounds:
            raise InputError(f"--support has coordinate {key!r} twice; give it once.")
        bounds[key] = pair
    return bounds


def safe_for_spreadsheets(cell: Any) -> Any:
    """A cell of a CSV file that no spreadsheet takes for a formula; numbers stay numbers.

    A text that begins like a formula gets an apostrophe, which spreadsheets take for "text".

    Args:
        cell: a text, such as the name of a column or an error, or anything else.

    >>> safe_for_spreadsheets("=1+1"), safe_for_spreadsheets(-1.5)
    ("'=1+1", -1.5)
    """
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULAS) else cell
