"""Many values of a costly f, kept in a file as they come: a stopped run goes on."""

import json
from pathlib import Path

import numpy as np

from steinquad._types import Array, Progress
from steinquad.errors import InputError
from steinquad.problems import Problem

__all__ = ["BATCH", "Values", "evaluate"]

BATCH = 32  # evaluations between two writes


class Values:
    """Values of f in a JSON-lines file, whose first line says what they are; None keeps none."""

    def __init__(self, path: Path | None, settings: dict[str, str | int]) -> None:
        self.path, self.rows = path, list[float]()
        if path is None:
            return
        try:
            lines = path.read_text().splitlines() if path.exists() else []
            if not lines:
                path.write_text(json.dumps(settings) + "\n")
                return
            found = json.loads(lines[0])
            for line in lines[1:]:
                self.rows += json.loads(line)
        except json.JSONDecodeError:
            raise InputError(
                f"--path {path} is not a file of this command; name another."
            ) from None
        except OSError as error:
            raise InputError(
                f"--path {path} cannot be used ({error.strerror}); name a file that can."
            ) from None
        if found != settings:
            raise InputError(
                f"--path {path} holds values of {found}, not of {settings}; name another file."
            )

    def add(self, values: Array) -> None:
        """Keep some more."""
        self.rows += values.tolist()
        if self.path is not None:
            with self.path.open("a") as file:
                file.write(json.dumps(values.tolist()) + "\n")


def evaluate(
    problem: Problem, x: Array, done: Values, progress: Progress, *, batch: int = BATCH
) -> Array:
    """f at every point, from the first that is not done; kept after each batch."""
    while len(done.rows) < len(x):
        start = len(done.rows)
        done.add(problem.integrand(x[start : start + batch]))
        progress(len(done.rows), len(x), float(np.std(done.rows)))
    return np.array(done.rows)
