"""A progress bar for whatever takes long, on standard error and only for people."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from time import monotonic

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeElapsedColumn

from steinquad import _types

__all__ = ["drawn_bar", "per_second", "progress_bar"]


@contextmanager
def drawn_bar(
    label: str, count: ProgressColumn, time: ProgressColumn, *, enabled: bool
) -> Iterator[Callable[..., None]]:
    """A function that moves a bar, which is on standard error while the `with` block lasts.

    Call it with any of `completed`, `total` and `note`. Without a terminal, or if not enabled, it
    does nothing, so that logs and JSON stay readable.

    Args:
        label: what is going on, at the left of the bar.
        count: how far it is.
        time: how long it took, or will take.
        enabled: False draws nothing.
    """
    console = Console(stderr=True)
    if not (enabled and console.is_terminal):
        yield lambda **_: None
        return
    # Without markup: a label may be a user's, and Rich would obey what stands in brackets.
    name = TextColumn("{task.description}", markup=False)
    note = TextColumn("{task.fields[note]}", markup=False)
    columns = (name, BarColumn(bar_width=24), count, note, time)
    with Progress(*columns, console=console, transient=True) as bar:
        yield partial(bar.update, bar.add_task(label, total=None, note=""))


@contextmanager
def progress_bar(
    *, label: str = "training", reading: str = "loss", enabled: bool = True
) -> Iterator[_types.Progress]:
    """A callback `(step, total, number)` that draws a bar while the `with` block lasts.

    Args:
        label: what is going on.
        reading: what the number is that comes with each step.
        enabled: False draws nothing, for a command that prints JSON.

    >>> with progress_bar(label="runs", enabled=False) as progress:
    ...     progress(1, 10, 0.5)
    """
    count = TextColumn("step {task.completed}")
    with drawn_bar(label, count, TimeElapsedColumn(), enabled=enabled) as move:
        yield lambda step, total, number: move(
            completed=step, total=total, note=f"{reading} {number:.2e}"
        )


def per_second(bar: _types.Progress) -> _types.Progress:
    """The same bar with steps a second, since now, in place of the number that comes with each.

    Args:
        bar: called with (step, total, number).
    """
    began = monotonic()

    def move(step: int, total: int, number: float) -> None:
        del number
        bar(step, total, step / max(monotonic() - began, 1e-9))

    return move
