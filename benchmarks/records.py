"""Rows of a benchmark in a JSON-lines file: what is there is not run again."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
FIGURES = Path(__file__).parents[1] / "docs" / "figures"  # those that a page shows


class Records:
    """Append-only rows, found again by their key fields; a killed run goes on where it stopped."""

    def __init__(self, name: str, key: Iterable[str]) -> None:
        self.path = RESULTS / f"{name}.jsonl"
        self.key = tuple(key)
        lines = self.path.read_text().splitlines() if self.path.exists() else []
        self.rows: list[dict[str, Any]] = [json.loads(line) for line in lines]
        self._known = {self._place(row) for row in self.rows}

    def _place(self, row: Mapping[str, Any]) -> tuple[Any, ...]:
        return tuple(row[name] for name in self.key)

    def has(self, **key: Any) -> bool:
        """Whether a row with these key fields is there."""
        return self._place(key) in self._known

    def add(self, **row: Any) -> None:
        """Append a row at once."""
        self.rows.append(row)
        self._known.add(self._place(row))
        RESULTS.mkdir(exist_ok=True)
        with self.path.open("a") as file:
            file.write(json.dumps(row) + "\n")

    def select(self, **fields: Any) -> list[dict[str, Any]]:
        """Rows with these fields."""
        return [row for row in self.rows if all(row[name] == v for name, v in fields.items())]
