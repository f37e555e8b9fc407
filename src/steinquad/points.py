"""Points as a model sees them: the one value that `Fit.predict` and multipliers take."""

from functools import cached_property

import numpy as np

from steinquad._types import Array
from steinquad.dataset import Dataset, check_inside
from steinquad.errors import InputError
from steinquad.measures.base import Measure
from steinquad.support import Support

__all__ = ["Points", "Space", "missing_score"]


class Points:
    """Points (n, d) in the user's coordinates with what is known of the measure there.

    What is not given is asked of the measure when a model first needs it, so a model that needs
    no score costs none.

    Args:
        x: the points, (n, d).
        score: gradient of the log density there, (n, d).
        log_density: up to a constant, (n,).
        measure: where to find what is not given.
    """

    def __init__(
        self,
        x: Array,
        score: Array | None = None,
        log_density: Array | None = None,
        *,
        measure: Measure | None = None,
    ) -> None:
        self.x = x
        self._score, self._log_density, self._measure = score, log_density, measure

    @classmethod
    def of(cls, data: Dataset, measure: Measure | None) -> "Points":
        """Those of a dataset, with its scores if it has any.

        Args:
            data: points and scores.
            measure: asked for scores that the data do not have, and for densities.
        """
        return cls(data.x, data.score, measure=measure)

    def take(self, rows: np.ndarray) -> "Points":
        """Some of them, in the order of `rows`.

        Scores and densities that were already computed are passed on, so that no part asks for
        them again.
        """
        asked = vars(self)  # what a cached property has asked for is not asked for again
        score = asked.get("known_score", self._score)
        density = asked.get("log_density", self._log_density)
        taken = [None if part is None else part[rows] for part in (score, density)]
        return Points(self.x[rows], *taken, measure=self._measure)

    @cached_property
    def known_score(self) -> Array | None:
        """The score, (n, d), or None where neither the caller nor the measure has it.

        Computed once. For callers that can do without it; those that cannot use `score`.
        """
        if self._score is not None or self._measure is None:
            return self._score
        return self._measure.score(self.x)

    @property
    def score(self) -> Array:
        """The score, (n, d); an `InputError` says how to give it where it is not known.

        For models that cannot do without it, such as Stein networks and kernels.
        """
        if self.known_score is None:
            raise InputError(
                "score is missing and the estimate was made without a measure; "
                "pass score= with the gradient of the log density at each point."
            )
        return self.known_score

    @cached_property
    def log_density(self) -> Array | None:
        """The log density up to a constant, (n,), or None where the measure has none.

        Computed once; only multipliers that follow the density ask for it.
        """
        measure = self._measure
        if self._log_density is not None or measure is None:
            return self._log_density
        return measure.log_density(self.x) if "log_density" in measure.provides else None


class Space:
    """Where a fitted model lives: checks points that come from outside and completes them.

    Args:
        data: what the model was fitted to; says the dimension and the support.
        measure: what the data were drawn from, when known.
    """

    def __init__(self, data: Dataset, measure: Measure | None) -> None:
        self.dim = data.dim
        self.support = data.support or Support.real(data.dim)
        self.measure = measure

    def points(self, x: Array, score: Array | None = None) -> Points:
        """Points (n, d) of this space, refused where they are of another one.

        Args:
            x: points, (n, d), inside the support.
            score: gradient of the log density there, (n, d); asked of the measure where not
                given.

        Returns:
            Points that a fitted model takes; an `InputError` says what does not fit.
        """
        if x.shape[1] != self.dim:
            raise InputError(f"x has shape {x.shape}; pass points of shape (n, {self.dim}).")
        check_inside(x, self.support)
        if score is not None and score.shape != x.shape:
            raise InputError(f"score has shape {score.shape} but x has shape {x.shape}.")
        return Points(x, score, measure=self.measure)


def missing_score(data: Dataset, measure: Measure | None) -> str | None:
    """Why scores cannot be had, in a sentence that says what to do, or None where they can."""
    if data.score is not None or measure is not None:
        return None
    return (
        "score is missing and no measure was given to find it from; pass score= with the "
        "gradient of the log density at each point, or measure=."
    )
