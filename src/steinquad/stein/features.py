"""Functions that integrate to zero, as features of a linear model.

Add your own: a class with `size` and `__call__` whose columns have mean zero under the measure;
see `examples/06_own_features.py`.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from steinquad._types import Array
from steinquad.dataset import Dataset
from steinquad.measures.base import Measure
from steinquad.stein.multi_indices import index_set

__all__ = ["Features", "PolynomialFeatures"]


class Features(ABC):
    """Nested families of mean-zero functions: those of an order begin with those of lower ones.

    A linear model `integral + sum_j c_j feature_j` fitted to the outputs then has the integral as
    its intercept. `fit` returns the object to use and leaves this one as it is.

    Attributes:
        name: for tables.
        needs_score: whether `__call__` needs scores.
        highest: largest order that `orders` tries.
    """

    name: str = "features"
    needs_score: bool = True
    highest: int = 60  # order worth trying

    def obstacle(self, data: Dataset, measure: Measure | None) -> str | None:
        """Why they cannot be formed on such data, in a sentence that says what to do, or None.

        Asked before `fit`, so that a method can refuse politely.

        Args:
            data: points, outputs and what else is known.
            measure: what the points were drawn from, if known.
        """
        del data, measure
        return None

    def fit(self, data: Dataset, measure: Measure | None) -> "Features":
        """The same features with what they take from data and measure fixed, as a new object.

        For instance shift and scale, boundary factors, distribution functions.

        Args:
            data: points, outputs and what else is known.
            measure: what the points were drawn from, if known.
        """
        del data, measure
        return self

    @abstractmethod
    def size(self, order: int) -> int:
        """How many features there are up to an order, known once they are fitted.

        The number of columns of `__call__`, and with it of coefficients to be estimated; it must
        not decrease with the order.
        """

    @abstractmethod
    def __call__(self, x: Array, score: Array | None, order: int) -> Array:
        """Their values, (n, d) -> (n, size(order))."""

    def degrees(self, order: int) -> Array:
        """How rough each feature is, (size(order),), from 1 on.

        A prior expects less of rougher ones. By default all alike.

        Return larger numbers for features that oscillate more, such as the total degree of a
        polynomial.
        """
        return np.ones(self.size(order))

    def orders(self, most: int) -> list[int]:
        """Orders worth trying with at most `most` features, in increasing order.

        By default every order at first, then such that each adds half.

        Orders that add no feature end the list. A method compares the candidates, so their number
        decides what a fit costs.
        """
        chosen: list[int] = []
        order = 1
        while order <= self.highest and self.size(order) <= most:
            if chosen and self.size(order) == self.size(chosen[-1]):
                break
            if len(chosen) < 4 or self.size(order) >= 1.5 * self.size(chosen[-1]):
                chosen.append(order)
            order += 1
        return chosen

    def trouble(self, data: Dataset, order: int) -> str | None:
        """A sentence on what makes the answer doubtful, known once they are fitted, or None.

        It goes into the status of the estimate: tails so heavy, for instance, that features of
        this order have no variance.

        Args:
            data: what they were fitted to.
            order: the order that was chosen.
        """
        del data, order
        return None


@dataclass(frozen=True)
class PolynomialFeatures(Features):
    """Features that are products of polynomials in single coordinates, one for each multi-index.

    Attributes:
        dim: coordinates; set by `fit`.
    """

    dim: int = 0

    def size(self, order: int) -> int:
        """Number of multi-indices of degree 1 to `order`: the constant has nothing to add."""
        return len(index_set(self.dim, order))

    def degrees(self, order: int) -> Array:
        """Total degrees, (size(order),), by which a prior expects less of rougher features."""
        return index_set(self.dim, order).sum(axis=1).astype(np.float64)
