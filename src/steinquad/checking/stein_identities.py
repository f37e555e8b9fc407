"""Is the data consistent with the Stein identity? The test every fit makes before it is believed.

E[S[u]] = 0 for every admissible u, so the average of S[u] over the draws must be zero within its
standard error. The constant fields test the flux through the boundary: without bounds they say
E[score] = 0. The fields `x_i e_i` test the scale: scores in other units than x, or draws from a
wider or narrower measure.
"""

import numpy as np
from scipy.special import stdtrit

from steinquad._types import Array
from steinquad.checking.standard_error import FALSE_ALARM, robust_standard_error
from steinquad.dataset import Dataset

__all__ = ["flux_violation", "mean_zero_violation"]


def flux_violation(data: Dataset, drift: Array, value: Array) -> str | None:
    """A sentence naming the worst violated identity and its likely causes, or None.

    Both kinds of identity hold for any sound pair of draws and scores whatever f is, so a
    violation says that the input is wrong, not the fit.

    Args:
        data: points with their weights and names; those that are no sample pass unseen.
        drift: `m score + slope`, the Stein image of the constant fields, (n, d).
        value: diagonal of the multiplier m, (n, d).
    """
    if not data.sampled:
        return None
    weights = data.effective_weights
    scale = (data.x - weights @ data.x / weights.sum()) * drift + value
    worst, ratio = mean_zero_violation(np.concatenate([drift, scale], axis=1), weights)
    if worst is None:
        return None
    identity = "E[score] = 0" if worst < data.dim else "E[(x - E[x]) score] = -1"
    name = data.names[worst % data.dim]
    return (
        f"the Stein identity {identity} fails in coordinate {name} by {ratio:.1f} standard "
        "errors; likely causes: a bounded support that was not declared, scores of another "
        "measure or of other coordinates than x, or draws that are not from the measure"
    )


def mean_zero_violation(images: Array, weights: Array) -> tuple[int | None, float]:
    """Which column of functions with mean zero, (n, m), has an average that is not, if any.

    Sound data fail with a chance of `FALSE_ALARM` over all columns together.

    Args:
        images: functions with mean zero at the points, (n, m), in the order of the draws.
        weights: of the points, (n,).

    Returns:
        The worst column, or None if chance explains it, and its average in standard errors.
    """
    error, dof = robust_standard_error(images, weights)
    mean = weights @ images / weights.sum()
    ratio = np.divide(np.abs(mean), error, out=np.zeros_like(mean), where=error > 0)
    # Two-sided, and shared among the columns (Bonferroni).
    limit = stdtrit(dof, 1 - FALSE_ALARM / (2 * len(mean)))
    worst = int(np.argmax(ratio))
    return (worst if ratio[worst] > limit else None), float(ratio[worst])
