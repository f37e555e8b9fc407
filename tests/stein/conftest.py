"""JAX in float64, as inside the library."""

from helpers import x64

__all__ = ["x64"]
