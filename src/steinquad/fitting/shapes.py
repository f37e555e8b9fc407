"""Kinds of networks, and how large they and their data may be."""

from dataclasses import dataclass, field

from steinquad.fit import WarmStart
from steinquad.networks.separate_mlp import first_width
from steinquad.training.gauss_newton import GaussNewton
from steinquad.training.lbfgs import LBFGS
from steinquad.training.optimizer import Optimizer

__all__ = ["Limits", "Shape"]


@dataclass(frozen=True)
class Shape(WarmStart):
    """A kind of network and how to train it.

    It is also the warm start of `BSN`: a fit to more data takes the shape that won and does not
    race again.

    Attributes:
        activation: of every layer.
        width: units in each layer; of the second one where `separate`.
        depth: number of activation layers.
        optimizer: that trains it.
        aligned: whether units of the first layer begin along single coordinates.
        separate: whether they stay so, of coordinates in an interval; has two layers.
    """

    activation: str
    width: int
    depth: int
    optimizer: Optimizer
    aligned: bool = False  # first layer along the coordinates to begin with
    separate: bool = False  # and for good, of coordinates in an interval; has two layers

    def weights(self, dim: int, outputs: int) -> int:
        """How many parameters such a network has, theta0 included.

        Args:
            dim: number of coordinates; the last layer has a vector field of so many components
                for each output.
            outputs: number of integrands that vary.
        """
        h = self.width
        if self.separate:
            first = first_width(dim)
            return 2 * first + h * (first + 1) + outputs * (dim * (h + 1) + 1)
        return h * (dim + 1) + (self.depth - 1) * h * (h + 1) + outputs * (dim * (h + 1) + 1)

    @property
    def by_gradients(self) -> bool:
        """Whether it is trained without evidence, by an optimizer that sees gradients only.

        Of the optimizers only Gauss-Newton counts as one that tunes the prior by the evidence
        while it trains, which keeps theta0 from being biased by a prior that is too weak.
        """
        return not isinstance(self.optimizer, GaussNewton)


@dataclass(frozen=True)
class Limits:
    """Sizes at which `BSN` takes other networks or fewer data; the defaults suit two cores.

    Attributes:
        race_points: most points a race of activations is run on.
        most_raced: coordinates; with more, narrow networks learn too little to tell.
        narrow: width in few dimensions.
        deep: of a network with three layers, for an integrand that stays rough.
        in_many_dimensions: what is taken beyond `most_raced`.
        rough: held-out mean square after the race above which a deeper network is tried.
        most_work: points times squared weights (a Gram matrix) above which a fold trains on fewer
            of its points: a network with many times more data than weights gains next to nothing
            from still more, and all of them validate it.
        most_gradient: the same of points times weights, for a gradient.
        fewest: points a weight that are always trained on.
        most_validated: points that say when to stop; all of them validate the end.
        huge: points from which on two folds do.
        crowded: points a weight below which a network suffers from holding out.
    """

    race_points: int = 3000
    most_raced: int = 7
    narrow: int = 16
    deep: Shape = field(default_factory=lambda: Shape("celu", 16, 3, LBFGS(max_steps=1200)))
    in_many_dimensions: Shape = field(
        default_factory=lambda: Shape("celu", 32, 2, LBFGS(), aligned=True)
    )
    rough: float = 1e-4
    most_work: float = 3e10
    most_gradient: float = 1e8
    fewest: int = 8
    most_validated: int = 20_000
    huge: int = 50_000
    crowded: int = 5

    def biased(self, shape: Shape, n: int, dim: int, outputs: int) -> bool:
        """Whether theta0 is biased for certain: many weights for the data, and no evidence.

        The answer is then always corrected by held-out points, and no network of all data is
        trained.

        Args:
            shape: of the networks.
            n: number of points.
            dim: number of coordinates.
            outputs: number of integrands.
        """
        few = n * outputs < self.crowded * shape.weights(dim, outputs)
        return few and shape.by_gradients

    def folds(self, n: int, dim: int) -> int:
        """How many folds: more where every point that is held out is missed.

        Args:
            n: number of points.
            dim: number of coordinates.

        Returns:
            2 for very many points, 8 in many dimensions where points are few for the weights of a
            wide network but more than these, otherwise 4.
        """
        if n >= self.huge:
            return 2
        wide = self.in_many_dimensions
        crowded = dim > self.most_raced and self.biased(wide, n, dim, 1)
        return 8 if crowded and n > wide.weights(dim, 1) else 4

    def affordable(self, shape: Shape, dim: int, outputs: int) -> int:
        """Points that a step of training may see.

        Args:
            shape: its optimizer decides whether a step costs a gradient or a Gram matrix.
            dim: number of coordinates.
            outputs: number of integrands.

        Returns:
            A number of points, never fewer than `fewest` for each weight.
        """
        p = shape.weights(dim, outputs)
        most = self.most_gradient / p if shape.by_gradients else self.most_work / p**2
        return max(int(most), self.fewest * p)
