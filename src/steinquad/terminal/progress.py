"""A progress bar for whatever takes long, on standard error and only for people."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from steinquad import _types

__all__ = ["progress_bar"]


@contextmanager
def progress_bar(
    *, label: str = "training", reading: str = "loss", enabled: bool = True
) -> Iterator[_types.Progress]:
    """A callback `(step, total, number)` that draws a bar while the `with` block lasts.

    Nothing is drawn where standard error is not a terminal, so that logs stay readable.

    Args:
        label: what is going on.
        reading: what the number is that comes with each step.
        enabled: False draws nothing, for a command that prints JSON.

    >>> with progress_bar(label="runs", enabled=False) as progress:
    ...     progress(1, 10, 0.5)
    """
    console = Console(stderr=True)
    if not (enabled and console.is_terminal):
        yield _types.no_progress
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TextColumn("step {task.completed}"),
        TextColumn("{task.fields[reading]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(label, total=None, reading="")
        yield lambda step, total, number: bar.update(
            task, completed=step, total=total, reading=f"{reading} {number:.2e}"
        )
