"""`b^T A^-1 b` for a matrix known by its products only, with a lower and an upper bound.

A = beta G + alpha I has condition numbers of 1e10 and more, where plain conjugate gradients stop
early and answer with a variance that is too small. Two things mend that. A randomized Nystroem
approximation of G never exceeds G, so the preconditioner `M = beta G_hat + alpha I` has `M <= A`
and the spectrum of `M^-1/2 A M^-1/2` starts at 1, known exactly. With that lower end, Lanczos
gives two sides: Gauss quadrature lies below `b^T A^-1 b`, Gauss-Radau with a node at 1 above.
"""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from steinquad._types import Array
from steinquad.training.evidence import Spectrum

__all__ = ["Bounds", "Nystroem", "ShiftedGram", "lanczos_spectrum", "quadratic_form"]

Product = Callable[[Array], Array]


@dataclass(frozen=True)
class Bounds:
    """A value known to lie between `lower` and `upper`, after so many `steps` of Lanczos.

    Attributes:
        lower: by Gauss quadrature.
        upper: by Gauss-Radau quadrature.
        steps: products with the matrix so far.
    """

    lower: float
    upper: float
    steps: int

    @property
    def gap(self) -> float:
        """Width relative to the upper bound: 0 where the value is exact.

        It decides when `quadratic_form` stops, and tells whoever reports a standard deviation how
        far it can be off.
        """
        return (self.upper - self.lower) / self.upper if self.upper > 0 else 0.0


@dataclass(frozen=True)
class Nystroem:
    """`G_hat = U diag(values) U^T <= G` of low rank.

    A preconditioner that never exceeds what it stands for, so that bounds hold.

    Attributes:
        basis: U, (p, rank), with orthonormal columns.
        values: eigenvalues of the approximation, not negative.
    """

    basis: Array  # U, (p, rank), orthonormal columns
    values: Array  # (rank,)

    @classmethod
    def build(cls, product: Product, size: int, rank: int, seed: int) -> "Nystroem":
        """Randomized Nystroem approximation from `rank` products with G.

        Args:
            product: v -> G v.
            size: p, of G.
            rank: of the approximation, and products that it costs.
            seed: of the random directions.
        """
        rng = np.random.default_rng(seed)
        test, _ = np.linalg.qr(rng.standard_normal((size, rank)))
        image = np.stack([product(column) for column in test.T], axis=1)
        # The usual shift keeps the small factor positive definite; it is taken off again below.
        shift = np.sqrt(size) * np.finfo(float).eps * np.linalg.norm(image)
        image = image + shift * test
        small = scipy.linalg.cholesky(test.T @ image, lower=True)
        factor = scipy.linalg.solve_triangular(small, image.T, lower=True).T
        basis, singular, _ = np.linalg.svd(factor, full_matrices=False)
        return cls(basis, np.maximum(singular**2 - shift, 0.0))


@dataclass(frozen=True)
class ShiftedGram:
    """`A = beta G + alpha I` by products with G, and the preconditioner `M <= A`.

    Attributes:
        product: v -> G v.
        nystroem: approximation of G that makes the preconditioner.
        alpha: shift, positive.
        beta: scale of G.
    """

    product: Product
    nystroem: Nystroem
    alpha: float
    beta: float

    def inverse_root(self, vector: Array) -> Array:
        """`M^-1/2 v` for `M = beta G_hat + alpha I`.

        Exact, because M is a multiple of the identity outside the span of the basis: two thin
        products instead of a factorization of a (p, p) matrix.
        """
        alpha, basis = self.alpha, self.nystroem.basis
        scale = 1.0 / np.sqrt(self.beta * self.nystroem.values + alpha) - 1.0 / np.sqrt(alpha)
        return vector / np.sqrt(alpha) + basis @ (scale * (basis.T @ vector))

    def preconditioned(self, vector: Array) -> Array:
        """`M^-1/2 A M^-1/2 v`, whose spectrum starts at 1.

        Lanczos runs on this matrix. It is symmetric, and better conditioned than A by as much of G
        as the approximation has caught.
        """
        root = self.inverse_root(vector)
        return self.inverse_root(self.beta * self.product(root) + self.alpha * root)


def _lanczos(product: Product, start: Array) -> Iterator[tuple[Array, Array]]:
    """Diagonal and off-diagonal of the Lanczos matrix after each step, fully reorthogonalized.

    The off-diagonal has one entry for each diagonal one: its last is the coupling to the next
    step, 0 when the Krylov space is exhausted.
    """
    basis = [start / np.linalg.norm(start)]
    diagonal: list[float] = []
    off: list[float] = []
    for _ in range(len(start)):
        image = product(basis[-1])
        diagonal.append(float(basis[-1] @ image))
        stack = np.stack(basis)
        # One pass leaves components of the size of rounding times the condition; twice is enough.
        for _ in range(2):
            image = image - stack.T @ (stack @ image)
        coupling = float(np.linalg.norm(image))
        exhausted = coupling <= 1e-12 * abs(diagonal[0])
        off.append(0.0 if exhausted else coupling)
        yield np.asarray(diagonal), np.asarray(off)
        if exhausted:
            return
        basis.append(image / coupling)


def _tridiagonal(diagonal: Array, off: Array) -> Array:
    """A symmetric tridiagonal matrix in the banded form of `scipy.linalg.solve_banded`."""
    banded = np.zeros((3, len(diagonal)))
    banded[1] = diagonal
    banded[0, 1:] = banded[2, :-1] = off
    return banded


def _first_inverse(diagonal: Array, off: Array) -> float:
    """Entry (0, 0) of the inverse of a symmetric tridiagonal matrix."""
    unit = np.zeros(len(diagonal))
    unit[0] = 1.0
    return float(scipy.linalg.solve_banded((1, 1), _tridiagonal(diagonal, off), unit)[0])


def quadratic_form(
    matrix: ShiftedGram, b: Array, *, rtol: float = 0.01, max_steps: int = 400
) -> Bounds:
    """Bounds on `b^T A^-1 b`, tightened until they differ by less than `rtol`.

    Args:
        matrix: A, by its products, with its preconditioner.
        b: the vector, (p,).
        rtol: relative gap at which to stop.
        max_steps: most products with G.
    """
    start = matrix.inverse_root(b)
    norm2 = float(start @ start)
    if norm2 == 0.0:
        return Bounds(0.0, 0.0, 0)
    bounds = Bounds(0.0, norm2, 0)
    # Rounding may put the smallest eigenvalue a hair below 1; a lower node only widens the bound.
    node = 1.0 - 1e-6
    for diagonal, off in itertools.islice(_lanczos(matrix.preconditioned, start), max_steps):
        inner, coupling = off[:-1], off[-1]
        lower = norm2 * _first_inverse(diagonal, inner)
        if coupling == 0.0:
            return Bounds(lower, lower, len(diagonal))
        # Radau: extend the matrix so that `node` is one of its eigenvalues.
        rhs = np.zeros(len(diagonal))
        rhs[-1] = coupling**2
        shifted = _tridiagonal(diagonal - node, inner)
        last = node + scipy.linalg.solve_banded((1, 1), shifted, rhs)[-1]
        upper = norm2 * _first_inverse(np.append(diagonal, last), off)
        bounds = Bounds(lower, max(upper, lower), len(diagonal))
        if bounds.gap < rtol:
            break
    return bounds


def lanczos_spectrum(
    product: Product, size: int, *, probes: int = 8, steps: int = 120, seed: int = 0
) -> Spectrum:
    """Quadrature of the spectral density of G: nodes and how many eigenvalues each stands for.

    Args:
        product: v -> G v.
        size: p, of G.
        probes: random vectors to start from; their average is what is exact in expectation.
        steps: products with G for each.
        seed: of the probes.
    """
    rng = np.random.default_rng(seed)
    values, counts = [], []
    for _ in range(probes):
        run = _lanczos(product, rng.choice([-1.0, 1.0], size))
        *_, (diagonal, off) = itertools.islice(run, steps)
        nodes, vectors = scipy.linalg.eigh_tridiagonal(diagonal, off[:-1])
        values.append(np.maximum(nodes, 0.0))
        counts.append(vectors[0] ** 2 * size / probes)
    return Spectrum(np.concatenate(values), np.concatenate(counts))
