"""Tables in files: CSV and Parquet, columns by name."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from steinquad._types import Array
from steinquad.errors import InputError

__all__ = ["column_names", "parse_support", "read_table", "select"]


def read_table(path: Path) -> pa.Table:
    """The table in a .csv or .parquet file, whatever its columns.

    Raises `InputError`, with the reason, for a file that is not there or cannot be read.
    """
    if not path.is_file():
        raise InputError(f"file {path} does not exist or is not a file.")
    try:
        if path.suffix.lower() in (".parquet", ".pq"):
            return pyarrow.parquet.read_table(path)
        return pyarrow.csv.read_csv(path)
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0]  # Arrow goes on for lines, a complaint is one
        raise InputError(f"file {path} cannot be read as CSV or Parquet ({reason}).") from None


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
        if name not in table.column_names:
            known = ", ".join(table.column_names)
            raise InputError(f"{option} names column {name!r}; the file has {known}.")
        try:
            parts.append(np.asarray(table[name].to_numpy(), dtype=np.float64))
        except (TypeError, ValueError):
            raise InputError(f"{option} names column {name!r}, which is not numeric.") from None
    return np.stack(parts, axis=1)


def parse_support(text: str) -> dict[int | str, tuple[float | None, float | None]]:
    """Bounds of coordinates from an option, `coordinate=low:high` separated by commas.

    A coordinate is an index or the name of a column; an empty side is open.

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
            pair = (float(low) if low.strip() else None, float(high) if high.strip() else None)
        except ValueError:
            raise InputError(
                f"--support has {part!r}; write coordinate=low:high with an empty open side, "
                "e.g. 0=0:45,3=0:."
            ) from None
        key: Any = coordinate.strip()
        bounds[int(key) if key.isdigit() else key] = pair
    return bounds
