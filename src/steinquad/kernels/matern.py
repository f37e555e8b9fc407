"""The Matern kernels of half-integer order."""

from dataclasses import dataclass
from typing import Any, ClassVar

import jax.numpy as jnp

from steinquad.errors import InputError, shown
from steinquad.kernels.base import Kernel
from steinquad.kernels.blocks import MOST_TOGETHER, MaternBlocks

__all__ = ["Matern"]


@dataclass(frozen=True)
class Matern(Kernel):
    """`exp(-s)`, `(1 + s) exp(-s)` or `(1 + s + s^2/3) exp(-s)` of `s = sqrt(2 nu) |t|`.

    Args:
        nu: order, 0.5, 1.5 or 2.5; samples are nu - 1/2 times differentiable.
    """

    nu: float = 2.5

    name: ClassVar[str] = "matern"
    smooth: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not isinstance(self.nu, float) or self.nu not in POLYNOMIALS:
            raise InputError(f"nu is {shown(self.nu)}; Matern kernels have nu 0.5, 1.5 or 2.5.")

    @property
    def rate(self) -> float:
        """`sqrt(2 nu)`, by which scaled distances are multiplied.

        The convention of Rasmussen and Williams, with which lengthscales of different nu mean
        about the same distance and large nu tends to the squared exponential.
        """
        return (2 * self.nu) ** 0.5

    @property
    def polynomial(self) -> tuple[float, ...]:
        """Coefficients of 1, s, s^2 before `exp(-s)`.

        In increasing order of the power: one coefficient for nu = 1/2, two for 3/2 and three for
        5/2. The closed forms of the kernel means read it.
        """
        return POLYNOMIALS[self.nu]

    def profile(self, t: Any) -> Any:
        """kappa(t) of distances in units of the lengthscale of either sign, elementwise.

        Written with the absolute value, so that its derivative at 0 is finite; a square root of
        t^2 would give NaN there.
        """
        s = self.rate * jnp.abs(t)
        return self._before(s) * jnp.exp(-s)

    @property
    def blocks(self) -> MaternBlocks:
        """With one exponential for many coordinates."""
        return MaternBlocks(self.rate, self.polynomial)

    def gram(self, x: Any, y: Any, lengthscales: Any) -> Any:
        """Kernel matrix, (n, d), (m, d), (d,) -> (n, m), with one exponential for all coordinates.

        Faster than one for each; beyond `MOST_TOGETHER` coordinates it could overflow.

        The polynomials are multiplied and the exponents added.
        """
        x, y, lengthscales = jnp.asarray(x), jnp.asarray(y), jnp.asarray(lengthscales)
        if x.shape[1] > MOST_TOGETHER:
            return super().gram(x, y, lengthscales)
        value, total = 1.0, 0.0
        for i in range(x.shape[1]):
            s = self.rate * jnp.abs(x[:, None, i] - y[None, :, i]) / lengthscales[i]
            value, total = value * self._before(s), total + s
        return value * jnp.exp(-total)

    def _before(self, s: Any) -> Any:
        """The polynomial of s before the exponential."""
        value = jnp.zeros_like(s)
        for coefficient in reversed(self.polynomial):
            value = value * s + coefficient
        return value


POLYNOMIALS = {0.5: (1.0,), 1.5: (1.0, 1.0), 2.5: (1.0, 1.0, 1.0 / 3.0)}
