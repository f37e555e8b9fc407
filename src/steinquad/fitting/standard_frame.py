"""From a dataset to standardized training data and back: the only place where units change."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import jax
import numpy as np

from steinquad._types import Array
from steinquad.checking.stein_identities import flux_violation
from steinquad.dataset import Dataset, still_obstacle
from steinquad.fitting.outputs import Outputs
from steinquad.measures.affine import Affine
from steinquad.measures.base import Measure
from steinquad.points import Points, missing_score
from steinquad.stein.inputs import NetworkFrame, SteinInputs, stein_inputs, to_cube
from steinquad.stein.multipliers import Multiplier, ProductOf
from steinquad.support import Support
from steinquad.training.objective import TrainingSet

__all__ = ["StandardFrame", "score_obstacle"]


@dataclass(frozen=True)
class StandardFrame:
    """Standardized data and how to come back to the user's units.

    Attributes:
        inputs: every point, as the Stein operator sees it.
        shared: what they share.
        weights: of the points.
        affine: coordinates of the network.
        multiplier: m(x) times the boundary factor, fitted to the data.
        support: where the measure lives.
        outputs: the values in standard units and back.
        violation: what is wrong with the scores, if anything.
        bent: whether coordinates without ends are seen through `stein.inputs.to_cube`.
    """

    inputs: SteinInputs
    shared: NetworkFrame
    weights: Array
    affine: Affine
    multiplier: Multiplier
    support: Support
    outputs: Outputs
    violation: str | None
    bent: bool = False

    @property
    def dim(self) -> int:
        """Number of coordinates of the points, and of the network's inputs."""
        return len(self.affine.shift)

    @classmethod
    def fit(
        cls,
        data: Dataset,
        measure: Measure | None,
        *,
        multiplier: Multiplier,
        boundary: Multiplier,
        standardize: Literal["diagonal", "whiten", "none"],
    ) -> "StandardFrame":
        """Standardize x and f and fold multiplier, boundary and coordinates into the inputs.

        Args:
            data: with scores, or a measure to ask for them.
            measure: what the points were drawn from, when known.
            multiplier: m(x) of the Stein operator, before it is fitted to the data.
            boundary: factor that vanishes on the finite faces of the support; used only if there
                are any.
            standardize: how the coordinates of the network follow from those of the user.

        Returns:
            The frame, with a sentence in `violation` if draws contradict the Stein identity.
        """
        weights = data.effective_weights
        support = data.support or Support.real(data.dim)
        points = Points.of(data, measure)
        fitted = multiplier.fit(points, support)
        # Where the factor does not vanish on a face, the Stein identity has a flux through it.
        if support.bounded:
            fitted = ProductOf((fitted, boundary.fit(points, support)))
        affine = Affine.fit(data.x, standardize, weights)
        inputs, shared = stein_inputs(points, fitted, affine)
        outputs = Outputs.fit(data)
        value, slope = fitted(points)
        violation = flux_violation(data, value * points.score + slope, value)
        return cls(inputs, shared, weights, affine, fitted, support, outputs, violation)

    @property
    def separate(self) -> bool:
        """Whether nothing mixes the coordinates: the matrix of the standardization is diagonal.

        Networks with separate coordinates need it, because each of their units sees one
        coordinate of the user.
        """
        return np.count_nonzero(self.affine.matrix) == self.dim

    @cached_property
    def in_cube(self) -> "StandardFrame":
        """The same data, every coordinate in an interval.

        Coordinates without a finite side are bent by `stein.inputs.to_cube`, and what the Stein
        operator takes with them; all others stay. Computed once.
        """
        inputs, shared = to_cube(self.inputs, self.shared, self._endless)
        return replace(self, inputs=inputs, shared=shared, bent=True)

    @property
    def _endless(self) -> np.ndarray:
        return np.isin(np.arange(self.dim), self.support.bounded, invert=True)

    def rows(self, rows: np.ndarray, room: int = 0) -> TrainingSet:
        """Some of the points to train on or to validate by.

        Args:
            rows: which, in this order.
            room: as in `TrainingSet.build`: sets of equal room share compiled code.
        """
        inputs = jax.tree.map(lambda a: np.asarray(a)[rows], self.inputs)
        values = self.outputs.values[rows]
        return TrainingSet.build(inputs, self.shared, values, self.weights[rows], room)

    def at_all(self) -> TrainingSet:
        """All of the points with their values and weights, in the order of the data."""
        return self.rows(np.arange(len(self.weights)))

    def at(self, points: Points) -> TrainingSet:
        """New points in the coordinates of the network.

        Args:
            points: in the user's coordinates, with scores or a measure to ask for them.

        Returns:
            A set to predict at: its values are zeros and its weights ones.
        """
        inputs, shared = stein_inputs(points, self.multiplier, self.affine)
        if self.bent:
            inputs, shared = to_cube(inputs, shared, self._endless)
        return TrainingSet.build(
            inputs,
            shared,
            np.zeros((len(points.x), len(self.outputs.shift))),
            np.ones(len(points.x)),
        )


def score_obstacle(data: Dataset, measure: Measure | None) -> str | None:
    """Why a method that needs scores and varying coordinates cannot be used, or None.

    Args:
        data: a coordinate with one value at all points cannot be standardized.
        measure: gives the scores where the data have none.
    """
    return missing_score(data, measure) or still_obstacle(data)
