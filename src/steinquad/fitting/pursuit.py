"""Which of many features a linear model should have: greedy selection, size by leave-one-out.

Orthogonal least squares: the feature is added that takes most off the sum of squares, given those
that are in the model; more candidates than points are no obstacle. The number kept is that of the
least corrected leave-one-out error (Chapelle, Vapnik and Bengio 2002; Blatman and Sudret 2011),

    T mean_i (r_i / (1 - h_i))^2,   T = n / (n - m) (1 + tr((A^T A / n)^-1) / n),

with h the leverage under a model A of m columns, the constant among them.
"""

import numpy as np

from steinquad._types import Array

__all__ = ["pursue"]

EXACT = 1e-26  # of the sum of squares below which nothing is left to explain
DEPENDENT = 1e-10  # of a column's square that is left of it, below which it adds nothing
PATIENCE = 12, 0.25  # features beyond the best size, and share of it, after which it ends
LEAST_FREEDOM = 1e-6  # 1 - leverage: below it a point has a feature for itself, and it ends


def pursue(phi: Array, y: Array, weights: Array, most: int) -> tuple[np.ndarray, float]:
    """The features of the model with the least corrected leave-one-out error.

    Args:
        phi: all candidates at the points, (n, P).
        y: values, (n,).
        weights: of the points, (n,).
        most: number of features at which it ends.

    Returns:
        Columns of the features in the order in which they were added, and the corrected
        leave-one-out mean square as a share of the variance of y.
    """
    w = weights / weights.sum()
    n = float(weights.sum())
    root = np.sqrt(weights)
    rest = root * (y - w @ y)
    total = float(rest @ rest)
    # Row by row, because every step multiplies all candidates with one vector.
    rows = np.ascontiguousarray(((phi - w @ phi) * root[:, None]).T)
    norms = np.einsum("ij,ij->i", rows, rows)
    least = DEPENDENT * norms
    along = rows @ rest
    most = min(most, len(rows), len(y) - 2)
    q = np.empty((max(most, 0), len(y)))
    inverse = np.zeros((max(most, 0), max(most, 0)))  # of the triangular factor
    trace = 1.0
    leverage = w.copy()
    best, best_size, columns = _corrected(rest, leverage, root, n, 1, trace), 0, []
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
        inverse[:m, m] = -inverse[:m, :m] @ (coefficients + again) / size
        inverse[m, m] = 1.0 / size
        trace += n * float(inverse[: m + 1, m] @ inverse[: m + 1, m])
        step = float(q[m] @ rest)
        rest = rest - step * q[m]
        leverage += q[m] ** 2
        if leverage.max() > 1.0 - LEAST_FREEDOM:
            break
        shared = rows @ q[m]
        along -= step * shared
        norms -= shared**2
        norms[j] = 0.0
        columns.append(j)
        error = _corrected(rest, leverage, root, n, m + 2, trace)
        if error < best:
            best, best_size = error, m + 1
        waited = m + 1 - best_size
        if float(rest @ rest) < EXACT * total or waited > PATIENCE[0] + PATIENCE[1] * best_size:
            break
    share = best / max(total / n, np.finfo(float).tiny)
    return np.array(columns[:best_size], dtype=int), share


def _corrected(rest: Array, leverage: Array, root: Array, n: float, m: int, trace: float) -> float:
    """Corrected leave-one-out mean square of a model with m columns."""
    if m >= n:
        return np.inf
    left_out = rest / np.maximum(1.0 - leverage, LEAST_FREEDOM)
    return float(left_out @ left_out) / n * n / (n - m) * (1.0 + trace / n)
