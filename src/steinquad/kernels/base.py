"""The kernel protocol: one profile of one coordinate's scaled distance."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from steinquad.kernels.blocks import Blocks

__all__ = ["Kernel"]

WRITTEN = ("blocks", "profile")  # by one and the same class
MOST_UNROLLED = 16  # coordinates in a line of the program each


class Kernel(ABC):
    """A stationary product kernel `k(x, y) = prod_i kappa((x_i - y_i) / l_i)`, kappa(0) = 1.

    A kernel of your own is a subclass in one file: `name`, `profile`, and `smooth = False` if
    kappa has a kink at 0. Its integrals are then computed by quadrature; a closed form is
    registered with `register_kernel_mean`. Make it a frozen dataclass if it has parameters.
    """

    name: ClassVar[str]
    smooth: ClassVar[bool] = True  # False: kappa has a kink at 0, where quadrature must split

    @abstractmethod
    def profile(self, t: Any) -> Any:
        """kappa(t) of distances in units of the lengthscale, elementwise.

        Even, kappa(0) = 1, written in `jax.numpy`, with a finite derivative at 0 too.

        It decides the smoothness of the Gaussian process in each coordinate, and is all that a new
        kernel must define.
        """

    @property
    def blocks(self) -> Blocks | None:
        """Its matrices in NumPy, so that nothing is compiled; None without closed forms."""
        return None

    @property
    def closed_form(self) -> Blocks | None:
        """`blocks` where they are those of `profile`, and not of that of a class above."""
        line = type(self).__mro__
        first = {name: next(kind for kind in line if name in vars(kind)) for name in WRITTEN}
        return self.blocks if first["blocks"] is first["profile"] else None

    def gram(self, x: Any, y: Any, lengthscales: Any) -> Any:
        """Kernel matrix, (n, d), (m, d), (d,) -> (n, m); a JAX array, differentiable.

        One coordinate at a time is multiplied in. Override it where the product has a faster form,
        as the squared exponential does.
        """
        x, y, lengthscales = jnp.asarray(x), jnp.asarray(y), jnp.asarray(lengthscales)
        value = jnp.ones((x.shape[0], y.shape[0]), jnp.result_type(x, y, lengthscales))

        def times(value: Any, coordinate: Any) -> tuple[Any, None]:
            a, b, scale = coordinate
            return value * self.profile((a[:, None] - b[None, :]) / scale), None

        # No (n, m, d) array, and beyond some coordinates one program for all: a line for each
        # would be compiled for minutes.
        unroll = max(1, min(x.shape[1], MOST_UNROLLED))
        return jax.lax.scan(times, value, (x.T, y.T, lengthscales), unroll=unroll)[0]
