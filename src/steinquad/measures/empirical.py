"""The distribution behind observed values, smoothed to a density."""

from typing import Any

import numpy as np
from scipy.special import logsumexp, ndtr, softmax

from steinquad._types import Array, as_finite, as_points
from steinquad.errors import InputError
from steinquad.measures.base import EVERYTHING, Measure
from steinquad.measures.checks import as_draw_request
from steinquad.support import Support

__all__ = ["Empirical"]

MOST_CENTERS = 500  # more values are represented by the means of groups of neighbors
BATCH = 4_096  # points that are compared with all centers at a time


class Empirical(Measure):
    """Observed values as a density: a normal around each, with the values' mean and variance.

    A Stein method needs a score, so the values are smoothed (Silverman's bandwidth) and pulled
    towards their mean by what the smoothing adds: mean and variance stay those of the values.

    Args:
        values: at least 10 observations that are not all equal. Of very many, the means of
            neighbors are kept.

    >>> speeds = Empirical([1.0, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0])
    >>> speeds.cdf([[3.85]]).round(2)
    array([[0.51]])
    """

    provides = EVERYTHING

    def __init__(self, values: Any) -> None:
        data = np.sort(as_finite("values", values, ndim=(1,)))
        if len(data) < 10 or data[0] == data[-1]:
            raise InputError(
                f"values has {len(data)} entries, {len(np.unique(data))} of them different; give "
                "at least 10 that are not all equal."
            )
        self.support, self.names = Support.real(1), ("x0",)
        mean, std = data.mean(), data.std()
        middle = np.subtract(*np.quantile(data, [0.75, 0.25])) / 1.349
        spread = min(std, middle) if middle > 0 else std
        self._width = 0.9 * float(spread) * len(data) ** -0.2
        groups = np.array_split(data, min(len(data), MOST_CENTERS))
        centers = np.array([group.mean() for group in groups])
        self._weights = np.array([len(group) for group in groups]) / len(data)
        within = np.sqrt(self._weights @ (centers - mean) ** 2)
        # Smoothing adds width^2 to the variance: the centers are drawn in by as much.
        shrink = np.sqrt(max(std**2 - self._width**2, 0.0)) / within
        self._centers = mean + shrink * (centers - mean)

    def score(self, x: Array) -> Array:
        """Gradient of the log density, (n, 1) -> (n, 1): the centers' pulls, by their shares.

        A share is the posterior probability of a center given the point, computed by logarithms so
        that points far from all centers still have a finite score.
        """
        return self._columns(x, self._score)

    def log_density(self, x: Array) -> Array:
        """Normalized log density at each point, (n, 1) -> (n,).

        It is the logarithm of a weighted sum of equal normals, taken by `logsumexp`, and finite on
        all of R, because the support of the smoothed density is the whole line.
        """
        return self._columns(x, self._log_density)[:, 0]

    def sample(self, n: int, *, seed: int) -> Array:
        """Independent draws (n, 1): a center, chosen by its weight, and a normal step from it.

        Draws follow the smoothed density, not the observed values themselves; the same seed gives
        the same draws.
        """
        n, seed = as_draw_request(n, seed)
        rng = np.random.default_rng(seed)
        centers = rng.choice(self._centers, size=n, p=self._weights)
        return (centers + self._width * rng.standard_normal(n))[:, None]

    def cdf(self, x: Array) -> Array:
        """Distribution function at each point, (n, 1) -> (n, 1): that of each center, weighted.

        A smooth, strictly increasing version of the step function of the values, as polynomials of
        the cdf need it.
        """
        return self._columns(x, lambda z: ndtr(z) @ self._weights)

    def _score(self, z: Array) -> Array:
        shares = softmax(np.log(self._weights) - z**2 / 2, axis=1)
        return -np.sum(shares * z, axis=1) / self._width

    def _log_density(self, z: Array) -> Array:
        logs = np.log(self._weights) - z**2 / 2
        return np.asarray(logsumexp(logs, axis=1)) - np.log(self._width * np.sqrt(2 * np.pi))

    def _columns(self, x: Array, function: Any) -> Array:
        """`function` of the distances to all centers in widths, a batch at a time."""
        x = as_points("x", x, 1)
        out = np.empty_like(x)
        for i in range(0, len(x), BATCH):
            z = (x[i : i + BATCH] - self._centers) / self._width
            out[i : i + BATCH, 0] = function(z)
        return out
