"""The parts that a page is made of. All text in them is as the user wrote it: not escaped."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = ["Answer", "Block", "Figure", "Heading", "Note", "Quote", "Row", "Table", "Text"]

Row: TypeAlias = tuple[str, ...]


@dataclass(frozen=True)
class Heading:
    """A title of level 1 to 3."""

    level: int
    text: str


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class Note:
    """What must not be overlooked, or that all is well."""

    kind: Literal["good", "doubt"]
    head: str
    text: str


@dataclass(frozen=True)
class Answer:
    """The number that the study is about, for one output."""

    name: str
    value: str
    interval: str
    more: str


@dataclass(frozen=True)
class Table:
    """Rows of text; columns but the first `left` hold numbers."""

    head: Row
    rows: tuple[Row, ...]
    left: int = 1
    bars: tuple[tuple[float, float], ...] = ()  # first order and total of each row, to be drawn


@dataclass(frozen=True)
class Figure:
    """A drawing, what it shows in words, and its numbers for pages without drawings."""

    svg: str
    caption: str
    numbers: Table | None = None


@dataclass(frozen=True)
class Quote:
    """Text of a program or a citation, with its line breaks."""

    text: str


Block: TypeAlias = Heading | Text | Note | Answer | Table | Figure | Quote
