"""Do the scores belong to the draws? E[score] = 0 and E[x score^T] = -I say so.

All d + d^2 averages are tested, in coordinates of unit variance, against the spread of their batch
means, in batches long enough for the autocorrelation of the chains. Sound draws fail with a chance
of `FALSE_ALARM` in all.
"""

from collections.abc import Sequence

import numpy as np
from scipy.special import stdtrit

from steinquad._types import Array
from steinquad.checking.standard_error import FALSE_ALARM, SHORTEST, effective_sample_size
from steinquad.dataset import Dataset
from steinquad.measures.affine import Affine

__all__ = ["identity_violation", "least_effective_size"]

TIMES = 10.0  # a batch is at least so many autocorrelation times
FEWEST_BATCHES = 8
FEWEST = 100  # draws, or what their weights leave of them, of which a test has power
ROUNDING = 1e-12


def identity_violation(data: Dataset) -> str | None:
    """Test whether the scores belong to the draws.

    Args:
        data: points on R^d with scores, in chains (`groups`).

    Returns:
        A sentence on the worst violated identity and its likely causes, or None where all hold.
        Few draws cannot tell, which is a sentence too.
    """
    assert data.score is not None and data.groups is not None
    size = float(data.effective_weights.sum())
    if size < FEWEST:
        weighed = "" if data.weights is None else f", by their weights {size:.3g},"
        return (
            f"{data.n} draws{weighed} are too few to tell whether the scores belong to them; give "
            f"at least {FEWEST}"
        )
    affine = Affine.fit(data.x, "diagonal", data.effective_weights)
    y, score = affine.points(data.x), affine.score(data.score)
    weights = data.effective_weights / data.effective_weights.sum()
    batches = np.array_split(np.arange(data.n), _count(y * score, data))
    share = np.array([weights[rows].sum() for rows in batches])
    dof = 1.0 / np.sum(share**2) - 1  # that of equal batches is their number less one

    def sums(batch: int) -> Array:
        """What the identities say is zero, (1 + d, d), summed over a batch."""
        rows = batches[batch]
        one_and_y = np.column_stack([np.ones(len(rows)), y[rows]])
        total = one_and_y.T @ (weights[rows, None] * score[rows])
        total[1:] += share[batch] * np.eye(data.dim)
        return total.ravel()

    # Twice, rather than keeping d^2 numbers of every batch.
    mean = sum((sums(b) for b in range(len(batches))), np.zeros(data.dim * (data.dim + 1)))
    square = sum(((sums(b) - share[b] * mean) ** 2 for b in range(len(batches))), 0.0 * mean)
    error = np.sqrt(square * len(batches) / (len(batches) - 1))
    # The same in every batch is certain, if it is more than rounding: scores of zero, say.
    certain = np.where(np.abs(mean) > ROUNDING, np.inf, 0.0)
    ratio = np.divide(np.abs(mean), error, out=certain, where=error > 0)
    worst = int(np.argmax(ratio))
    limit = float(stdtrit(dof, 1 - FALSE_ALARM / (2 * len(ratio))))
    if ratio[worst] <= limit:
        return None
    return (
        f"the scores do not belong to the draws: {_identity(worst, data.names)} fails by "
        f"{ratio[worst]:.1f} standard errors ({limit:.1f} are allowed); likely causes: the scores "
        "of another model, other data or a tempered density, a Jacobian left out, or chains that "
        "have not reached the posterior"
    )


def _identity(worst: int, names: Sequence[str]) -> str:
    dim = len(names)
    if worst < dim:
        return f"E[score] = 0 in coordinate {names[worst]}"
    i, j = divmod(worst - dim, dim)
    return f"E[x score^T] = -I in coordinates {names[i]} and {names[j]}"


def _count(series: Array, data: Dataset) -> int:
    """How many batches: sqrt(n), or fewer where the chains move slowly or weights are few."""
    assert data.score is not None
    most = max(int(np.sqrt(data.n)), 2)
    size = least_effective_size(np.concatenate([data.score, series], axis=1), data)
    return int(np.clip(size / TIMES, min(FEWEST_BATCHES, most), most))


def least_effective_size(series: Array, data: Dataset) -> float:
    """The smallest effective sample size of the averages of some series over the chains.

    Args:
        series: at the draws, (n, m).
        data: the draws, whose weights leave a part of the size only.
    """
    assert data.groups is not None
    share = float(data.effective_weights.sum()) / data.n
    _, sizes = np.unique(data.groups, return_counts=True)
    if sizes.min() < SHORTEST:  # too short for an autocorrelation
        return share * data.n
    return share * float(effective_sample_size(series, data.groups).min())
