"""What the values themselves say against an answer, whichever method made it."""

from typing import NamedTuple

import numpy as np

from steinquad._types import Array
from steinquad.checking.standard_error import far_from_average
from steinquad.dataset import Dataset
from steinquad.fit import Fit, Status

__all__ = [
    "Mass",
    "beside_average",
    "contradicted",
    "copies_told",
    "enough_of",
    "in_finite_numbers",
    "informed",
    "well_informed",
]

# Points that carry the integral, (sum f)^2 / sum f^2. Around 100 the plain average is uncertain by
# a tenth of itself; far below, no method can know what f is like where its mass lies.
FEW, RATHER_FEW = 30.0, 150.0
# How many are enough where points have been held out, by the share of the spread of f that is left
# of them: they were predicted without having been seen.
ENOUGH_HELD_OUT = ((1e-6, 0.0), (0.1, 4.0), (np.inf, 8.0))


def beside_average(status: Status, mean: Array, data: Dataset) -> Status:
    """The status of an answer (k,); suspect where the plain average of the values contradicts it.

    The average needs no model, so an answer that it excludes has to explain itself.

    Args:
        status: of the answer so far; kept where it is suspect, constant or not finite already.
        mean: the answer.
        data: whose weighted average is compared, if the points are a sample of the measure.
    """
    if not data.sampled or status.doubtful or status.final:
        return status
    far = far_from_average(mean, data.fx, data.effective_weights, data.groups)
    return contradicted(status, far)


def contradicted(status: Status, far: Array) -> Status:
    """The status of an answer; suspect where an output is too far from its plain average.

    Args:
        status: of the answer so far; kept where it is suspect, constant or not finite already.
        far: distances over what chance explains, (k,).
    """
    if status.doubtful or status.final or far.max() <= 1:
        return status
    return Status(
        "suspect",
        "the estimate lies further from the plain average of the values than chance explains; "
        "the fit leans on regions that no point has seen, or on scores or a measure that the "
        "points do not follow: add points, or try another method",
    )


def well_informed(fit: Fit, data: Dataset) -> Status:
    """The status, with a warning where few points see the mass of the integrand.

    An f that is large at a handful of points, as for a rare event, is not known elsewhere by any
    method. The number of points that carry the integral is `(sum f)^2 / sum f^2`, weighted; where
    positive and negative values cancel it is small too, and the message says so instead.

    Args:
        fit: the answer so far. Outputs whose limits count few events are informed enough, and
            fewer points do where points were held out, the less is left of them.
        data: points that are a sample of the measure; others pass unseen.

    Returns:
        The status with a note added, or a suspect one below about 30 such points, or 8 or 4
        where points were held out.
    """
    status = fit.status
    if not data.sampled or status.final:
        return status
    w = data.effective_weights / data.effective_weights.sum()
    mass = Mass(w @ data.fx, w @ np.abs(data.fx), w**2 @ data.fx**2, data.n)
    counted = np.isin(data.fx, (0.0, 1.0)).all(axis=0)  # what is counted has a known variance
    if fit.binomial is not None:
        counted = counted | fit.binomial.applies
    if fit.check is None:
        enough = np.full(data.outputs, FEW)
    else:
        spread = np.where(data.constant, 1.0, data.fx.std(axis=0))
        enough = enough_of(fit.check.residual / spread)
    return informed(status, mass, counted | data.constant, enough)


class Mass(NamedTuple):
    """Where the integral of each output is, by weighted sums over points.

    Attributes:
        sums: of f, (k,), with weights that add up to one.
        sizes: of its absolute values, (k,).
        squares: of squares of weight times f, (k,).
        n: number of points.
    """

    sums: Array
    sizes: Array
    squares: Array
    n: int


def informed(status: Status, mass: Mass, exempt: np.ndarray, enough: Array) -> Status:
    """The status with what `well_informed` says, from sums over points that are a sample.

    Args:
        status: of the answer so far.
        mass: sums of all points.
        exempt: outputs that do not vary or whose events are counted, (k,).
        enough: how many points have to carry the integral, (k,).
    """
    sums, sizes, squares, n = mass
    carried = np.divide(sums**2, squares, out=np.full_like(sums, np.inf), where=~exempt)
    carried[carried > n / 2] = np.inf  # f is well spread, however few the points
    cancels = np.abs(sums) < 0.5 * sizes
    # Cancelling outputs come last: they are less of a worry than concentrated ones.
    worst = int(np.argmin(np.where(cancels & (carried < RATHER_FEW), RATHER_FEW - 1, carried)))
    if carried[worst] >= RATHER_FEW:
        return status
    where = "" if len(carried) == 1 else f" of output {worst}"
    if cancels[worst]:
        left = abs(sums[worst]) / sizes[worst]
        note = f"f nearly cancels out: the average{where} is {left:.1%} of its average size"
        return _noted(status, note + ", so compare the std with the latter")
    note = f"few informative points: about {max(carried[worst], 1):.0f} carry the integral{where}"
    if carried[worst] >= enough[worst] or status.code == "suspect":
        return _noted(status, note)
    return Status("suspect", f"{note}; the std cannot know what no point has seen: add points")


def enough_of(left: Array) -> Array:
    """How many points have to carry the integral where points have been held out, (k,).

    Args:
        left: share of the spread of f that is left of them, (k,).
    """
    return np.array(
        [next((n for share, n in ENOUGH_HELD_OUT if each <= share), FEW) for each in left]
    )


def copies_told(status: Status, distinct: int, given: int) -> Status:
    """The status, with a note where points were copies of others and so counted once.

    Args:
        status: of the answer so far.
        distinct: number of points that were used.
        given: number of points in the data.
    """
    if distinct == given or status.final:
        return status
    note = f"only {distinct} of {given} points are distinct; copies count once in the std"
    return _noted(status, f"{note}, pass groups= if they are of a chain")


def in_finite_numbers(fit: Fit) -> Status:
    """The status of a fit; `not_finite` where it has no mean or no std and does not say so.

    Args:
        fit: the answer in its last form.
    """
    finite = np.isfinite(fit.mean).all() and np.isfinite(fit.std).all()
    if finite or fit.status.doubtful:
        return fit.status
    return Status(
        "not_finite",
        "the fit has no finite mean and std; check x, f and scores for extreme values, or try "
        "another method",
    )


def _noted(status: Status, note: str) -> Status:
    return Status(status.code, f"{status.message}; {note}")
