"""Many values of a costly f, kept in a file as they come: a stopped run goes on."""

import json
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from steinquad._types import Array, Progress
from steinquad.errors import InputError
from steinquad.problems import Problem

__all__ = ["BATCH", "ChainsPath", "Values", "ValuesPath", "evaluate"]

ChainsPath = Annotated[
    Path | None, typer.Option(help="Directory to keep the chains in, to go on after a stop.")
]
ValuesPath = Annotated[
    Path | None, typer.Option(help="File to keep values in, to go on after a stop.")
]
BATCH = 32  # evaluations between two writes


class Values:
    """Values of f in a JSON-lines file, so that a command that was stopped goes on.

    The first line says what they are values of, the others hold a batch each. A run that is
    killed while it writes leaves a last line without its end, which is dropped.

    Args:
        path: the file, made if it is not there; None keeps the values in memory only.
        settings: what the values depend on; a file of other settings is refused.

    Attributes:
        rows: the values so far, one a point.
    """

    def __init__(self, path: Path | None, settings: dict[str, str | int]) -> None:
        self.path, self.rows = path, list[float]()
        if path is None:
            return
        try:
            text = path.read_text() if path.exists() else ""
            whole = text[: text.rfind("\n") + 1]
            # Of a torn first line only: a file of something else is left alone.
            begun = json.dumps(settings).startswith(text)
            if not whole and begun:
                path.write_text(json.dumps(settings) + "\n")
                return
            kept, *rows = map(json.loads, (whole or text).splitlines())
            self.rows = [value for row in rows for value in row]
        except (json.JSONDecodeError, UnicodeDecodeError, TypeError):
            raise InputError(
                f"--path {path} is not a file of this command; name another."
            ) from None
        except OSError as error:
            raise InputError(
                f"--path {path} cannot be used ({error.strerror}); name a file that can."
            ) from None
        if kept != settings:
            raise InputError(
                f"--path {path} holds values of {kept}, not of {settings}; name another file."
            )
        if whole != text:
            path.write_text(whole)

    def add(self, values: Array) -> None:
        """Append the values (batch,) of the next points; they are in the file on return."""
        self.rows += values.tolist()
        if self.path is not None:
            with self.path.open("a") as file:
                file.write(json.dumps(values.tolist()) + "\n")


def evaluate(
    problem: Problem, x: Array, done: Values, progress: Progress, *, batch: int = BATCH
) -> Array:
    """f at every point, those that are not kept yet evaluated batch by batch and kept.

    Args:
        problem: whose integrand is evaluated.
        x: all points (n, d), the same whenever the command is run.
        done: the values of the first points, to which the others are added.
        progress: called with (points done, points, spread of the values).
        batch: evaluations between two writes: what a stop can cost.

    Returns:
        All values (n,).
    """
    while len(done.rows) < len(x):
        start = len(done.rows)
        done.add(problem.integrand(x[start : start + batch]))
        progress(len(done.rows), len(x), float(np.std(done.rows)))
    return np.array(done.rows)
