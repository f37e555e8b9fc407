"""A kernel density estimate of `scipy.stats` as what it is: a mixture of equal normals."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.linalg
from scipy.special import logsumexp, ndtr, softmax

from steinquad._types import Array, as_points
from steinquad.measures.base import EVERYTHING, Measure
from steinquad.measures.checks import as_draw_request, as_names
from steinquad.measures.factors import Factors, Gaussian
from steinquad.support import Support

__all__ = ["KernelDensity"]

MOST_COMPONENTS = 50  # beyond which the kernel means of Bayesian quadrature take minutes
BATCH = 2_000_000  # distances at a time, in 16 MB


class KernelDensity(Measure):
    """A `scipy.stats.gaussian_kde`: a normal around each point, all with one covariance.

    Nothing is approximated: density, score, draws and, in one dimension, the cdf are those of the
    mixture. For a measure with the mean and the variance of the points themselves, which a kernel
    density is wider than, see the distribution `empirical` of study files.

    Args:
        kde: weighted or not, with any bandwidth.
        names: coordinate names, `x0, x1, ...` by default.

    >>> import scipy.stats
    >>> smooth = KernelDensity(scipy.stats.gaussian_kde([1.0, 2.0, 4.0]))
    >>> smooth.cdf([[0.0], [9.0]]).round(2).ravel().tolist()
    [0.09, 1.0]
    """

    def __init__(self, kde: Any, names: Sequence[str] | None = None) -> None:
        points = np.asarray(kde.dataset, dtype=np.float64).T
        self._weights = np.asarray(kde.weights, dtype=np.float64)
        self._covariance = np.atleast_2d(np.asarray(kde.covariance, dtype=np.float64))
        self.support = Support.real(points.shape[1])
        self.names = as_names(names, self.dim)
        self.provides = EVERYTHING if self.dim == 1 else frozenset({"log_density", "sample"})
        self._factor = scipy.linalg.cholesky(self._covariance, lower=True)
        self._points = points
        self._shift = points.mean(axis=0)  # distances are taken around it, to keep their digits
        self._centers = self._whitened(points)

    def score(self, x: Array) -> Array:
        """Gradient of the log density, (n, d) -> (n, d): the centers' pulls, by their shares.

        A share is the posterior probability of a center given the point, computed by logarithms,
        so that points far from all centers still have a finite score.
        """
        x = as_points("x", x, self.dim)
        pulls = self._by_batches(x, lambda z: self._shares(z) @ self._centers - z)
        return scipy.linalg.solve_triangular(self._factor.T, pulls.T).T

    def log_density(self, x: Array) -> Array:
        """Normalized log density at each point, (n, d) -> (n,).

        By `logsumexp` over the centers; finite at every point, since the support is all of R^d.
        """
        x = as_points("x", x, self.dim)
        logs = self._by_batches(x, lambda z: np.asarray(logsumexp(self._logs(z), axis=1))[:, None])
        volume = np.log(np.diag(self._factor)).sum() + self.dim / 2 * np.log(2 * np.pi)
        return logs[:, 0] - volume

    def sample(self, n: int, *, seed: int) -> Array:
        """Independent draws (n, d): a center, chosen by its weight, and a normal step from it.

        The same seed gives the same draws.
        """
        n, seed = as_draw_request(n, seed)
        rng = np.random.default_rng(seed)
        chosen = rng.choice(len(self._points), size=n, p=self._weights)
        return self._points[chosen] + rng.standard_normal((n, self.dim)) @ self._factor.T

    def cdf(self, x: Array) -> Array:
        """Distribution function at each point, (n, 1) -> (n, 1); in one dimension only."""
        self._require("cdf")
        x = as_points("x", x, 1)
        centers, weights = self._centers.T, self._weights[:, None]
        return self._by_batches(x, lambda z: ndtr(z - centers) @ weights)

    def factors(self) -> Factors | None:
        """A mixture of normals in whitened coordinates; None where there are more than 50.

        Kernel means are computed for each component, so that Bayesian quadrature, which needs
        them, is for few; all other methods take as many as there are.
        """
        if len(self._points) > MOST_COMPONENTS:
            return None
        normals = [Gaussian(point, self._covariance) for point in self._points]
        return Factors.of(list(zip(map(float, self._weights), normals, strict=True)))

    def _whitened(self, x: Array) -> Array:
        return scipy.linalg.solve_triangular(self._factor, (x - self._shift).T, lower=True).T

    def _logs(self, z: Array) -> Array:
        """Logarithm of each center's part of the density, up to a constant, (n, centers)."""
        squares = np.sum(z**2, axis=1)[:, None] + np.sum(self._centers**2, axis=1)
        with np.errstate(divide="ignore"):  # a center may have the weight zero
            return np.log(self._weights) + z @ self._centers.T - squares / 2

    def _shares(self, z: Array) -> Array:
        return softmax(self._logs(z), axis=1)

    def _by_batches(self, x: Array, function: Callable[[Array], Array]) -> Array:
        """`function` of the points in whitened coordinates, as many at a time as memory likes."""
        z, step = self._whitened(x), max(1, BATCH // len(self._points))
        return np.concatenate([function(z[i : i + step]) for i in range(0, max(len(z), 1), step)])
