"""A distribution as a mixture of products in some affine coordinates."""

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np
import scipy.linalg

from steinquad._types import Array, as_points
from steinquad.measures.affine import Affine
from steinquad.measures.marginal import Marginal

__all__ = ["Factors", "Gaussian", "Terms", "combined", "flattened"]

# Products of mixtures multiply out; with more components a distribution counts as not factorized.
MOST_COMPONENTS = 1_000

# Covariances that differ by less, relative to the largest entry, are one.
SAME = 1e-13


class Gaussian(NamedTuple):
    """A component with correlated coordinates, until `Factors.of` whitens it.

    One with a diagonal covariance is split into independent normal marginals; correlated ones can
    stay in a mixture only if all components share the covariance.

    Attributes:
        mean: (d,).
        covariance: (d, d), positive definite.
    """

    mean: Array
    covariance: Array


Product: TypeAlias = tuple[Marginal, ...]  # independent coordinates
Component: TypeAlias = Product | Gaussian
Terms: TypeAlias = Sequence[tuple[float, Component]]  # of a mixture: weight and component
C = TypeVar("C", bound=Component)


@dataclass(frozen=True)
class Factors:
    """A mixture of products: component c has weight `weights[c]` and independent coordinates.

    What `Measure.factors` answers. Kernel means, quantiles and polynomials of the distribution
    functions are computed from it, one coordinate at a time.

    Attributes:
        affine: the coordinates `z = L^-1 (x - mu)` in which the distribution factorizes.
        weights: of the components, (c,), with sum 1.
        components: c times d marginals of z.

    >>> import scipy.stats as st
    >>> from steinquad.measures import Truncated
    >>> half = Truncated(st.norm(), low=0.0).factors()
    >>> half.independent, str(half.components[0][0])
    (True, 'normal(0, 1) on (0, inf)')
    """

    affine: Affine
    weights: Array
    components: tuple[Product, ...]

    @classmethod
    def of(cls, terms: Terms | None) -> "Factors | None":
        """The mixture of these terms in one set of coordinates, or None where there is none.

        The coordinates are the user's if every component is a product in them, and otherwise
        those that whiten a covariance that all components share.
        """
        kept = [(weight, part) for weight, part in terms or [] if weight > 0]
        if not kept or len(kept) > MOST_COMPONENTS:
            return None
        weights = np.array([weight for weight, _ in kept])
        weights = weights / weights.sum()
        parts = [_as_product(part) for _, part in kept]
        products = [part for part in parts if not isinstance(part, Gaussian)]
        if len(products) == len(parts):
            return cls(Affine.identity(len(products[0])), weights, tuple(products))
        gaussians = [g for g in map(_as_gaussian, parts) if g is not None]
        if len(gaussians) < len(parts):
            return None
        # One linear map makes several covariances diagonal only in special cases: they must agree.
        shared = gaussians[0].covariance
        size = np.abs(shared).max()
        if any(np.abs(g.covariance - shared).max() > SAME * size for g in gaussians):
            return None
        matrix = scipy.linalg.cholesky(shared, lower=True)
        inverse = scipy.linalg.solve_triangular(matrix, np.eye(len(shared)), lower=True)
        shift = weights @ np.array([g.mean for g in gaussians])
        centers = [inverse @ (g.mean - shift) for g in gaussians]
        normals = tuple(tuple(Marginal.normal(m, 1.0) for m in center) for center in centers)
        return cls(Affine(shift, matrix, inverse), weights, normals)

    @property
    def dim(self) -> int:
        """Number of coordinates.

        It is the length of every component, and equal in the coordinates x of the user and the
        whitened z.
        """
        return len(self.components[0])

    @property
    def independent(self) -> bool:
        """Whether the coordinates of z are independent: one component.

        Then products of functions of single coordinates integrate to products of integrals, which
        is what `CdfLegendre` relies on. In a mixture of several products the coordinates depend on
        each other in general.
        """
        return len(self.components) == 1

    @property
    def plain(self) -> bool:
        """Whether z is the user's x itself, so that the marginals are those of x.

        Truncation and mixtures of scalar measures need this, because a side in x is no side of a
        rotated coordinate.
        """
        same = np.array_equal(self.affine.matrix, np.eye(self.dim))
        return same and not self.affine.shift.any()

    @property
    def terms(self) -> list[tuple[float, Product]]:
        """Weights and components in pairs, to build other mixtures from.

        The form that `combined` and `flattened` take and that `Factors.of` accepts, with the
        weights as Python floats.
        """
        return list(zip(map(float, self.weights), self.components, strict=True))

    def density(self, x: Array) -> Array:
        """Normalized density of the measure at the points x of the user, (n, d) -> (n,).

        It is the sum over the components of the weight times the product of the marginal
        densities, times `|det L^-1|` for the change of coordinates.
        """
        z = self.affine.points(as_points("x", x, self.dim))
        total = np.zeros(len(z))
        for weight, marginals in zip(self.weights, self.components, strict=True):
            each = [marginal.pdf(z[:, i]) for i, marginal in enumerate(marginals)]
            total += weight * np.prod(each, axis=0)
        return total * abs(np.linalg.det(self.affine.inverse))


def combined(
    parts: Sequence[Sequence[tuple[float, Product]]],
) -> list[tuple[float, Product]] | None:
    """The product of independent mixtures: all choices of a component from each.

    None where they are more than `MOST_COMPONENTS`: their number is a product itself.

    Args:
        parts: for each block, the weights and products of its mixture.

    Returns:
        The weights, multiplied, and the marginals of all blocks side by side.
    """
    if math.prod(map(len, parts)) > MOST_COMPONENTS:
        return None
    return [
        (math.prod(weight for weight, _ in choice), sum((own for _, own in choice), ()))
        for choice in itertools.product(*parts)
    ]


def flattened(
    parts: Iterable[tuple[float, Sequence[tuple[float, C]] | None]],
) -> list[tuple[float, C]] | None:
    """A mixture of mixtures as one, or None where one of them is unknown.

    Args:
        parts: the outer weight of each mixture with its inner terms, or None in their place.

    Returns:
        All inner terms, each with the product of its two weights.
    """
    terms: list[tuple[float, C]] = []
    for weight, inner in parts:
        if inner is None:
            return None
        terms += [(weight * own, component) for own, component in inner]
    return terms


def _as_product(part: Component) -> Component:
    if not isinstance(part, Gaussian):
        return part
    diagonal = np.diag(part.covariance)
    if np.any(part.covariance != np.diag(diagonal)):
        return part
    return tuple(
        Marginal.normal(m, math.sqrt(v)) for m, v in zip(part.mean, diagonal, strict=True)
    )


def _as_gaussian(part: Component) -> Gaussian | None:
    if isinstance(part, Gaussian):
        return part
    if any(marginal.kind != "normal" or marginal.truncated for marginal in part):
        return None
    return Gaussian(np.array([m.loc for m in part]), np.diag([m.scale**2 for m in part]))
