"""An estimate as a notebook shows it: HTML without scripts and with nothing to load."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

import numpy as np

from steinquad.candidates import Candidate

__all__ = ["ShownAnswer", "to_html"]

MOST_ANSWERS = 20  # outputs that are listed
MOST_COLUMNS = 4  # outputs whose weights and integrals by every candidate are listed
# Notebooks are light or dark whatever the browser prefers, and some drop style sheets: so styles
# are those of elements, letters have the color of the page, and what is between is gray.
RULE = "1px solid rgba(128, 128, 128, .35)"
NUMBER = "text-align: right; padding: .15em .8em; white-space: nowrap"
WORD = "text-align: left; padding: .15em .8em"
GOOD, DOUBT = "#1f9d6b", "#d9730d"


class ShownAnswer(NamedTuple):
    """One output as text: its name, the mean, the std, and the interval."""

    name: str
    mean: str
    std: str
    interval: str


def to_html(
    heading: str,
    answers: Sequence[ShownAnswer],
    status: tuple[str, str],
    candidates: Sequence[Candidate],
) -> str:
    """Answers, how it went, and a table of what was considered.

    Args:
        heading: the method and the number of points.
        answers: one for each output.
        status: its word and its sentence.
        candidates: of the method, none where it did not choose.
    """
    word, sentence = status
    color = GOOD if word == "converged" else DOUBT
    parts = [
        f'<div style="opacity: .75">{_text(heading)}</div>',
        _answers(answers),
        f'<div style="border-left: .3em solid {color}; padding: .1em .6em; margin: .4em 0">'
        f"<b>{_text(word)}</b>: {_text(sentence)}</div>",
        _table(candidates, [answer.name for answer in answers]),
    ]
    return f'<div style="max-width: 60em; margin: .3em 0">{"".join(parts)}</div>'


def _answers(answers: Sequence[ShownAnswer]) -> str:
    shown = [
        f'<div style="margin: .2em 0"><b style="font-size: 1.15em">E[{_text(a.name)}] = '
        f"{_text(a.mean)} ± {_text(a.std)}</b> &nbsp; 95 %: {_text(a.interval)}</div>"
        for a in answers[:MOST_ANSWERS]
    ]
    more = len(answers) - MOST_ANSWERS
    return "".join([*shown, f"<div>and {more} more</div>" if more > 0 else ""])


def _table(candidates: Sequence[Candidate], names: Sequence[str]) -> str:
    """The columns that any candidate has something to say in."""
    if not candidates:
        return ""
    columns: list[tuple[str, list[str], list[bool]]] = []

    def add(head: str, cells: Iterable[str], bold: Iterable[bool]) -> None:
        filled = list(cells)
        if any(filled):
            columns.append((head, filled, list(bold)))

    chosen = [candidate.chosen for candidate in candidates]
    add("held-out rms", (_number(c.rms) for c in candidates), chosen)
    for j, name in enumerate(names[:MOST_COLUMNS]):
        shares = [c.share(j) for c in candidates]
        bold = [share is not None and share > 0 for share in shares]
        head = "weight" if len(names) == 1 else f"weight, {name}"
        add(head, ("" if share is None else f"{share:.3f}" for share in shares), bold)
        add(f"E[{name}]", (_integral(c, j) for c in candidates), bold)
    head = "".join(f'<th style="{NUMBER}">{_text(text)}</th>' for text, _, _ in columns)
    head = f'<th style="{WORD}">candidate</th>{head}<th style="{WORD}"></th>'
    rows = []
    for i, candidate in enumerate(candidates):
        cells = "".join(
            f'<td style="{NUMBER}; {_weight(bold[i])}">{_text(texts[i])}</td>'
            for _, texts, bold in columns
        )
        rows.append(
            f'<tr style="background: none; border-top: {RULE}">'
            f'<td style="{WORD}; {_weight(candidate.chosen)}">{_text(candidate.method)}</td>'
            f"{cells}"
            f'<td style="{WORD}; font-weight: normal; opacity: .75; white-space: normal">'
            f"{_text(candidate.note)}</td></tr>"
        )
    return (
        f"<details open><summary>{len(candidates)} candidates</summary>"
        '<table style="border-collapse: collapse; margin: .3em 0"><thead>'
        f'<tr style="background: none">{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></details>"
    )


def _weight(chosen: bool) -> str:
    return f"font-weight: {'bold' if chosen else 'normal'}"


def _integral(candidate: Candidate, output: int) -> str:
    """Its own integral of one output; nothing where it was not asked about that."""
    if candidate.mean is None or np.isnan(candidate.mean[output]):
        return ""
    mean, std = float(candidate.mean[output]), candidate.std
    if std is None or not 0 < std[output] < np.inf:
        return f"{mean:.6g}"
    digits = int(np.clip(np.log10(max(abs(mean) / std[output], 1e-300)) + 3, 3, 15))
    return f"{mean:.{digits}g} ± {std[output]:.2g}"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.2e}"


def _text(text: str) -> str:
    """Of a user, an error message or a name: escaped, and without what is not printable."""
    return escape("".join(c if c.isprintable() else " " if c.isspace() else "?" for c in text))
