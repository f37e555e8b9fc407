"""Residuals and penalty: the one definition that every optimizer and the posterior read.

    loss(theta) = (1/N) sum_i w_i |g(x_i) - y_i|^2 + lambda |theta|^2,   N = sum_i w_i,

the paper's eq. 5. Up to scale and a constant it is the negative log posterior for noise variance
sigma^2 and prior variance sigma0^2 with `lambda = sigma^2 / (N sigma0^2)`. The penalty leaves
theta0 out (a flat prior on the integral) unless `Penalty.theta0` is set.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from steinquad._compile import compiled
from steinquad._types import Array
from steinquad.networks import numpy_backend
from steinquad.networks.stein_network import SteinNetwork, evaluate
from steinquad.stein.inputs import NetworkFrame, SteinInputs

__all__ = [
    "Block",
    "Penalty",
    "Sizes",
    "TrainingSet",
    "compiled_values",
    "flatten",
    "loss",
    "predict",
    "residuals",
    "strengths",
    "theta0_entries",
    "unflatten",
    "value",
    "value_and_gradient",
]


class Sizes(NamedTuple):
    """How a batch is cut: memory beyond the data themselves is that of one block or panel.

    Attributes:
        block: most points a block. On a CPU the intermediate arrays of a small block stay in a
            core's cache, which halves the CPU time of one large batch; an accelerator wants more
            work a launch.
        panel: most points of which a Jacobian is held at once: products of matrices want long
            panels.
    """

    block: int
    panel: int = 4096

    @classmethod
    def default(cls) -> "Sizes":
        """Those that are fastest on this machine, by the backend of JAX.

        256 points a block for the cache of a CPU, 65,536 for an accelerator.
        """
        return cls(256 if jax.default_backend() == "cpu" else 65536)


class Block(eqx.Module):
    """Some points; a `TrainingSet` stacks equal blocks along a leading axis.

    Attributes:
        inputs: points as the Stein operator needs them.
        y: values to fit, (points, k).
        weights: of the points, (points,); 0 marks padding.
    """

    inputs: SteinInputs
    y: jax.Array  # (points, k)
    weights: jax.Array  # (points,), 0 for padding


class TrainingSet(eqx.Module):
    """All points in equal blocks, with the frame they share.

    What programs loop over, so that one compiled shape serves any number of points. Made by
    `build`.

    Padding has weight zero and so changes neither loss nor gradient.
    """

    blocks: Block
    frame: NetworkFrame
    n: int = eqx.field(static=True)  # points, with those that fill up `room`
    blocks_per_panel: int = eqx.field(static=True)

    @classmethod
    def build(
        cls,
        inputs: SteinInputs,
        frame: NetworkFrame,
        y: Array,
        weights: Array,
        room: int = 0,
        sizes: Sizes | None = None,
    ) -> "TrainingSet":
        """Cut a batch into equal blocks, the last ones padded with points of weight zero.

        Args:
            inputs: a batch of points.
            frame: what they share.
            y: values, (points, k).
            weights: of the points.
            room: pad as for so many points, so that sets of about one size share their shapes.
            sizes: of blocks and panels; by default those that suit this machine.
        """
        sizes = Sizes.default() if sizes is None else sizes
        n = max(len(y), room)
        panels = _ceil(n, max(sizes.panel, sizes.block))
        per_panel = _ceil(_ceil(n, panels), sizes.block)
        count = panels * per_panel
        size = _ceil(n, count)
        padding = count * size - len(y)

        def cut(a: Array) -> jax.Array:  # without `jnp`: nothing to compile
            # Repeating the last point keeps padding finite whatever the measure is.
            padded = np.concatenate([a, np.repeat(a[-1:], padding, axis=0)]) if padding else a
            return jax.device_put(padded.reshape(count, size, *a.shape[1:]))

        weights = np.concatenate([weights, np.zeros(padding)]).reshape(count, size)
        arrays = jax.tree.map(np.asarray, inputs)
        blocks = Block(jax.tree.map(cut, arrays), cut(y), jax.device_put(weights))
        return cls(blocks, frame, n, per_panel)

    @property
    def total(self) -> float:
        """Sum of the weights, by NumPy."""
        return float(np.sum(np.asarray(self.blocks.weights)))

    def merged(self) -> Block:
        """All points, padding and all, as one block of NumPy arrays (n, ...).

        For what does not go block by block. Points keep their order, with the padding last; its
        rows have weight zero.
        """
        return jax.tree.map(
            lambda a: np.asarray(a).reshape(a.shape[0] * a.shape[1], *a.shape[2:]), self.blocks
        )

    def panels(self) -> Iterator[Block]:
        """As many blocks as a panel has, one panel after the other.

        For Jacobians, of which one panel is held at a time.

        All panels have the same number of blocks, so that one compiled program serves them.
        """
        for start in range(0, self.blocks.weights.shape[0], self.blocks_per_panel):
            rows = slice(start, start + self.blocks_per_panel)
            yield jax.tree.map(lambda a, rows=rows: a[rows], self.blocks)


def _ceil(a: int, b: int) -> int:
    return -(-a // b)


class Penalty(NamedTuple):
    """`lambda |theta|^2`, over the weights or over the weights and theta0.

    It is the negative log density of a normal prior, up to scale.

    Attributes:
        strength: lambda.
        theta0: whether theta0 is penalized like a weight (the paper) or has a flat prior.
    """

    strength: float
    theta0: bool


def flatten(network: SteinNetwork) -> Array:
    """All parameters of a network as one NumPy vector, (p,), in the order of its leaves.

    Optimizers and linear algebra work on this vector, whatever the kind of field is; `unflatten`
    is the inverse.
    """
    return np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(network)])


def unflatten(vector: Any, like: SteinNetwork) -> SteinNetwork:
    """The network with the shapes of `like` and the parameters `vector`.

    Leaves are of NumPy or of JAX as the vector is.

    The inverse of `flatten`, which may be traced and differentiated.

    Args:
        vector: all parameters, (p,).
        like: a network of the shapes; its own weights do not matter.
    """
    leaves, tree = jax.tree.flatten(like)
    ends = np.cumsum([leaf.size for leaf in leaves])
    split = np.split if isinstance(vector, np.ndarray) else jnp.split
    parts = split(vector, ends[:-1])
    shaped = [part.reshape(leaf.shape) for part, leaf in zip(parts, leaves, strict=True)]
    return jax.tree.unflatten(tree, shaped)


def theta0_entries(like: SteinNetwork) -> np.ndarray:
    """Where the flat vector holds theta0, a mask (p,).

    Read from the structure of the network, so that nobody relies on theta0 being first.
    """
    marked = jax.tree.map(lambda leaf: np.zeros(leaf.shape, bool), like)
    marked = eqx.tree_at(lambda network: network.theta0, marked, np.ones(like.theta0.shape, bool))
    return np.concatenate([leaf.ravel() for leaf in jax.tree.leaves(marked)])


def residuals(network: SteinNetwork, block: Block, frame: NetworkFrame) -> jax.Array:
    """`sqrt(w_i) (g(x_i) - y_i)` at the points of a block, (points, k).

    The least squares that training and posterior are about.

    Points of weight zero give zero, so padding needs no mask of its own.
    """
    return jnp.sqrt(block.weights)[:, None] * (evaluate(network, block.inputs, frame) - block.y)


@compiled
def compiled_values(vector: jax.Array | Array, like: SteinNetwork, data: TrainingSet) -> jax.Array:
    """g at all points, those that fill up the last blocks too, by blocks (count, size, k).

    Reshape to (count * size, k) and cut after n for values in the order of the points; `predict`
    does so.
    """
    network = unflatten(vector, like)
    return jax.lax.map(lambda block: evaluate(network, block.inputs, data.frame), data.blocks)


def predict(network: SteinNetwork, data: TrainingSet) -> Array:
    """g at the points of a set, (n, k), by the faster of NumPy and a compiled program.

    In the units in which the network was trained, and without the padding.
    """
    if jax.default_backend() == "cpu" and numpy_backend.suits(network):
        batch = numpy_backend.Batch.of(data.merged().inputs, data.frame)
        return numpy_backend.values(network, batch)[: data.n]
    values = np.asarray(compiled_values(flatten(network), network, data))
    return values.reshape(-1, values.shape[-1])[: data.n]


def loss(vector: jax.Array, like: SteinNetwork, data: TrainingSet, penalty: Penalty) -> jax.Array:
    """The loss of the module's formula as a function of the flat vector.

    To be differentiated or compiled by others; `value` is its compiled form.

    Args:
        vector: all parameters, (p,).
        like: a network of these shapes.
        data: what to fit.
        penalty: lambda, and on what.
    """
    total = jnp.sum(data.blocks.weights)

    def add(value: jax.Array, block: Block) -> tuple[jax.Array, None]:
        return value + _block_loss(vector, like, block, data.frame, total), None

    fit, _ = jax.lax.scan(add, jnp.zeros(()), data.blocks)
    return fit + jnp.sum(strengths(like, penalty) * vector**2)


value = compiled(loss)


@compiled
def value_and_gradient(
    vector: jax.Array | Array, like: SteinNetwork, data: TrainingSet, penalty: Penalty
) -> tuple[jax.Array, jax.Array]:
    """The loss and its gradient (p,), accumulated block by block, in one compiled program.

    The gradient of each block is taken inside the loop, so that memory is that of one block.
    Arguments as those of `loss`.
    """
    total = jnp.sum(data.blocks.weights)

    def add(sums: tuple[jax.Array, jax.Array], block: Block):
        both = jax.value_and_grad(_block_loss)(vector, like, block, data.frame, total)
        return jax.tree.map(jnp.add, sums, both), None

    zero = (jnp.zeros(()), jnp.zeros_like(vector))
    (fit, gradient), _ = jax.lax.scan(add, zero, data.blocks)
    each = strengths(like, penalty)
    return fit + jnp.sum(each * vector**2), gradient + 2 * each * vector


def _block_loss(
    vector: Any, like: SteinNetwork, block: Block, frame: NetworkFrame, total: jax.Array
) -> jax.Array:
    return jnp.sum(residuals(unflatten(vector, like), block, frame) ** 2) / total


def strengths(like: SteinNetwork, penalty: Penalty) -> jax.Array:
    """lambda of every parameter, (p,): that of the penalty, and 0 on theta0 unless penalized.

    The penalty is then `sum(strengths * theta^2)`, without a case for theta0.
    """
    return penalty.strength * jnp.where(theta0_entries(like), penalty.theta0, 1.0)
