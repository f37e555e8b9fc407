"""The Stein kernel of a radial kernel: a covariance whose functions all integrate to zero.

Apply the Stein operator `w -> drift . w + sum_i m_i dw_i/dx_i` to both arguments of the kernel
`phi(|x - y|^2) I` (Oates, Girolami and Chopin 2017):

    k0(x, y) = sum_i [d_i d_i' k + d_i m_i' dk/dy_i + m_i d_i' dk/dx_i + m_i m_i' d2k/dx_i dy_i].

The sums over coordinates are matrix products, so a matrix of n x n values costs O(n^2 d)
operations and never more than a few arrays of that size.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, TypeAlias

__all__ = [
    "RadialKernel",
    "RadialMatern52",
    "RadialRBF",
    "SteinPoints",
    "stein_gram",
    "stein_sums",
]

# Coordinates, multiplier and drift of each point, all (n, d).
SteinPoints: TypeAlias = tuple[Any, Any, Any]

SMALLEST_SQUARE = 1e-24  # distances below its root count as zero, where sqrt has no derivative


class RadialKernel(ABC):
    """`k(x, y) = phi(|x - y|^2)`, twice differentiable; subclass it to add one.

    A Stein kernel takes a derivative in each argument, hence two of phi. Distances arrive already
    divided by the lengthscales.
    """

    @abstractmethod
    def __call__(self, s: Any) -> tuple[Any, Any, Any]:
        """`phi`, `phi'` and `phi''` at squared distances `s`, finite at s = 0, in JAX."""

    def third(self, s: Any) -> Any:
        """`phi'''` at squared distances; None where it is left to JAX.

        With it, and a `__call__` that takes arrays of NumPy too, nothing has to be compiled for
        the search for lengthscales.
        """
        del s
        return None


@dataclass(frozen=True)
class RadialRBF(RadialKernel):
    """`phi(s) = exp(-s / 2)`.

    The squared exponential of the distance r with s = r^2: for smooth integrands and scores. Its
    Stein kernel is as smooth as the score is.
    """

    def __call__(self, s: Any) -> tuple[Any, Any, Any]:
        """The function and its derivatives."""
        phi = s.__array_namespace__().exp(-0.5 * s)
        return phi, -0.5 * phi, 0.25 * phi

    def third(self, s: Any) -> Any:
        """`-phi / 8`."""
        return -0.125 * self(s)[0]


@dataclass(frozen=True)
class RadialMatern52(RadialKernel):
    """`phi(r^2) = (1 + q + q^2 / 3) exp(-q)` with `q = sqrt(5) r`: the roughest that will do.

    Its Stein kernel has the smoothness of Matern 1/2.

    For integrands that are continuous but not smooth.
    """

    def __call__(self, s: Any) -> tuple[Any, Any, Any]:
        """The function and its derivatives."""
        q, decay = self._decay(s)
        return (
            (1.0 + q + q * q / 3.0) * decay,
            -5.0 / 6.0 * (1.0 + q) * decay,
            25.0 / 12.0 * decay,
        )

    def third(self, s: Any) -> Any:
        """`-125/24 exp(-q) / q`, which what it is multiplied with takes to zero with q."""
        q, decay = self._decay(s)
        return -125.0 / 24.0 * decay / q

    @staticmethod
    def _decay(s: Any) -> tuple[Any, Any]:
        xp = s.__array_namespace__()
        q = xp.sqrt(5.0 * xp.maximum(s, SMALLEST_SQUARE))
        return q, xp.exp(-q)


def stein_gram(
    kernel: RadialKernel, lengthscales: Any, rows: SteinPoints, columns: SteinPoints
) -> Any:
    """`k0` between all rows and columns, (n, m).

    Args:
        kernel: the radial kernel, of distances in units of the lengthscales.
        lengthscales: (d,), or (1,) for one that all coordinates share.
        rows: coordinates, diagonal of the multiplier, and drift `m score + slope` of n points.
        columns: the same of m points.
    """
    squares, drifts, first, second = stein_sums(lengthscales, rows, columns)
    phi, slope, curvature = kernel(squares)
    return phi * drifts + 2.0 * slope * first - 4.0 * curvature * second


def stein_sums(
    lengthscales: Any, rows: SteinPoints, columns: SteinPoints
) -> tuple[Any, Any, Any, Any]:
    """The sums over coordinates of which `k0` is made, (n, m) each, of NumPy or JAX arrays.

    Fields are measured in units of the lengthscales too (`w = l v(z / l)`): the coordinates are
    divided by them and the drift is multiplied.

    Args:
        lengthscales: as for `stein_gram`.
        rows: as for `stein_gram`.
        columns: as for `stein_gram`.

    Returns:
        The squared distance, what phi is multiplied with, and what its derivatives are.
    """
    (u, m, e), (v, p, g) = (
        (z / lengthscales, multiplier, drift * lengthscales)
        for z, multiplier, drift in (rows, columns)
    )
    squares = (u * u).sum(axis=1)[:, None] + (v * v).sum(axis=1) - 2.0 * u @ v.T
    # Rounding may leave a small negative square between points that are nearly the same.
    squares = squares.__array_namespace__().maximum(squares, 0.0)
    # With delta = u - v: dk/du = 2 delta phi', dk/dv = -2 delta phi' and
    # d2k/du dv = -2 phi' - 4 delta^2 phi''.
    first = (m * u) @ g.T - m @ (g * v).T - (e * u) @ p.T + e @ (p * v).T - m @ p.T
    second = (m * u * u) @ p.T - 2.0 * (m * u) @ (p * v).T + m @ (p * v * v).T
    return squares, e @ g.T, first, second
