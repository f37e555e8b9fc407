"""Which of many features a linear model should have: greedy selection, judged by held-out points.

Orthogonal least squares: the feature is added that takes most off the sum of squares, given those
that are in the model; more candidates than points are no obstacle. Held-out points say how many
of them to keep. Leave-one-out errors, also corrected for the number of features, are far too
small for features that were selected on the same points, and keep two or three times too many.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from steinquad._types import Array

__all__ = ["Path", "held_out_squares", "pursue"]

EXACT = 1e-26  # of the sum of squares below which nothing is left to explain
DEPENDENT = 1e-10  # of a column's square that is left of it, below which it adds nothing
PATIENCE = 24, 0.5  # features beyond the best size, and share of it, after which it ends
LEAST_FREEDOM = 1e-6  # 1 - leverage: below it a point has a feature for itself, and it ends


@dataclass(frozen=True, eq=False)
class Path:
    """Features in the order in which they were added.

    Attributes:
        columns: of the candidates, (m,).
        squares: weighted sum of squares that is left of the held-out points under the first
            0, 1, ..., m features, (m + 1,); zeros where none are held out.
    """

    columns: np.ndarray
    squares: Array


def pursue(
    phi: Array, y: Array, weights: Array, most: int, held: np.ndarray | None = None
) -> Path:
    """Add features one by one, as long as held-out points are met better.

    Args:
        phi: all candidates at the points, (n, P).
        y: values, (n,).
        weights: of the points, (n,).
        most: number of features at which it ends.
        held: rows that are held out; without any, features are added up to `most`.

    Returns:
        The path, which ends where the held-out error has not fallen for long, where nothing is
        left to explain, or where a point has a feature for itself.
    """
    held = np.zeros(0, dtype=int) if held is None else held
    seen = np.setdiff1d(np.arange(len(y)), held)
    w = weights[seen] / weights[seen].sum()
    root = np.sqrt(weights[seen])
    # Row by row, because every step multiplies all candidates with one vector.
    center, shift = w @ phi[seen], w @ y[seen]
    rows = np.ascontiguousarray(((phi[seen] - center) * root[:, None]).T)
    rest, missed = root * (y[seen] - shift), y[held] - shift
    norms = np.einsum("ij,ij->i", rows, rows)
    least, total = DEPENDENT * norms, float(rest @ rest)
    along = rows @ rest
    most = max(min(most, len(rows), len(seen) - 2), 0)
    q, outside = np.empty((most, len(seen))), np.empty((most, len(held)))
    leverage = w.copy()
    columns: list[int] = []
    squares = [float(weights[held] @ missed**2)]
    best = 0
    for m in range(most):
        with np.errstate(divide="ignore", invalid="ignore"):
            gain = np.where(norms > least, along**2 / norms, -1.0)
        j = int(np.argmax(gain))
        if gain[j] <= 0:
            break
        # Twice, because what is left of a column may be a small part of it.
        coefficients = q[:m] @ rows[j]
        new = rows[j] - coefficients @ q[:m]
        again = q[:m] @ new
        new -= again @ q[:m]
        size = float(np.sqrt(new @ new))
        q[m] = new / size
        outside[m] = (phi[held, j] - center[j] - (coefficients + again) @ outside[:m]) / size
        leverage += q[m] ** 2
        if leverage.max() > 1.0 - LEAST_FREEDOM:
            break
        step = float(q[m] @ rest)
        rest = rest - step * q[m]
        missed = missed - step * outside[m]
        shared = rows @ q[m]
        along -= step * shared
        norms -= shared**2
        norms[j] = 0.0
        columns.append(j)
        squares.append(float(weights[held] @ missed**2))
        best = m + 1 if squares[-1] < squares[best] else best
        waited = len(held) and m + 1 - best > PATIENCE[0] + PATIENCE[1] * best
        if float(rest @ rest) < EXACT * total or waited:
            break
    return Path(np.array(columns, dtype=int), np.array(squares))


def held_out_squares(paths: Sequence[Path]) -> Array:
    """Sums of squares of several folds for every number of features, (m + 1,).

    A path that ended early is taken to stay as it was.

    Args:
        paths: one for each fold, on the same candidates.
    """
    longest = max(len(path.squares) for path in paths)
    ends = [np.pad(path.squares, (0, longest - len(path.squares)), "edge") for path in paths]
    return np.sum(ends, axis=0)
