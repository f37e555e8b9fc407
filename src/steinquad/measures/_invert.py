"""The inverse of a distribution function that has no closed form."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import elementwise

from steinquad._types import Array
from steinquad.errors import InputError
from steinquad.support import Support

__all__ = ["invert_cdf"]


def invert_cdf(cdf: Callable[[Array], Array], support: Support, p: Array) -> Array:
    """The points `x` with `cdf(x) = p`, each coordinate by itself, to rounding.

    Args:
        cdf: distribution function of each coordinate, (n, d) -> (n, d), increasing on `support`.
        support: where the roots are looked for; p = 0 and p = 1 give its sides.
        p: probabilities (n, d).
    """
    low, high = np.broadcast_arrays(support.low, support.high, p)[:2]
    x = np.where(p <= 0, low, high)
    open_ = np.flatnonzero((p > 0) & (p < 1))
    if not len(open_):
        return x
    left, right = _first_bracket(support)
    left, right = np.broadcast_to(left, p.shape), np.broadcast_to(right, p.shape)
    # The root finder drops solved points from its batches. Every call is padded back to the full
    # shape, so that a compiled `cdf` sees one shape and each point keeps its own coordinate.
    full = np.array(left, dtype=np.float64)

    def residual(at: Array, target: Array, where: NDArray[np.int64]) -> Array:
        answer = np.empty_like(at)
        first = np.zeros(len(at), dtype=bool)
        first[np.unique(where, return_index=True)[1]] = True
        # While brackets grow, a point may come twice in one batch: once for either side.
        for turn in (first, ~first):
            if turn.any():
                batch = full.copy()
                batch.flat[where[turn]] = at[turn]
                answer[turn] = cdf(batch).flat[where[turn]]
        return answer - target

    args = (p.flat[open_], open_)
    with np.errstate(all="ignore"):  # overflow while a bracket grows is expected and checked
        bracket = elementwise.bracket_root(
            residual,
            left.flat[open_],
            right.flat[open_],
            xmin=low.flat[open_],
            xmax=high.flat[open_],
            args=args,
        )
        root = elementwise.find_root(residual, bracket.bracket, args=args)
    good = np.asarray(bracket.success & root.success)
    if not good.all():
        worst = p.flat[open_[np.flatnonzero(~good)[0]]]
        raise InputError(
            f"icdf found no point with cdf = {worst:.17g}; "
            "the distribution function must increase from 0 to 1 over the support."
        )
    x.flat[open_] = root.x
    return x


def _first_bracket(support: Support) -> tuple[Array, Array]:
    """A start strictly inside the support: its middle half, or a unit step from a finite side."""
    low, high = support.low, support.high
    # A unit step, or more where a unit would be lost in the rounding of the side.
    up, down = (np.maximum(1.0, 1e-6 * np.abs(side)) for side in (low, high))
    below, above = np.isfinite(low), np.isfinite(high)
    cases = [below & above, below, above]
    with np.errstate(invalid="ignore"):  # infinities of the cases not taken
        quarter = (high - low) / 4
        left = np.select(cases, [low + quarter, low + up / 2, high - down], -1.0)
        right = np.select(cases, [high - quarter, low + up, high - down / 2], 1.0)
    return left, right
