"""What `progress=` of a function may be: a bar, somebody's own callback, or nothing."""

from collections.abc import Iterator
from contextlib import contextmanager

from steinquad._types import Progress, ProgressOption, no_progress
from steinquad.errors import InputError, shown

__all__ = ["watched"]


@contextmanager
def watched(
    progress: ProgressOption, *, label: str = "fitting", rate: bool = False
) -> Iterator[Progress]:
    """The callback that a function calls while it works, for the time of a `with` block.

    Args:
        progress: True for a bar, in a notebook below the cell, in a terminal on standard error and
            elsewhere nowhere; a function of (step, total, loss), which stays what it is; None or
            False for nothing.
        label: of the bar.
        rate: whether the bar shows steps a second, of what the label names, and not the loss.

    >>> with watched(None) as report:
    ...     report(1, 10, 0.5)
    """
    if progress is None or progress is False:
        yield no_progress
    elif progress is True:
        # Late, for Rich takes a moment to import, and only who asks for a bar waits for it.
        from steinquad.terminal.notebook import in_notebook, notebook_bar
        from steinquad.terminal.progress import per_second, progress_bar

        draw = notebook_bar if in_notebook() else progress_bar
        with draw(label=label, reading=f"{label}/s") if rate else draw(label=label) as bar:
            yield per_second(bar) if rate else bar
    elif callable(progress):
        yield progress
    else:
        raise InputError(
            f"progress is {shown(progress)}; pass a function, True for a bar, or None."
        )
