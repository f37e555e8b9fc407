"""What an estimate from draws asks of the model that made them: coordinates and a score."""

import abc
from collections.abc import Mapping

from steinquad._types import Array

__all__ = ["Target"]


class Target(abc.ABC):
    """A posterior whose draws are known: where they are in R^d, and the score there.

    The variables of a model may be positive, bounded, simplices or correlation matrices. A target
    takes their draws to unconstrained coordinates by the transforms of the library that made them,
    so that the posterior has a density on all of R^d and no boundary.
    """

    @abc.abstractmethod
    def unconstrain(self, draws: Mapping[str, Array]) -> Array:
        """Take draws to unconstrained coordinates.

        Args:
            draws: by variable name, (n, *shape) each. Names that the model does not sample, such
                as quantities computed from others, are passed over.

        Returns:
            Points of R^d, (n, d), in the order of the draws.
        """

    @abc.abstractmethod
    def score(self, points: Array) -> Array:
        """Gradient of the log density on R^d, with the Jacobian of the transforms.

        Args:
            points: what `unconstrain` gave, (n, d).

        Returns:
            One gradient for each point, (n, d).
        """
