"""Many outputs that vary together as a few principal components, and back.

With Y the outputs in standard units (each centered and scaled by its own spread, under the weights
of the points) and `Y = Z V^T` its singular value decomposition, V orthonormal,

    down        Z = Y V         of the components that carry more than 1e-10 of the variance
    up          theta = shift + scale * (V theta_Z),     S = scale V S_Z V^T scale
    left out    Y - Z V^T       what the other components carry

Whatever is linear in the values is the same for Z as for Y where all components are kept. What is
left out has an average of zero; its standard error as a plain average is added to the variance.
Axes that held-out points had a part in finding tell nothing of their values: any axes would do,
and the values that are held out are rotated by the same ones.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steinquad._types import Array
from steinquad.checking.standard_error import standard_error
from steinquad.dataset import Dataset
from steinquad.fit import Model
from steinquad.points import Points

__all__ = ["ComponentModel", "Components"]

SMALLEST_SHARE = 1e-10  # of the variance of all outputs, below which a component is left out
MOST_OUTPUTS = 8  # up to which all are fitted as they are
FEWER = 2  # outputs a component, at least, where a rotation pays


@dataclass(frozen=True, eq=False)
class Components:
    """Principal components of the outputs of a dataset.

    Attributes:
        shift: weighted mean of each output, (k,); its value where it does not vary.
        scale: weighted standard deviation of each output, (k,); zero where it does not vary.
        axes: orthonormal columns, (k, r), of falling variance.
        shares: of the variance of all outputs that each component carries, (r,).
    """

    shift: Array
    scale: Array
    axes: Array
    shares: Array

    @classmethod
    def of(cls, data: Dataset) -> "Components":
        """Those of the values.

        Args:
            data: with at least one output that varies.
        """
        w = data.effective_weights / data.effective_weights.sum()
        shift = np.where(data.constant, data.fx[0], w @ data.fx)
        scale = np.where(data.constant, 0.0, np.sqrt(w @ (data.fx - shift) ** 2))
        rows = np.sqrt(w)[:, None] * _divided(data.fx - shift, scale)
        left, sizes, right = np.linalg.svd(rows, full_matrices=False)
        shares = sizes**2 / np.sum(sizes**2)
        kept = shares > SMALLEST_SHARE
        # A sign that does not depend on the order of the outputs: the largest value is positive.
        largest = np.take_along_axis(left, np.abs(left).argmax(axis=0)[None], axis=0)[0]
        axes = (right * np.sign(largest)[:, None]).T
        return cls(shift, scale, axes[:, kept], shares[kept])

    @classmethod
    def worthwhile(cls, data: Dataset) -> "Components | None":
        """Those of the values, where they are many fewer than the outputs; None elsewhere.

        None too where the noise of the values is known, because it is that of each output.

        Args:
            data: with at least one output that varies.
        """
        if data.noise is not None or np.count_nonzero(~data.constant) <= MOST_OUTPUTS:
            return None
        components = cls.of(data)
        return components if FEWER * components.count <= data.outputs else None

    @property
    def count(self) -> int:
        """How many there are, r."""
        return len(self.shares)

    @cached_property
    def carried(self) -> Array:
        """Share of the variance of each output that each component carries, (k, r).

        Rows add up to 1; an output that does not vary has the shares of all outputs.
        """
        variances = self.axes**2 * self.shares
        totals = variances.sum(axis=1, keepdims=True)
        varies = (self.scale > 0) & (totals[:, 0] > 0)
        everyone = np.tile(self.shares / self.shares.sum(), (len(totals), 1))
        return np.divide(variances, totals, out=everyone, where=varies[:, None])

    def left_of_outputs(self, left: Array) -> Array:
        """What is left of each output, as a share of its spread, (k,).

        Args:
            left: the same of each component, (r,).
        """
        return np.sqrt(self.carried @ left**2)

    def needed(self, left: Array, spared: float, enough: float) -> np.ndarray:
        """The fewest components that make up what is left of every output, (r,).

        Args:
            left: of each component, as a share of its spread, (r,).
            spared: share of the mean square that is left of any output, up to which the other
                components may make it up.
            enough: share of its spread that is left of an output, below which it needs none.
        """
        squares = self.carried * left**2
        totals = squares.sum(axis=1, keepdims=True)
        wanting = (totals > 0) & (totals >= enough**2)
        squares = np.divide(squares, totals, out=np.zeros_like(squares), where=wanting)
        order = np.argsort(squares.max(axis=0), kind="stable")
        without = np.cumsum(squares[:, order], axis=1).max(axis=0)
        needed = np.ones(self.count, dtype=bool)
        needed[order[without <= spared]] = False
        return needed

    def down(self, values: Array) -> Array:
        """Values of the outputs, (..., k), as those of the components, (..., r)."""
        return _divided(values - self.shift, self.scale) @ self.axes

    def data_of(self, data: Dataset) -> Dataset:
        """The same points with the components as outputs.

        Args:
            data: whose outputs these are the components of.
        """
        return data.with_values(self.down(data.fx))

    def up(self, values: Array) -> Array:
        """Values or integrals of the components, (..., r), as those of the outputs, (..., k)."""
        return self.shift + self.scale * (values @ self.axes.T)

    def up_covariance(self, covariance: Array) -> Array:
        """Covariance of the components' integrals, (r, r), as that of the outputs', (k, k)."""
        loadings = self.scale[:, None] * self.axes
        return loadings @ covariance @ loadings.T

    def up_std(self, std: Array) -> Array:
        """Standard deviations of the components, (..., r), as those of the outputs, (..., k).

        For errors of components that are taken to be independent, such as those at a point.
        """
        return self.scale * np.sqrt(std**2 @ (self.axes**2).T)

    def left_out(self, data: Dataset) -> Array:
        """What the components do not carry of the values, (n, k), of weighted mean zero.

        Args:
            data: whose outputs these are the components of.
        """
        return data.fx - self.up(self.down(data.fx))

    def left_out_std(self, data: Dataset) -> Array:
        """What it adds to the std of an integral, (k,).

        Its standard error as a plain average; of points that are no sample, its root mean square.

        Args:
            data: whose outputs these are the components of.
        """
        rest = self.left_out(data)
        if data.sampled:
            std, _ = standard_error(rest, data.effective_weights, data.groups)
        else:
            std = np.sqrt(np.mean(rest**2, axis=0))
        return np.where(self.scale > 0, std, 0.0)


@dataclass(frozen=True, eq=False)
class ComponentModel:
    """A model of the outputs by way of their components.

    Attributes:
        model: of the components.
        components: of the outputs.
    """

    model: Model
    components: Components

    def __call__(self, points: Points, return_std: bool) -> tuple[Array, Array | None]:
        """Mean (n, k) and, where asked for, its std, by errors of components as independent."""
        mean, std = self.model(points, return_std)
        return self.components.up(mean), None if std is None else self.components.up_std(std)


def _divided(values: Array, scale: Array) -> Array:
    """Values over their scale; zero for outputs without one."""
    return np.divide(values, scale, out=np.zeros_like(values), where=scale > 0)
