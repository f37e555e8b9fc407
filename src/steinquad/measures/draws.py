"""A measure known by points and scores only, for example the output of MCMC."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from steinquad._types import Array, as_points
from steinquad.errors import InputError
from steinquad.measures.base import Measure
from steinquad.measures.checks import as_draw_request, as_names
from steinquad.support import Support

__all__ = ["Draws"]


class Draws(Measure):
    """Draws and the scores there; nothing is known elsewhere.

    Args:
        x: the draws, (n, d) or (n,).
        score: gradient of the log density at each draw, of the same shape.
        support: where the measure lives, as `Support.parse` takes it; None is all of R^d.
        names: coordinate names, `x0, x1, ...` by default.

    >>> Draws([0.0, 1.0, 2.0], [0.0, -1.0, -2.0]).sample(2, seed=0)
    array([[0.],
           [2.]])
    """

    provides = frozenset({"sample"})

    def __init__(
        self, x: Any, score: Any, support: Any = None, names: Sequence[str] | None = None
    ) -> None:
        self.x = as_points("x", x)
        self.scores = as_points("score", score)
        if self.x.shape != self.scores.shape:
            raise InputError(
                f"score has shape {self.scores.shape} but x has shape {self.x.shape}; "
                "pass the gradient of the log density at each draw."
            )
        if not self.x.size:
            raise InputError(f"x has shape {self.x.shape}; pass at least one draw.")
        dim = self.x.shape[1]
        self.names = as_names(names, dim)
        self.support = Support.parse(support, dim, self.names)
        outside = np.flatnonzero(~self.support.contains(self.x))
        if len(outside):
            raise InputError(
                f"x row {outside[0]} lies outside the support {self.support} "
                f"({len(outside)} rows do); correct the support or remove those rows."
            )

    def score(self, x: Array) -> Array:
        """The scores of draws that are among the stored ones, exactly.

        The rows of x are looked up by their bytes, so a point that differs in its last bit is an
        `InputError`: a score elsewhere would have to be invented.
        """
        x = as_points("x", x, self.dim)
        try:
            rows = [self._rows[key] for key in _keys(x)]
        except KeyError:
            unknown = next(i for i, key in enumerate(_keys(x)) if key not in self._rows)
            raise InputError(
                f"x row {unknown} is not one of the draws; scores are known only at the draws, "
                "so pass rows of .x or use LogDensity."
            ) from None
        return self.scores[rows]

    def sample(self, n: int, *, seed: int) -> Array:
        """`n` evenly spaced draws, the first and the last included; the seed has no say.

        Thinning evenly keeps the draws of a Markov chain as far apart as possible. More draws than
        are stored are refused, since repeated points carry no information.
        """
        n, _ = as_draw_request(n, seed)
        total = len(self.x)
        if n > total:
            raise InputError(f"n is {n} but there are {total} draws; ask for at most {total}.")
        return self.x[np.linspace(0, total - 1, n).round().astype(int)]

    @cached_property
    def _rows(self) -> dict[bytes, int]:
        """Where each stored draw is; of equal rows, as a rejecting sampler gives, the first."""
        rows: dict[bytes, int] = {}
        for i, key in enumerate(_keys(self.x)):
            rows.setdefault(key, i)
        return rows


def _keys(x: Array) -> list[bytes]:
    return [row.tobytes() for row in x + 0.0]  # + 0.0 makes -0.0 and 0.0 the same bytes
