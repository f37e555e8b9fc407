"""The parts that a page is made of. All text in them is as the user wrote it: not escaped."""

from typing import Literal, NamedTuple, TypeAlias

__all__ = ["Answer", "Block", "Figure", "Heading", "Note", "Quote", "Row", "Table", "Text"]

Row: TypeAlias = tuple[str, ...]


class Heading(NamedTuple):
    """A title that begins a section of the page.

    Attributes:
        level: 1 for the page itself, 2 for its sections, 3 for parts of these.
        text: in one line.
    """

    level: int
    text: str


class Text(NamedTuple):
    """A paragraph of plain words, without markup.

    Attributes:
        text: of any length; line breaks in it are shown as spaces, and whatever looks like HTML or
            Markdown is shown as it is written.
    """

    text: str


class Note(NamedTuple):
    """What must not be overlooked, or that all is well; set apart from the text around it.

    Attributes:
        kind: `good` for a status that needs no attention, `doubt` where a reader should stop and
            read.
        head: in a few words.
        text: the reason, in a sentence.
    """

    kind: Literal["good", "doubt"]
    head: str
    text: str


class Answer(NamedTuple):
    """The number that the study is about, for one output, in words that are ready to print.

    Attributes:
        name: of the output.
        value: mean ± std with its unit, rounded to the std.
        interval: the 95 % interval, in words.
        more: what to compare it with, in a sentence or two.
    """

    name: str
    value: str
    interval: str
    more: str


class Table(NamedTuple):
    """Rows of text, with numbers that are already rounded and have their units.

    Attributes:
        head: titles of the columns.
        rows: of as many cells each.
        left: how many columns, from the first, hold words; the others are numbers, set to the
            right.
        bars: first-order and total share of each row, drawn in a last column in HTML; empty for
            none.
    """

    head: Row
    rows: tuple[Row, ...]
    left: int = 1
    bars: tuple[tuple[float, float], ...] = ()


class Figure(NamedTuple):
    """A drawing, what it shows in words, and its numbers for pages without drawings.

    Attributes:
        svg: an element that is put into HTML as it is, so all text in it is escaped already.
        caption: enough to understand the figure by.
        numbers: what is drawn as a table, folded away in HTML; None for a drawing that has no
            table.
    """

    svg: str
    caption: str
    numbers: Table | None = None


class Quote(NamedTuple):
    """Text of a program or a citation, with its line breaks and in a fixed width.

    Attributes:
        text: such as an error of the integrand; it may hold anything, and is shown rather than
            obeyed.
    """

    text: str


Block: TypeAlias = Heading | Text | Note | Answer | Table | Figure | Quote
