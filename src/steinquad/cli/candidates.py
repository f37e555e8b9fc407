"""The methods that were considered, as a table for people."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table

__all__ = ["candidate_table"]


def candidate_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """A row for each: its held-out error relative to the spread of f, and what became of it."""
    table = Table(box=None, pad_edge=False)
    table.add_column("method", no_wrap=True)
    table.add_column("held-out", justify="right", no_wrap=True)
    table.add_column("")
    for row in rows:
        error = "-" if row["held_out_rms"] is None else f"{row['held_out_rms']:.1e}"
        table.add_row(row["method"], error, "chosen" if row["chosen"] else row["note"])
    return table
