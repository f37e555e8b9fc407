"""Gradient and curvature at one point of training: G as a matrix, or by its products alone."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeAlias

import jax
import jax.numpy as jnp
import jax.scipy.linalg
import jax.scipy.sparse.linalg
import numpy as np
import scipy.linalg

from steinquad._types import Array
from steinquad.networks.stein_network import SteinNetwork
from steinquad.training.krylov import lanczos_spectrum
from steinquad.training.model import CompiledModel, ResidualModel, ggn_product
from steinquad.training.objective import TrainingSet

__all__ = ["DENSE_LIMIT", "Curvature", "Dense", "MatrixFree"]

DENSE_LIMIT = 5000  # weights beyond which G is not formed
(TRTRI,) = scipy.linalg.get_lapack_funcs(("trtri",), dtype=np.float64)
# Relative to the trace of G: eigenvalues below this are the rounding errors of a Gram matrix.
ROUNDING = 1e-15
CG_STEPS = 150
TRACE_STEPS = 60

Solve: TypeAlias = Callable[[Array], Array]


class Curvature(Protocol):
    """`G = J^T J` and what goes with it, rows divided by the relative noise of their output.

    J is the Jacobian of the weighted residuals by all weights. Levenberg-Marquardt steps, the
    evidence and the posterior need nothing else of a network.
    """

    every: ClassVar[int]  # steps between two estimates of the precisions

    @property
    def gradient(self) -> Array:
        """J^T r, (p,).

        Half the gradient of the sum of squared residuals, over the noise of each output; the
        prior's part is added by the caller.
        """
        ...

    @property
    def squares(self) -> Array:
        """|r_j|^2 of each output, not divided by the noise, (k,).

        Left in their own units, so that the relative noise of the outputs can be estimated from
        them again after a step.
        """
        ...

    @property
    def noise(self) -> Array:
        """Relative noise of each output, (k,).

        Rows of J and of r are divided by it, so that one precision beta serves all outputs. All
        ones where the outputs count alike.
        """
        ...

    def solver(self, beta: float, diagonal: Array) -> Solve | None:
        """v -> (beta G + diag)^-1 v, to be called as often as needed.

        None where that is not positive definite in float64 and more damping has to be tried.

        Args:
            beta: precision of the noise.
            diagonal: prior precision and damping of each weight, (p,).
        """
        ...

    def quadratic(self, delta: Array) -> float:
        """delta^T G delta, the curvature along a step: what a quadratic model promises of it.

        The ratio of the actual to the promised decrease then decides on the damping.

        Args:
            delta: the step, (p,).
        """
        ...

    def effective(self, alpha: float, beta: float, penalized: Array) -> float | None:
        """gamma, the number of weights that the data decide; None where not to be had here.

        Args:
            alpha: precision of the prior.
            beta: precision of the noise.
            penalized: 1 for the weights that have that prior, 0 for a flat one, (p,).
        """
        ...


@dataclass(frozen=True)
class Dense:
    """G as a matrix, of NumPy or of JAX: for as many weights as it can be factored.

    Attributes:
        matrix: G, (p, p).
        gradient: J^T r, (p,).
        squares: of the residuals of each output, (k,).
        noise: relative, of each output, (k,).
    """

    matrix: Any
    gradient: Array
    squares: Array
    noise: Array
    every: ClassVar[int] = 2

    def solver(self, beta: float, diagonal: Array) -> Solve | None:
        """By Cholesky, factored once for all right-hand sides; None where that fails.

        G is a Gram matrix and may be singular to rounding, so a small diagonal can fail; the
        caller then tries more damping.
        """
        factor = _cholesky(_shifted(self.matrix, beta, diagonal))
        if factor is None:
            return None
        solve = scipy.linalg.cho_solve if _is_numpy(factor) else jax.scipy.linalg.cho_solve
        return lambda v: np.asarray(solve((factor, True), v))

    def quadratic(self, delta: Array) -> float:
        """delta^T G delta.

        One product of a matrix and a vector, with the matrix that is there already; prior and
        damping are not included.
        """
        return float(delta @ (self.matrix @ delta))

    def effective(self, alpha: float, beta: float, penalized: Array) -> float | None:
        """gamma by the trace of the inverse, with a jitter at the rounding errors of G.

        The jitter keeps the factorization from failing where eigenvalues of G are rounding errors,
        which may be negative.
        """
        jitter = ROUNDING * float(np.trace(self.matrix))
        factor = _cholesky(_shifted(self.matrix, beta, alpha * penalized + beta * jitter))
        if factor is None:
            return None
        if _is_numpy(factor):
            half = TRTRI(factor, lower=1)[0]
            variances = np.einsum("ij,ij->j", half, half)
        else:
            half = jax.scipy.linalg.solve_triangular(factor, jnp.eye(len(factor)), lower=True)
            variances = np.asarray(jnp.sum(half**2, axis=0))
        return float(penalized.sum() - alpha * (penalized @ variances))


@dataclass(frozen=True)
class MatrixFree:
    """G by its products: conjugate gradients solve, Lanczos quadrature finds the trace.

    Attributes:
        model: the network on its data.
        vector: the weights, (p,).
        gradient: J^T r there.
        squares: of the residuals of each output.
        noise: relative, of each output.
        cg_tolerance: relative residual at which a solve ends.
        trace_probes: random vectors of a trace; two do for thousands of weights.
    """

    model: CompiledModel
    vector: Array
    gradient: Array
    squares: Array
    noise: Array
    cg_tolerance: float = 1e-3
    trace_probes: int = 2
    every: ClassVar[int] = 5

    @classmethod
    def at(cls, model: ResidualModel, vector: Array, noise: Array, **options: Any) -> "MatrixFree":
        """The curvature of a network on its data at these weights.

        Args:
            model: the network on its data, whichever road it takes otherwise.
            vector: the weights, (p,).
            noise: relative, of each output, (k,).
            options: `cg_tolerance`, `trace_probes`.
        """
        compiled = CompiledModel(model.like, model.data)
        return cls(compiled, vector, *compiled.gradient(vector, noise), noise, **options)

    def solver(self, beta: float, diagonal: Array) -> Solve:
        """By conjugate gradients, truncated: an inexact step still goes downhill.

        Every call costs up to 150 products with G.

        It never refuses, since no factorization can fail: a truncated solution is merely short in
        directions that are not resolved yet.
        """
        like, data = self.model.like, self.model.data
        at = (jnp.asarray(self.vector), like, data, jnp.asarray(self.noise))
        tolerance = self.cg_tolerance
        return lambda v: np.asarray(_conjugate_gradients(at, beta, diagonal, tolerance, v))

    def quadratic(self, delta: Array) -> float:
        """delta^T G delta.

        One product with G, which is a forward and a reverse pass over the data; prior and damping
        are not included.
        """
        return float(delta @ self.model.product(self.vector, self.noise, delta))

    def effective(self, alpha: float, beta: float, penalized: Array) -> float | None:
        """gamma by quadrature of the spectrum.

        A stochastic estimate, good to some percent for thousands of weights. Weights under a flat
        prior are left out of the matrix, which changes gamma by at most their number.
        """
        kept = penalized > 0

        def among(v: Array) -> Array:
            full = np.zeros(len(kept))
            full[kept] = v
            return self.model.product(self.vector, self.noise, full)[kept]

        size = int(kept.sum())
        spectrum = lanczos_spectrum(among, size, probes=self.trace_probes, steps=TRACE_STEPS)
        curved = beta * spectrum.values
        return float(spectrum.counts @ (curved / (curved + alpha)))


@jax.jit
def _conjugate_gradients(
    at: tuple[jax.Array, SteinNetwork, TrainingSet, jax.Array],
    beta: Any,
    diagonal: Any,
    tolerance: Any,
    right: Any,
) -> jax.Array:
    """`(beta G + diag)^-1 right`, G that of these weights, network, data and noise."""

    def product(v: jax.Array) -> jax.Array:
        return beta * ggn_product(*at, v) + diagonal * v

    return jax.scipy.sparse.linalg.cg(product, right, tol=tolerance, maxiter=CG_STEPS)[0]


def _is_numpy(matrix: Any) -> bool:
    return isinstance(matrix, np.ndarray)


def _shifted(matrix: Any, beta: float, diagonal: Array) -> Any:
    if not _is_numpy(matrix):
        return beta * matrix + jnp.diag(jnp.asarray(diagonal))
    shifted = beta * matrix
    shifted.flat[:: len(shifted) + 1] += diagonal
    return shifted


def _cholesky(matrix: Any) -> Any:
    """Lower factor, or None."""
    if not _is_numpy(matrix):
        factor = jnp.linalg.cholesky(matrix)
        return factor if bool(jnp.isfinite(factor).all()) else None
    try:  # of the transpose, which is the same and in LAPACK's order: nothing is copied
        return scipy.linalg.cholesky(matrix.T, lower=True, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError:
        return None
