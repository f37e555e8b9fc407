"""The squared exponential kernel."""

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp

from steinquad.kernels.base import Kernel
from steinquad.kernels.blocks import RBFBlocks

__all__ = ["RBF"]


@dataclass(frozen=True)
class RBF(Kernel):
    """The squared exponential `kappa(t) = exp(-t^2 / 2)`, for smooth integrands.

    The paper's text has no 2, its appendix has.

    Its functions are analytic, so it promises more smoothness than rough integrands have, and may
    then report too small a standard deviation; use `Matern` for these.
    """

    name = "rbf"

    def profile(self, t: Any) -> Any:
        """`exp(-t^2 / 2)` of distances in units of the lengthscale, elementwise.

        Even and smooth, with `kappa(0) = 1` and all derivatives finite there, so quadrature needs
        no edge at 0.
        """
        return jnp.exp(-0.5 * t * t)

    @property
    def blocks(self) -> RBFBlocks:
        """By products of matrices."""
        return RBFBlocks()

    def gram(self, x: Any, y: Any, lengthscales: Any) -> Any:
        """Kernel matrix, (n, d), (m, d), (d,) -> (n, m), from one product of matrices.

        `|x - y|^2 = |x|^2 + |y|^2 - 2 x . y` replaces d elementwise products; negative squares,
        which rounding leaves at near-equal points, are set to zero.
        """
        x, y, lengthscales = jnp.asarray(x), jnp.asarray(y), jnp.asarray(lengthscales)
        center = x.mean(axis=0)  # far from the origin the squares below would cancel
        x, y = (x - center) / lengthscales, (y - center) / lengthscales
        squares = jnp.sum(x * x, axis=1)[:, None] + jnp.sum(y * y, axis=1)[None, :]
        return jnp.exp(-0.5 * jnp.maximum(squares - 2 * x @ y.T, 0.0))
