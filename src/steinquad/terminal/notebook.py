"""A progress bar in the output of a notebook's cell."""

import html
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from time import monotonic
from typing import Any

from rich.console import Console

from steinquad import _types

__all__ = ["in_notebook", "notebook_bar"]

SELDOM = 0.1  # seconds between two drawings: each is a message to the browser


def in_notebook() -> bool:
    """Whether what is shown appears in a notebook: of Jupyter, Colab or Databricks."""
    return Console().is_jupyter


@contextmanager
def notebook_bar(*, label: str = "training", reading: str = "loss") -> Iterator[_types.Progress]:
    """A callback `(step, total, number)` that draws a bar while the `with` block lasts.

    By IPython alone: the bars of Rich need ipywidgets in a notebook, which not everybody has.
    When the block ends, the bar is gone.

    Args:
        label: what is going on.
        reading: what the number is that comes with each step.
    """
    shown: Any = import_module("IPython.display")
    began = monotonic()
    drawn = began
    handle = shown.display(shown.HTML(_bar(label)), display_id=True)

    def move(step: int, total: int, number: float) -> None:
        nonlocal drawn
        now = monotonic()
        if now - drawn >= SELDOM or step >= total:
            drawn = now
            note = f"step {step}, {reading} {number:.2e}, {now - began:.0f} s"
            handle.update(shown.HTML(_bar(label, step, total, note)))

    try:
        yield move
    finally:
        handle.update(shown.HTML(""))


def _bar(label: str, step: int = 0, total: int = 0, note: str = "") -> str:
    """Without a number of steps the browser lets the bar move to and fro."""
    share = f' value="{step}" max="{total}"' if total > 0 else ""
    return (
        f"<div>{html.escape(label)} <progress{share} style='vertical-align: middle'></progress> "
        f"<small>{html.escape(note)}</small></div>"
    )
