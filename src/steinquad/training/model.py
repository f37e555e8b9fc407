"""Residuals of a network on its data as a function of the flat vector of weights.

Two roads to the same numbers. `NumpyModel` runs networks of two activation layers on a CPU by
NumPy and BLAS: nothing to compile, and BLAS forms `J^T J` three times as fast as XLA does there.
`CompiledModel` runs any network on any device by compiled programs; nothing but vectors and
scalars leaves it.

Rows are the weighted residuals of `training.objective` divided by the relative noise of their
output, so that one noise precision beta serves all outputs.
"""

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, TypeAlias, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from steinquad._compile import compiled
from steinquad._types import Array
from steinquad.networks import numpy_backend
from steinquad.networks.stein_network import SteinNetwork
from steinquad.training.objective import (
    Block,
    TrainingSet,
    compiled_values,
    flatten,
    residuals,
    unflatten,
)

__all__ = ["CompiledModel", "NumpyModel", "ResidualModel", "ggn_product", "model"]

KEPT = 2**29
# A single-precision G is wrong by about 1e-9 of its trace; dampings well above that hide it.
SINGLE, LARGE = 1e-8, 1000
BEND = 0.1  # of a step, the difference by which its second derivative is found

Rows: TypeAlias = Callable[[jax.Array], jax.Array]
T = TypeVar("T")
Sums: TypeAlias = tuple[jax.Array, jax.Array, jax.Array]  # G, J^T r and the squares


class ResidualModel(ABC):
    """What training and the posterior ask of a network on its data.

    All vectors are flat, all arguments at one set of weights. Both roads answer with the same
    numbers, up to rounding.
    """

    def __init__(self, like: SteinNetwork, data: TrainingSet) -> None:
        self.like, self.data = like, data

    def squares(self, vector: Array) -> Array:
        """|r|^2 of each output, not over the noise, (k,).

        What the loss is made of, and what tells the noise of one output from that of another; no
        Jacobian is formed, so that trial steps cost a fraction of `gram`.
        """
        return self.moments(vector)[0]

    @abstractmethod
    def moments(self, vector: Array) -> tuple[Array, Array]:
        """The squares, and the weighted sum of g - y, (k,) both.

        At points held out they are error and bias: the sum over the total weight is the mean
        residual, which corrects theta0.
        """

    @abstractmethod
    def gram(self, vector: Array, noise: Array, damping: float = 0.0) -> tuple[Any, Array, Array]:
        """G = J^T J (p, p), J^T r (p,), and the squares (k,).

        Args:
            vector: the weights, (p,).
            noise: relative, of each output, by which the rows are divided, (k,).
            damping: of the step that G is for, which decides how exact it has to be.
        """

    @abstractmethod
    def bend(self, vector: Array, noise: Array, along: Array) -> Array:
        """J^T of the second derivative of r along a direction, (p,).

        The geodesic acceleration of a step. At the weights of the last call of `gram`, whose rows
        may still be there.

        Args:
            vector: these weights, (p,).
            noise: relative, of each output, (k,).
            along: the direction, (p,).
        """

    @abstractmethod
    def jacobian(self, vector: Array) -> Array:
        """Derivative of the weighted residuals by the weights, (n k, p), all rows at once.

        For the posterior, which needs rows and not only `J^T J`; not divided by the noise.
        """


def model(like: SteinNetwork, data: TrainingSet) -> ResidualModel:
    """A network on its data, by the faster of the two roads for it and for this machine.

    Args:
        like: the network; its weights do not matter, its shapes do.
        data: points, values and weights of the residuals.
    """
    on_cpu = jax.default_backend() == "cpu"
    by_numpy = on_cpu and numpy_backend.suits(like)
    return NumpyModel(like, data) if by_numpy else CompiledModel(like, data)


class NumpyModel(ResidualModel):
    """By NumPy and BLAS, in memory that is used again from one call to the next.

    Rows of J are formed of the weights that their output depends on, `own`: the last layers of k
    outputs have nothing to do with each other, so that G costs k products of few columns.

    Args:
        like: the network; its weights do not matter, its shapes do.
        data: points, values and weights of the residuals.
        kept: most bytes of Jacobian that stay in memory.
        large: weights from which on G may be formed in single precision under a large damping;
            smaller matrices are not worth the conversion.
    """

    def __init__(
        self, like: SteinNetwork, data: TrainingSet, *, kept: int = KEPT, large: int = LARGE
    ) -> None:
        super().__init__(like, data)
        self.kept, self.large = kept, large
        merged = data.merged()
        used = merged.weights > 0
        merged = jax.tree.map(lambda a: a[used], merged)
        self.batch, self.y = numpy_backend.Batch.of(merged.inputs, data.frame), merged.y
        self.root = np.sqrt(merged.weights)[:, None]
        self.outputs = self.y.shape[1]
        self.own = numpy_backend.own_weights(like)  # (k, q)
        self._here = np.zeros_like(self.y)  # residuals at the last call of `gram`
        self._trace = np.inf  # of the last G

    def moments(self, vector: Array) -> tuple[Array, Array]:
        """Squares and weighted sum of the residuals.

        Points of weight zero, which only pad the blocks, were dropped when the model was made, so
        they cost nothing here.
        """
        r = self._residuals(vector)
        return np.sum(r**2, axis=0), np.sum(self.root * r, axis=0)

    def gram(
        self, vector: Array, noise: Array, damping: float = 0.0
    ) -> tuple[Array, Array, Array]:
        """G, J^T r and the squares, one panel of Jacobian at a time.

        Under a damping well above the rounding of single precision, G is formed in float32, which
        is faster; the gradient and the squares are always in float64.
        """
        p, q = len(vector), self.own.shape[1]
        single = damping > SINGLE * self._trace and q > self.large
        part = np.empty((q, q), np.float32 if single else np.float64)
        total, gradient = np.zeros((p, p)), np.zeros(p)
        sums = np.zeros(self.outputs)
        for panel in self._panels():
            r, rows = self._jacobian(vector, noise, panel)
            self._here[panel] = r
            sums += np.sum(r**2, axis=0)
            gradient += self._back(rows, r / noise)
            for runs, one in zip(self._runs, rows, strict=True):
                factor = one.astype(np.float32) if single else one
                product = np.matmul(factor.T, factor, out=part)
                for (to, at), (beside, column) in itertools.product(runs, runs):
                    total[to, beside] += product[at, column]
        self._trace = float(np.trace(total))
        return total, gradient, sums

    def bend(self, vector: Array, noise: Array, along: Array) -> Array:
        """By a central difference of the residuals, which has digits enough.

        The acceleration only corrects a step, so a few digits do. Rows of J are reused from `gram`
        where all of them fit into the kept memory.
        """
        step = BEND * along
        ahead, behind = self._residuals(vector + step), self._residuals(vector - step)
        second = (ahead - 2.0 * self._here + behind) / (BEND**2 * noise)
        panels = self._panels()
        if len(panels) == 1:  # the rows of `gram` are still there
            return self._back(self._rows, second)
        total = np.zeros(len(vector))
        for panel in panels:
            total += self._back(self._jacobian(vector, noise, panel)[1], second[panel])
        return total

    def jacobian(self, vector: Array) -> Array:
        """All rows at once.

        Filled in place into one fresh array and weighted afterwards; points of weight zero have no
        rows, unlike in `CompiledModel`.
        """
        rows = np.empty((self.outputs, len(self.y), self.own.shape[1]))
        numpy_backend.jacobian(unflatten(vector, self.like), self.batch, rows)
        rows *= self.root
        full = np.zeros((len(self.y), self.outputs, len(vector)))
        for j, own in enumerate(self.own):
            full[:, j, own] = rows[j]
        return full.reshape(-1, len(vector))

    def _back(self, rows: Array, left: Array) -> Array:
        """J^T times a value for each residual (n, k), by rows (k, n, q)."""
        total = np.zeros(flatten(self.like).size)
        for j, own in enumerate(self.own):
            total[own] += rows[j].T @ left[:, j]
        return total

    def _residuals(self, vector: Array) -> Array:
        network = unflatten(vector, self.like)
        return self.root * (numpy_backend.values(network, self.batch) - self.y)

    @cached_property
    def _runs(self) -> list[list[tuple[slice, slice]]]:
        """For every output, weights in a row: where in all of them, and where in its own.

        Slices are added much faster than entries by their numbers.
        """
        return [
            [
                (slice(own[start], own[stop - 1] + 1), slice(start, stop))
                for start, stop in itertools.pairwise(
                    [0, *(np.flatnonzero(np.diff(own) != 1) + 1).tolist(), len(own)]
                )
            ]
            for own in self.own
        ]

    @cached_property
    def _rows(self) -> Array:
        """Of the last panel, in memory that every call uses again; made by the first that does."""
        q = self.own.shape[1]
        most = max(int(self.kept / (8 * q * self.outputs)), numpy_backend.PANEL)
        return np.empty((self.outputs, min(len(self.y), most), q))

    def _panels(self) -> list[slice]:
        size = self._rows.shape[1]
        return [slice(start, start + size) for start in range(0, len(self.y), size)]

    def _jacobian(self, vector: Array, noise: Array, panel: slice) -> tuple[Array, Array]:
        """Residuals (points, k) and the rows of J, (k, points, q)."""
        batch = self.batch[panel]
        rows = self._rows[:, : len(batch)]
        g = numpy_backend.jacobian(unflatten(vector, self.like), batch, rows)
        scale = self.root[panel] / noise
        if np.any(scale != 1.0):
            rows *= scale.T[:, :, None]
        return self.root[panel] * (g - self.y[panel]), rows


class CompiledModel(ResidualModel):
    """By compiled programs, for any network on any device; adds products without a matrix.

    Args:
        like: the network; its weights do not matter, its shapes do.
        data: points, values and weights of the residuals.
    """

    def moments(self, vector: Array) -> tuple[Array, Array]:
        """Squares and weighted sum of the residuals.

        The values come from one compiled program; sums are taken in NumPy, which needs no program
        of its own for every shape.
        """
        values = compiled_values(jnp.asarray(vector), self.like, self.data)
        blocks = self.data.blocks
        root = np.sqrt(np.asarray(blocks.weights))[:, :, None]
        r = root * (np.asarray(values) - np.asarray(blocks.y))
        return np.sum(r**2, axis=(0, 1)), np.sum(root * r, axis=(0, 1))

    def gram(
        self, vector: Array, noise: Array, damping: float = 0.0
    ) -> tuple[jax.Array, Array, Array]:
        """G, J^T r and the squares, one panel of Jacobian at a time.

        The matrix stays on the device, as a JAX array, and is accumulated in place; the damping is
        ignored, since all is in float64.
        """
        p = len(vector)
        sums = jnp.zeros((p, p)), jnp.zeros(p), jnp.zeros(len(noise))
        for blocks in self.data.panels():
            sums = _add_panel(sums, vector, self.like, blocks, self.data.frame, noise)
        matrix, gradient, squares = sums
        return matrix, np.asarray(gradient), np.asarray(squares)

    def bend(self, vector: Array, noise: Array, along: Array) -> Array:
        """By differentiating twice.

        Two forward tangents along the direction and a reverse pass, block by block: exact, with no
        difference quotient and no stored rows.
        """
        return np.asarray(_bend(vector, self.like, self.data, noise, along))

    def jacobian(self, vector: Array) -> Array:
        """All rows at once.

        Computed panel by panel and moved to the host. Padding points keep their rows, which are
        zero because their weight is.
        """
        at, ones = jnp.asarray(vector), jnp.ones_like(self.like.theta0)
        frame = self.data.frame
        panels = [panel_jacobian(at, self.like, b, frame, ones)[1] for b in self.data.panels()]
        return np.concatenate([np.asarray(rows) for rows in panels])

    def gradient(self, vector: Array, noise: Array) -> tuple[Array, Array]:
        """J^T r and the squares in one pass over the data, where G is not needed.

        Args:
            vector: the weights, (p,).
            noise: relative, of each output, (k,).
        """
        gradient, squares = _gradient(vector, self.like, self.data, noise)
        return np.asarray(gradient), np.asarray(squares)

    def product(self, vector: Array, noise: Array, direction: Array) -> Array:
        """G times a direction, (p,): two passes over the data and no matrix.

        What conjugate gradients and Lanczos call again and again where p is too large for a (p, p)
        array.
        """
        return np.asarray(ggn_product(vector, self.like, self.data, noise, direction))


def _rows(vector: Any, like: SteinNetwork, block: Block, frame: Any, noise: Any) -> jax.Array:
    return residuals(unflatten(vector, like), block, frame) / noise


def _over_blocks(
    term: Callable[[Rows], T], vector: jax.Array, like: SteinNetwork, data: TrainingSet, noise: Any
) -> T:
    """The sum over blocks of `term`, which takes a block's rows as a function of the weights.

    One block after the other, so memory is that of one block.
    """

    def of(block: Block) -> T:
        return term(lambda v: _rows(v, like, block, data.frame, noise))

    def add(total: T, block: Block) -> tuple[T, None]:
        return jax.tree.map(jnp.add, total, of(block)), None

    shapes = jax.eval_shape(of, jax.tree.map(lambda a: a[0], data.blocks))
    zero = jax.tree.map(lambda a: jnp.zeros(a.shape, a.dtype), shapes)
    return jax.lax.scan(add, zero, data.blocks)[0]


@jax.jit
def panel_jacobian(
    vector: jax.Array, like: SteinNetwork, blocks: Block, frame: Any, noise: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Residuals over noise (points, k) and their derivative (points k, p), block by block.

    Memory beyond the result is that of one block.

    The derivative is taken point by point in reverse mode, as there are far more weights than
    outputs.
    """

    def one(point: Block) -> tuple[jax.Array, jax.Array]:
        single = jax.tree.map(lambda a: a[None], point)

        def row(v: jax.Array) -> tuple[jax.Array, jax.Array]:
            r = _rows(v, like, single, frame, noise)[0]
            return r, r

        jacobian, r = jax.jacrev(row, has_aux=True)(vector)
        return r, jacobian

    r, jacobian = jax.lax.map(jax.vmap(one), blocks)
    return r.reshape(-1, r.shape[-1]), jacobian.reshape(-1, vector.size)


@partial(compiled, donate_argnums=0)
def _add_panel(
    sums: Sums, vector: Any, like: SteinNetwork, blocks: Block, frame: Any, noise: Any
) -> Sums:
    matrix, gradient, squares = sums
    r, rows = panel_jacobian(vector, like, blocks, frame, noise)
    more = jnp.sum((r * noise) ** 2, axis=0)
    return matrix + rows.T @ rows, gradient + rows.T @ r.ravel(), squares + more


@jax.jit
def _gradient(
    vector: jax.Array, like: SteinNetwork, data: TrainingSet, noise: jax.Array
) -> tuple[jax.Array, jax.Array]:
    def term(rows: Rows) -> tuple[jax.Array, jax.Array]:
        r, pull = jax.vjp(rows, vector)
        return pull(r)[0], jnp.sum((r * noise) ** 2, axis=0)

    return _over_blocks(term, vector, like, data, noise)


@jax.jit
def _bend(
    vector: jax.Array, like: SteinNetwork, data: TrainingSet, noise: jax.Array, along: jax.Array
) -> jax.Array:
    def term(rows: Rows) -> jax.Array:
        def slope(v: jax.Array) -> jax.Array:
            return jax.jvp(rows, (v,), (along,))[1]

        second = jax.jvp(slope, (vector,), (along,))[1]
        return jax.vjp(rows, vector)[1](second)[0]

    return _over_blocks(term, vector, like, data, noise)


@jax.jit
def ggn_product(
    vector: jax.Array, like: SteinNetwork, data: TrainingSet, noise: jax.Array, along: jax.Array
) -> jax.Array:
    """G times one direction (p,): a forward and a reverse pass over the data, no matrix.

    Rows are divided by the noise of their output, as everywhere.
    """

    def term(rows: Rows) -> jax.Array:
        pushed = jax.jvp(rows, (vector,), (along,))[1]
        return jax.vjp(rows, vector)[1](pushed)[0]

    return _over_blocks(term, vector, like, data, noise)
