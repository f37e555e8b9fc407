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
from steinquad.training.model import Device, Model, ggn_product, model
from steinquad.training.objective import TrainingSet, flatten

__all__ = ["DENSE_LIMIT", "Curvature", "curvature", "trainable"]

DENSE_LIMIT = 5000  # weights beyond which G is not formed
# Relative to the trace of G: eigenvalues below this are the rounding errors of a Gram matrix.
ROUNDING = 1e-15
CG_TOLERANCE, CG_STEPS = 1e-3, 150
TRACE_PROBES, TRACE_STEPS = 2, 60

Solve: TypeAlias = Callable[[Array], Array]


class Curvature(Protocol):
    """`G = J^T J` and what goes with it, rows divided by the relative noise of their output."""

    every: ClassVar[int]  # steps between two estimates of the precisions

    @property
    def gradient(self) -> Array:
        """J^T r, (p,)."""
        ...

    @property
    def squares(self) -> Array:
        """|r_j|^2 of each output, not divided by the noise, (k,)."""
        ...

    @property
    def noise(self) -> Array:
        """Relative noise of each output, (k,)."""
        ...

    def solver(self, beta: float, diagonal: Array) -> Solve | None:
        """v -> (beta G + diag)^-1 v; None where that is not positive definite in float64."""
        ...

    def quadratic(self, delta: Array) -> float:
        """delta^T G delta."""
        ...

    def effective(self, alpha: float, beta: float, penalized: Array) -> float | None:
        """gamma, the number of weights that the data decide; None where not to be had here."""
        ...


def trainable(like: SteinNetwork, data: TrainingSet) -> Model:
    """The network on its data as a trainer wants it: by products alone if G is too large."""
    too_large = len(flatten(like)) > DENSE_LIMIT
    return Device(like, data) if too_large else model(like, data)


def curvature(at: Model, vector: Array, noise: Array, damping: float = 0.0) -> Curvature:
    """Everything a step needs at these weights.

    Args:
        at: the network on its data.
        vector: the weights.
        noise: of each output.
        damping: of the step to come; a large one hides the rounding errors of a G formed in single
            precision, in half the time. Gradient and objective are in double precision always.
    """
    if len(vector) > DENSE_LIMIT:
        free = Device(at.like, at.data)
        return Free(free, vector, *free.gradient(vector, noise), noise)
    return Dense(*at.gram(vector, noise, damping), noise)


@dataclass(frozen=True)
class Dense:
    """G as a matrix, on the host or on the device."""

    matrix: Any
    gradient: Array
    squares: Array
    noise: Array
    every: ClassVar[int] = 2

    def solver(self, beta: float, diagonal: Array) -> Solve | None:
        """By Cholesky."""
        factor = _cholesky(_shifted(self.matrix, beta, diagonal))
        if factor is None:
            return None
        solve = scipy.linalg.cho_solve if _on_host(factor) else jax.scipy.linalg.cho_solve
        return lambda v: np.asarray(solve((factor, True), v))

    def quadratic(self, delta: Array) -> float:
        """delta^T G delta."""
        return float(delta @ (self.matrix @ delta))

    def effective(self, alpha: float, beta: float, penalized: Array) -> float | None:
        """gamma by the trace of the inverse."""
        jitter = ROUNDING * float(np.trace(self.matrix))
        factor = _cholesky(_shifted(self.matrix, beta, alpha * penalized + beta * jitter))
        if factor is None:
            return None
        if _on_host(factor):
            (invert,) = scipy.linalg.get_lapack_funcs(("potri",), (factor,))
            variances = np.diag(invert(factor, lower=1)[0])
        else:
            half = jax.scipy.linalg.solve_triangular(factor, jnp.eye(len(factor)), lower=True)
            variances = np.asarray(jnp.sum(half**2, axis=0))
        return float(penalized.sum() - alpha * (penalized @ variances))


@dataclass(frozen=True)
class Free:
    """G by its products: conjugate gradients solve, Lanczos quadrature finds the trace."""

    at: Device
    vector: Array
    gradient: Array
    squares: Array
    noise: Array
    every: ClassVar[int] = 5

    def solver(self, beta: float, diagonal: Array) -> Solve:
        """By conjugate gradients, truncated: an inexact step still goes downhill."""
        fixed = (jnp.asarray(self.vector), self.at.like, self.at.data, jnp.asarray(self.noise))
        return lambda v: np.asarray(_conjugate_gradients(*fixed, beta, diagonal, v))

    def quadratic(self, delta: Array) -> float:
        """delta^T G delta."""
        return float(delta @ self.at.product(self.vector, self.noise, delta))

    def effective(self, alpha: float, beta: float, penalized: Array) -> float | None:
        """gamma by quadrature of the spectrum."""
        kept = penalized > 0

        def among(v: Array) -> Array:
            full = np.zeros(len(kept))
            full[kept] = v
            return self.at.product(self.vector, self.noise, full)[kept]

        spectrum = lanczos_spectrum(among, int(kept.sum()), probes=TRACE_PROBES, steps=TRACE_STEPS)
        curved = beta * spectrum.values
        return float(spectrum.counts @ (curved / (curved + alpha)))


@jax.jit
def _conjugate_gradients(
    vector: Any, like: Any, data: Any, noise: Any, beta: Any, diagonal: Any, right: Any
) -> jax.Array:
    def product(v: jax.Array) -> jax.Array:
        return beta * ggn_product(vector, like, data, noise, v) + diagonal * v

    return jax.scipy.sparse.linalg.cg(product, right, tol=CG_TOLERANCE, maxiter=CG_STEPS)[0]


def _on_host(matrix: Any) -> bool:
    return isinstance(matrix, np.ndarray)


def _shifted(matrix: Any, beta: float, diagonal: Array) -> Any:
    if not _on_host(matrix):
        return beta * matrix + jnp.diag(jnp.asarray(diagonal))
    shifted = beta * matrix
    shifted.flat[:: len(shifted) + 1] += diagonal
    return shifted


def _cholesky(matrix: Any) -> Any:
    """Lower factor, or None."""
    if not _on_host(matrix):
        factor = jnp.linalg.cholesky(matrix)
        return factor if bool(jnp.isfinite(factor).all()) else None
    try:
        return scipy.linalg.cholesky(matrix, lower=True, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError:
        return None
