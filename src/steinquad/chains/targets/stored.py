"""Scores that a sampler has written down beside its draws."""

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from steinquad._types import Array, as_points
from steinquad.chains.targets.base import Target
from steinquad.errors import InputError

__all__ = ["Stored"]


class Stored(Target):
    """Unconstrained points and scores from a file or a trace, in the order of the draws.

    Args:
        points: unconstrained draws, (n, d), chain after chain.
        scores: gradients of the log density there, with the Jacobian, (n, d).

    >>> target = Stored([[0.0], [1.0]], [[0.0], [-1.0]])
    >>> target.score(np.array([[1.0]]))
    array([[-1.]])
    """

    def __init__(self, points: Any, scores: Any) -> None:
        self._points, self._scores = as_points("points", points), as_points("scores", scores)
        if self._points.shape != self._scores.shape:
            raise InputError(
                f"scores has shape {self._scores.shape} but points has {self._points.shape}; "
                "give one score for every point."
            )
        self._rows = {point.tobytes(): i for i, point in enumerate(self._points)}

    @classmethod
    def cmdstan(cls, files: Sequence[str | PathLike[str]]) -> "Stored":
        """Read points and scores from CmdStan's diagnostic files.

        Args:
            files: what CmdStan wrote with `output diagnostic_file=`, one for each chain, in the
                order of the chains in the draws.

        Raises:
            InputError: if a file cannot be read, has no gradients, or is of another model.
        """
        if isinstance(files, str | PathLike) or not files:
            raise InputError(f"files is {files!r}; pass a list of CmdStan's diagnostic files.")
        chains = [_read(Path(file)) for file in files]
        if len(widths := {points.shape[1] for points, _ in chains}) > 1:
            raise InputError(f"files have {widths} parameters; pass the chains of one model.")
        points, scores = (np.concatenate(parts) for parts in zip(*chains, strict=True))
        return cls(points, scores)

    def unconstrain(self, draws: Mapping[str, Array]) -> Array:
        """The stored points, (n, d), for draws of which there are as many.

        The draws themselves are not looked at: they must be all of those that were stored, in
        the same order.
        """
        for name, values in draws.items():
            if len(values) != len(self._points):
                raise InputError(
                    f"draws of {name!r} are {len(values)} but {len(self._points)} scores were "
                    "stored; pass the draws as they were made, all and in order."
                )
        return self._points.copy()

    def score(self, points: Array) -> Array:
        """The stored scores of stored points, each known by its exact value, in any order.

        A point that is not among them is an `InputError`.
        """
        points = as_points("points", points)
        try:
            return self._scores[[self._rows[point.tobytes()] for point in points]]
        except KeyError:
            raise InputError(
                "points are not among those whose scores were stored; pass what unconstrain gave."
            ) from None


def _read(file: Path) -> tuple[Array, Array]:
    """Points and scores of one chain.

    The columns are sampler statistics, q, p_q (momenta) and g_q: gradients of the potential
    energy, so minus the score.
    """
    try:
        lines = [line for line in file.read_text().splitlines() if line and line[0] != "#"]
    except OSError as error:
        raise InputError(f"files has {str(file)!r}, which cannot be read: {error}") from error
    header = lines[0].split(",") if lines else []
    names = [name.removeprefix("g_") for name in header if name.startswith("g_")]
    names = [name for name in names if name in header and f"p_{name}" in header]
    if not names or len(lines) < 2:
        raise InputError(
            f"files has {str(file)!r}, which holds no gradients (columns g_...); pass what "
            "CmdStan writes with `output diagnostic_file=`."
        )
    try:
        table = np.array([line.split(",") for line in lines[1:]], dtype=np.float64)
    except ValueError:
        raise InputError(
            f"files has {str(file)!r}, which has a line that is cut short or no number; remove "
            "it there and in the draws."
        ) from None
    points = table[:, [header.index(name) for name in names]]
    return points, -table[:, [header.index(f"g_{name}") for name in names]]
