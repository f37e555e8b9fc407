"""A progress bar for training, on standard error and only for people."""

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
    """A callback that draws a bar; nothing is drawn where standard error is not a terminal.

    Args:
        label: what is going on.
        reading: what the number is that comes with each step.
        enabled: False draws nothing.
    """
    console = Console(stderr=True)
    if not (enabled and console.is_terminal):
        yield _types.no_progress
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TextColumn("step {task.completed}"),
        TextColumn("{task.fields[loss]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(label, total=None, loss="")
        yield lambda step, total, loss: bar.update(
            task, completed=step, total=total, loss=f"{reading} {loss:.2e}"
        )
