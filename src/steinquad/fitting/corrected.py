"""The fit of some points, corrected by the average of what it leaves of others."""

from dataclasses import replace

import numpy as np

from steinquad._types import Array
from steinquad.fit import Fit, Status
from steinquad.fitting.outputs import correlated

__all__ = ["corrected"]


def corrected(fit: Fit, mean: Array, std: Array, dof: float, left: Array) -> Fit:
    """The fit with the answer of points that it has not seen, and their standard error.

    theta0 itself cancels out of the answer's error. What the fit holds out of its own points, and
    the check by these, are no longer of the answer and are left out.

    Args:
        fit: of some of the points.
        mean: average of `theta0 + f - g`, (k,).
        std: its standard error, (k,).
        dof: degrees of freedom of that.
        left: values `theta0 + f - g` around their average, (n, k), whose correlation is that of
            the answers.
    """
    status = fit.status
    if status.code == "constant":  # where it was fitted
        status = Status("converged", "f varies only at points that were averaged, not fitted")
    return replace(
        fit,
        covariance=correlated(np.asarray(std) ** 2, left),
        correction=mean - fit.theta0,
        dof=dof,
        status=status,
        held_out=None,
        check=None,
    )
