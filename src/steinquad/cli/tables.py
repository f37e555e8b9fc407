"""Tables in files: CSV and Parquet, columns by name."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from steinquad._types import Array
from steinquad.errors import InputError

__all__ = ["parse_support", "read_table", "select"]


def read_table(path: Path) -> pa.Table:
    """The table in a .csv or .parquet file."""
    if not path.is_file():
        raise InputError(f"file {path} does not exist or is not a file.")
    try:
        if path.suffix.lower() in (".parquet", ".pq"):
            return pyarrow.parquet.read_table(path)
        return pyarrow.csv.read_csv(path)
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"file {path} cannot be read as CSV or Parquet ({reason}).") from None


def select(table: pa.Table, option: str, columns: str) -> Array:
    """The named columns as an array (n, len(columns))."""
    parts = []
    for name in (column.strip() for column in columns.split(",")):
        if name not in table.column_names:
            known = ", ".join(table.column_names)
            raise InputError(f"{option} names column {name!r}; the file has {known}.")
        try:
            parts.append(np.asarray(table[name].to_numpy(), dtype=np.float64))
        except (TypeError, ValueError):
            raise InputError(f"{option} names column {name!r}, which is not numeric.") from None
    return np.stack(parts, axis=1)


def parse_support(text: str) -> dict[int | str, tuple[float | None, float | None]]:
    """`0=0:45,3=0:` as `{0: (0, 45), 3: (0, None)}`; a coordinate is an index or a column."""
    bounds: dict[int | str, tuple[float | None, float | None]] = {}
    for part in text.split(","):
        coordinate, equals, sides = part.partition("=")
        low, colon, high = sides.partition(":")
        try:
            if not (equals and colon):
                raise ValueError
            pair = (_side(low), _side(high))
        except ValueError:
            raise InputError(
                f"--support has {part!r}; write coordinate=low:high with an empty open side, "
                "e.g. 0=0:45,3=0:."
            ) from None
        key: Any = coordinate.strip()
        bounds[int(key) if key.isdigit() else key] = pair
    return bounds


def _side(text: str) -> float | None:
    return float(text) if text.strip() else None
