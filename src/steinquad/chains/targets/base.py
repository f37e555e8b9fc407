"""What a posterior has to offer for its draws: points of R^d, and the score there."""

import abc
from collections.abc import Mapping

from steinquad._types import Array

__all__ = ["Target"]


class Target(abc.ABC):
    """A posterior whose draws are known: where they are in R^d, and the score there."""

    @abc.abstractmethod
    def unconstrain(self, draws: Mapping[str, Array]) -> Array:
        """Draws by variable name, each (n, *shape), as points of R^d: (n, d)."""

    @abc.abstractmethod
    def score(self, points: Array) -> Array:
        """Gradient of the log density on R^d (with the Jacobian of the transforms), (n, d)."""
