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
    left, right = np.full(support.dim, -1.0), np.full(support.dim, 1.0)
    below, above = np.isfinite(low), np.isfinite(high)
    both, only_low, only_high = below & above, below & ~above, above & ~below
    width = high[both] - low[both]
    left[both], right[both] = low[both] + width / 4, high[both] - width / 4
    # A unit step, or more where a unit would be lost in the rounding of the side.
    up = np.maximum(1.0, 1e-6 * np.abs(low[only_low]))
    down = np.maximum(1.0, 1e-6 * np.abs(high[only_high]))
    left[only_low], right[only_low] = low[only_low] + up / 2, low[only_low] + up
    left[only_high], right[only_high] = high[only_high] - down, high[only_high] - down / 2
    return left, right
