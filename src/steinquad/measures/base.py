"""The measure protocol: what the library needs to know of what it integrates against."""

from abc import ABC, abstractmethod

from steinquad._types import Array
from steinquad.errors import InputError
from steinquad.support import Support

__all__ = ["Measure"]


class Measure(ABC):
    """A probability measure on a box of R^d, known at least by its score.

    Batches are NumPy float64 of shape (n, d) in and out. `provides` lists which of the optional
    methods (`log_density`, `sample`, `cdf`, `icdf`) a measure has; the others raise `InputError`.
    """

    support: Support
    names: tuple[str, ...]
    provides: frozenset[str] = frozenset()

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return self.support.dim

    @abstractmethod
    def score(self, x: Array) -> Array:
        """Gradient of the log density at each point, (n, d) -> (n, d)."""

    def log_density(self, x: Array) -> Array:
        """Log density at each point, (n, d) -> (n,), up to a constant where it is unknown."""
        raise self._missing("log_density")

    def sample(self, n: int, *, seed: int) -> Array:
        """Independent draws (n, d); the same seed gives the same draws."""
        raise self._missing("sample")

    def cdf(self, x: Array) -> Array:
        """Distribution function of each coordinate, (n, d) -> (n, d); independent coordinates."""
        raise self._missing("cdf")

    def icdf(self, p: Array) -> Array:
        """Inverse of `cdf`, coordinate by coordinate."""
        raise self._missing("icdf")

    def _missing(self, what: str) -> InputError:
        known = ", ".join(sorted(self.provides | {"score"}))
        return InputError(f"measure {type(self).__name__} has no {what}; it provides {known}.")
