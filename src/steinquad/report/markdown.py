"""A page as Markdown: the same words and numbers, tables in place of drawings."""

import re
from collections.abc import Iterable
from html import escape

from steinquad.report.blocks import Answer, Block, Figure, Heading, Note, Quote, Table, Text
from steinquad.report.text import visible

__all__ = ["to_markdown"]

SPECIAL = re.compile(r"([\\`*_{}\[\]|~$@]|:(?=//))")  # nothing of the user's begins a line


def to_markdown(blocks: Iterable[Block]) -> str:
    """A page as Markdown, to be put into a repository or a notebook.

    Drawings are left out: their captions stay, and their numbers as tables where they have some.

    Args:
        blocks: what `outline` gave; all texts are escaped here.
    """
    return "\n\n".join(map(_block, blocks)) + "\n"


def _block(block: Block) -> str:
    match block:
        case Heading(level, text):
            return f"{'#' * level} {_text(text)}"
        case Text(text):
            return _text(text)
        case Note(_, head, text):
            return f"> **{_text(head)}**\n>\n> {_text(text)}"
        case Answer(name, value, interval, more):
            lines = (f"**{_text(value)}**", _text(interval), _text(more))
            return f"### {_text(name)}\n\n" + "\n\n".join(lines)
        case Table():
            return _table(block)
        case Figure(_, caption, numbers):
            drawn = f"*Figure, drawn in the HTML report: {_text(caption)}*"
            return drawn if numbers is None else f"{drawn}\n\n{_table(numbers)}"
        case Quote(text):
            # Indented by four: code, in which nothing is obeyed.
            shown = visible(text, lines=True).split("\n")
            return "\n".join(f"    {line}" for line in shown)


def _table(table: Table) -> str:
    head, *rows = ([_text(cell) for cell in row] for row in (table.head, *table.rows))
    marks = ["---" if j < table.left else "---:" for j in range(len(head))]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, marks, *rows))


def _text(text: str) -> str:
    """Escaped: backslashes for Markdown, entities for the HTML that it lets through."""
    return escape(SPECIAL.sub(r"\\\1", visible(text)), quote=False)
