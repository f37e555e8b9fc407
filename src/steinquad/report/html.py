"""A page as one HTML file: no scripts, nothing loaded from elsewhere, all text escaped."""

import base64
import hashlib
from collections.abc import Iterable, Iterator
from importlib.resources import files
from itertools import groupby

from steinquad.report.blocks import Answer, Block, Figure, Heading, Note, Quote, Table, Text
from steinquad.report.text import markup

__all__ = ["to_html"]


def to_html(title: str, blocks: Iterable[Block]) -> str:
    """A page as one HTML file, with its style sheet inside and nothing else to load.

    Its policy lets a browser apply this style sheet only and run no scripts, so that texts of a
    simulator can do no harm in it.

    Args:
        title: of the window.
        blocks: what `outline` gave; neighboring answers, and figures, stand side by side.
    """
    style = (files("steinquad.report") / "style.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    body = "\n".join(_grouped(blocks))
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'sha256-{digest}'">
<title>{markup(title)}</title>
<style>{style}</style>
</head>
<body>
<main>
{body}
</main>
</body>
</html>
"""  # noqa: E501


def _grouped(blocks: Iterable[Block]) -> Iterator[str]:
    """Answers and figures that follow each other stand side by side where there is room."""
    for kind, some in groupby(blocks, type):
        if kind in (Answer, Figure):
            name = "answers" if kind is Answer else "figures"
            yield f'<div class="{name}">\n' + "\n".join(map(_block, some)) + "\n</div>"
        else:
            yield from map(_block, some)


def _block(block: Block) -> str:
    match block:
        case Heading(level, text):
            return f"<h{level}>{markup(text)}</h{level}>"
        case Text(text):
            return f"<p>{markup(text)}</p>"
        case Note(kind, head, text):
            mark = {"good": "✓", "doubt": "!"}[kind]
            return (
                f'<div class="note {kind}"><p><strong><span class="mark">{mark}</span> '
                f"{markup(head)}</strong></p><p>{markup(text)}</p></div>"
            )
        case Answer(name, value, interval, more):
            return (
                f'<section class="answer"><h3>{markup(name)}</h3>'
                f'<p class="value">{markup(value)}</p><p>{markup(interval)}</p>'
                f'<p class="more">{markup(more)}</p></section>'
            )
        case Table():
            return _table(block)
        case Figure(svg, caption, numbers):
            more = ""
            if numbers is not None:
                more = f"<details><summary>Numbers</summary>{_table(numbers)}</details>"
            return f"<figure>{svg}<figcaption>{markup(caption)}</figcaption>{more}</figure>"
        case Quote(text):
            return f"<pre>{markup(text, lines=True)}</pre>"


def _table(table: Table) -> str:
    head = "".join(f'<th scope="col">{markup(cell)}</th>' for cell in table.head)
    head += '<th scope="col">share</th>' if table.bars else ""
    rows = []
    for i, row in enumerate(table.rows):
        cells = "".join(f"<td>{markup(cell)}</td>" for cell in row[: table.left])
        cells += "".join(f'<td class="number">{markup(cell)}</td>' for cell in row[table.left :])
        if table.bars:
            cells += f'<td class="bar">{_bar(*table.bars[i])}</td>'
        rows.append(f"<tr>{cells}</tr>")
    lines = "\n".join(rows)
    kind = ' class="shares"' if table.bars else ""
    return f"<table{kind}><thead><tr>{head}</tr></thead>\n<tbody>\n{lines}\n</tbody></table>"


def _bar(first: float, total: float) -> str:
    first, total = (100 * min(max(share, 0.0), 1.0) for share in (first, total))
    return (
        '<svg class="share" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="first" x="0" y="2" width="{first:.1f}" height="6"/>'
        f'<rect class="total" x="0" y="1" width="{total:.1f}" height="8"/></svg>'
    )
