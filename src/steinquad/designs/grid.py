"""A regular grid: for methods that fit a model, not for averages."""

from dataclasses import dataclass

import numpy as np

from steinquad._types import Progress, as_positive
from steinquad.designs.base import Design, Sample
from steinquad.designs.quantiles import moments
from steinquad.errors import InputError
from steinquad.measures.base import Measure
from steinquad.measures.checks import as_draw_request

__all__ = ["Grid"]


@dataclass(frozen=True)
class Grid(Design):
    """Equally spaced points within `width` standard deviations of the mean, as in the paper.

    In several coordinates the tensor product, so n must be a d-th power. Where the support ends
    before the grid would, the grid is cut there and its first point is half a spacing inside:
    scores may be infinite on the boundary itself.

    Args:
        width: half the width of the grid in standard deviations of the coordinate.

    >>> import scipy.stats
    >>> from steinquad.measures import as_measure
    >>> Grid().draw(as_measure(scipy.stats.norm()), 3, seed=0).x[:, 0].round(6).tolist()
    [-5.0, 0.0, 5.0]
    """

    width: float = 5.0

    def __post_init__(self) -> None:
        as_positive("width", self.width)

    def draw(
        self, measure: Measure, n: int, *, seed: int, progress: Progress | None = None
    ) -> Sample:
        """Place the points; see `Design.draw`. Grids are the same for every seed."""
        n, _ = as_draw_request(n, seed)
        side = _root(n, measure.dim)
        mean, deviation = moments(measure)
        low, high = mean - self.width * deviation, mean + self.width * deviation
        # Half a spacing inside of a side that the support cuts: scores may be infinite on it.
        left, right = 0.5 * (low <= measure.support.low), 0.5 * (high >= measure.support.high)
        low, high = np.maximum(low, measure.support.low), np.minimum(high, measure.support.high)
        spacing = (high - low) / (side - 1 + left + right)
        axes = np.linspace(low + left * spacing, high - right * spacing, side).T
        x = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(n, measure.dim)
        return Sample(x, sampled=False)


def _root(n: int, dim: int) -> int:
    """The number of points an axis, refused unless n is a power of it."""
    side = round(n ** (1 / dim))
    if side**dim != n or side < 2:
        below = max(2, side - (side**dim > n))
        powers = [f"n={k**dim}" for k in (below, below + 1) if k == 2 or n > 2**dim]
        raise InputError(
            f"n is {n} but a grid in {dim} dimension{'s' * (dim != 1)} has k^{dim} points, "
            f"k >= 2; give {' or '.join(powers)}."
        )
    return side
