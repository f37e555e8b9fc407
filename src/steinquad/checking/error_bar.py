"""The standard deviation that a user should go by, and the second opinion beside it.

The error bar of a fit that was cross-fitted is

    std     max(s, min(own, 10 s), |mean - held out|)

with s the standard error of the held-out residuals, `own` that of the fit, which may know more
than the residuals do, and the distance between the two answers. An answer further than 3 s from
its check is suspect.
"""

from dataclasses import replace

import numpy as np

from steinquad._types import Array
from steinquad.checking.held_out import HeldOut
from steinquad.fit import Check, Fit, Status

__all__ = ["OWN_SHARE", "check_of", "checked", "distance", "widened", "with_std"]

OWN_SHARE = 10.0  # of the cross-fitted std up to which the fit's own, if wider, counts
TOO_FAR = 3.0  # standard errors between the two opinions that make an estimate suspect


def check_of(held_out: HeldOut, mean: Array) -> Check:
    """The second opinion that held-out residuals give on an answer (k,).

    Args:
        held_out: values under fits that have not seen them.
        mean: the answer that is checked, from which the distance is measured.

    Returns:
        The cross-fitted answer with its standard error, and how far apart the two are.
    """
    std, dof = held_out.standard_error
    return Check(
        mean=held_out.mean,
        std=std,
        folds=held_out.folds,
        dof=dof,
        residual=held_out.rms,
        distance=distance(mean, held_out.mean, std, np.ptp(held_out.fx, axis=0) > 0),
        predicted=held_out.predicted,
    )


def distance(first: Array, second: Array, std: Array, varying: np.ndarray) -> float:
    """The largest difference of two answers (k,) in units of `std`, over outputs that vary.

    Args:
        first: one answer.
        second: the other.
        std: unit of each output; where it is zero any difference is infinitely large.
        varying: which outputs count: constant ones are exact, and a rounding error there is none.
    """
    gap = np.abs(first - second)
    ratio = np.divide(gap, std, out=np.where(gap > 0, np.inf, 0.0), where=std > 0)
    return float(np.max(ratio, initial=0.0, where=varying))


def checked(fit: Fit, check: Check) -> Fit:
    """The fit with its check; suspect where the two disagree.

    Args:
        fit: the answer; a status that is suspect or not finite already is kept, with its reason.
        check: says how many standard errors the two are apart; more than three is too far.
    """
    status, disputed = fit.status, fit.disputed
    if check.distance > TOO_FAR and not status.doubtful:
        disputed = True
        status = Status(
            "suspect",
            f"the fit and its cross-fitted check differ by {check.distance:.1f} standard errors; "
            "believe est.check rather than est.mean, add points, or try another method",
        )
    return replace(fit, check=check, status=status, disputed=disputed)


def widened(fit: Fit, check: Check, own_share: float = OWN_SHARE) -> Fit:
    """The fit with the standard deviation of the module's formula.

    Use it where the std of one method has to hold even if its model is wrong, as with tolerances;
    that of several is in `steinquad.checking.committee`.

    Args:
        fit: whose covariance keeps its correlations.
        check: the second opinion.
        own_share: how many times the cross-fitted std the fit's own may be.
    """
    # Infinity times a std of zero would be NaN.
    own = fit.std if np.isinf(own_share) else np.minimum(fit.std, own_share * check.std)
    std = np.maximum(np.maximum(check.std, own), np.abs(fit.mean - check.mean))
    return replace(fit, covariance=with_std(fit.covariance, std), dof=min(fit.dof, check.dof))


def with_std(covariance: Array, std: Array) -> Array:
    """A covariance (k, k) with other standard deviations (k,) and the same correlations.

    Args:
        covariance: whose correlations are kept.
        std: that are set.
    """
    own = np.sqrt(np.diag(covariance))
    scalable = (own > 0) & np.isfinite(own)
    stretch = np.divide(std, own, out=np.ones_like(std), where=scalable)
    stretched = covariance * np.outer(stretch, stretch)
    # A std of zero cannot be stretched, so variances are set and not only scaled.
    np.fill_diagonal(stretched, std**2)
    return stretched
