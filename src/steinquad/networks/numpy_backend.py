"""The Stein network of two activation layers in NumPy: what a CPU runs, with nothing to compile.

With `q = W1 z + b1`, `a1 = a(q)`, `d1 = a'(q)`, likewise the second layer, and the multipliers
m_r(x) of the coordinates ("slots": one for all coordinates that share theirs, one for each other),

    g = theta0 + drift . (W3 a2 + b3) + sum_r m_r d2^T (W2 * N_r) d1,   N_r = (W1 T_r W3)^T,

T_r = L^-1 P_r L with P_r the projection on the coordinates of the slot. Everything is a matrix
product or an elementwise function of a panel of points, and so is the derivative by the weights.
Autodiff of `SteinNetwork` gives the same to rounding (tests/networks/test_numpy_backend.py) and
runs on accelerators and for other depths; compiling it takes seconds for every new shape, which is
longer than most fits.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import jax
import numpy as np

from steinquad._types import Array
from steinquad.networks.activations import NUMPY_ACTIVATIONS, NumpyActivation
from steinquad.networks.mlp import MLP
from steinquad.networks.stein_network import SteinNetwork
from steinquad.stein.inputs import NetworkFrame, SteinInputs

__all__ = ["jacobian", "own_weights", "suits", "values"]

PANEL = 128  # points at a time: their arrays stay in a core's cache


def suits(network: SteinNetwork) -> bool:
    """Whether the formulas above are those of this network.

    An MLP of two activation layers with an activation that is known here. Others take the compiled
    road.

    Ask this before `values` or `jacobian`, which do not check.
    """
    field = network.field
    return isinstance(field, MLP) and field.depth == 2 and field.activation in NUMPY_ACTIVATIONS


@dataclass(frozen=True)
class _Layers:
    """The weights as NumPy arrays and what follows from them alone."""

    theta0: Array  # (k,)
    w1: Array  # (h, d)
    w2: Array  # (h, h)
    w3: Array  # (k, d, h)
    b1: Array
    b2: Array
    b3: Array  # (k, d)
    slots: list[Array]  # T_r, (d, d) each
    mixed: list[Array]  # N_r, (k, h2, h1) each
    activation: NumpyActivation

    @classmethod
    def of(cls, network: SteinNetwork, frame: NetworkFrame) -> "_Layers":
        w1, w2, w3 = (np.asarray(w) for w in network.field.weights)
        b1, b2, b3 = (np.asarray(b) for b in network.field.biases)
        inner, outer = np.asarray(frame.inner), np.asarray(frame.outer)
        groups = ([list(frame.shared)] if frame.shared else []) + [[i] for i in frame.varying]
        slots = [inner[:, group] @ outer[group] for group in groups]
        mixed = [np.swapaxes(w1 @ slot @ w3, 1, 2) for slot in slots]
        activation = NUMPY_ACTIVATIONS[network.field.activation]
        theta0 = np.asarray(network.theta0)
        return cls(theta0, w1, w2, w3, b1, b2, b3, slots, mixed, activation)


class _Batch(NamedTuple):
    """Some points as NumPy arrays."""

    z: Array  # (n, d)
    drift: Array  # (n, d)
    m: Array  # m_r, (n, slots)

    @classmethod
    def of(cls, inputs: SteinInputs, frame: NetworkFrame) -> "_Batch":
        factors = np.asarray(inputs.factors)
        own = np.column_stack([np.asarray(inputs.scale), factors]) if frame.shared else factors
        return cls(np.asarray(inputs.z), np.asarray(inputs.drift), own)

    def panels(self, size: int) -> Iterator[tuple[slice, "_Batch"]]:
        """So many points at a time, with their rows.

        The slices say where the results of a panel go; its arrays are views, not copies. The last
        panel may be shorter.
        """
        for start in range(0, len(self.z), size):
            rows = slice(start, start + size)
            yield rows, _Batch(*(a[rows] for a in self))


def values(
    network: SteinNetwork, inputs: SteinInputs, frame: NetworkFrame, *, panel: int = PANEL
) -> Array:
    """g at the points, (n, k).

    Args:
        network: one that `suits`.
        inputs: a batch of points.
        frame: what they share.
        panel: points at a time of a Jacobian; values alone take eight times as many.
    """
    layers = _Layers.of(network, frame)
    out = np.empty((len(inputs.z), len(layers.theta0)))
    for rows, (z, drift, m) in _Batch.of(inputs, frame).panels(8 * panel):
        a1, d1, _ = layers.activation(z @ layers.w1.T + layers.b1)
        a2, d2, _ = layers.activation(a1 @ layers.w2.T + layers.b2)
        for k, theta0 in enumerate(layers.theta0):
            field = a2 @ layers.w3[k].T + layers.b3[k]
            g = theta0 + np.einsum("ni,ni->n", drift, field)
            for r, mixed in enumerate(layers.mixed):
                g += m[:, r] * np.einsum("nj,nj->n", d2, d1 @ (layers.w2 * mixed[k]).T)
            out[rows, k] = g
    return out


def own_weights(network: SteinNetwork) -> np.ndarray:
    """Which entries of the flat vector each output depends on, (k, q).

    All but the last layers and integrals of the other outputs; in the order of `flatten`.

    Args:
        network: one that `suits`.
    """
    outputs = len(network.theta0)
    ends = np.cumsum([leaf.size for leaf in jax.tree.leaves(network)])
    entries = np.split(np.arange(ends[-1]), ends[:-1])
    heads = (0, 3, 6)  # theta0 and what is of each output in the last of three layers
    return np.concatenate(
        [
            own.reshape(outputs, -1) if i in heads else np.tile(own, (outputs, 1))
            for i, own in enumerate(entries)
        ],
        axis=1,
    )


def jacobian(
    network: SteinNetwork,
    inputs: SteinInputs,
    frame: NetworkFrame,
    rows: Array,
    *,
    panel: int = PANEL,
) -> Array:
    """g at the points, (n, k); the derivative of each output goes to `rows`, (k, n, q).

    By the weights that it depends on, see `own_weights`. Memory that is used again and again saves
    more time than the arithmetic takes: fresh pages are expensive.

    Args:
        network: one that `suits`.
        inputs: a batch of points.
        frame: what they share.
        rows: where the derivative goes.
        panel: points at a time.
    """
    layers = _Layers.of(network, frame)
    g = np.empty((len(inputs.z), len(layers.theta0)))
    for part, batch in _Batch.of(inputs, frame).panels(panel):
        _fill(layers, batch, g[part], rows[:, part])
    return g


def _fill(layers: _Layers, batch: _Batch, g: Array, rows: Array) -> None:
    """Fill `g` and `rows` for one panel of points."""
    z, drift, m = batch
    outputs, d, h = layers.w3.shape
    n = len(z)
    ends = np.cumsum([1, h * d, h * h, d * h, h, h])
    a1, d1, c1 = layers.activation(z @ layers.w1.T + layers.b1)
    a2, d2, c2 = layers.activation(a1 @ layers.w2.T + layers.b2)
    for k in range(outputs):
        one, w1, w2, w3, b1, b2, b3 = np.split(rows[k], ends, axis=1)
        w1, w2, last = w1.reshape(n, h, d), w2.reshape(n, h, h), w3.reshape(n, d, h)
        one[:] = 1.0
        pushed = drift @ layers.w3[k]  # (n, h)
        g[:, k] = layers.theta0[k] + drift @ layers.b3[k] + np.einsum("nj,nj->n", pushed, a2)
        slope2 = pushed * d2  # derivative of g by the second layer before activation
        slope1 = np.zeros_like(d1)  # by d1, and then by the first layer before activation
        np.multiply(drift[:, :, None], a2[:, None, :], out=last)
        w1[:] = 0.0
        for r, (slot, mixed) in enumerate(zip(layers.slots, layers.mixed, strict=True)):
            bilinear, m2 = layers.w2 * mixed[k], m[:, r, None] * d2
            image = d1 @ bilinear.T
            g[:, k] += np.einsum("nj,nj->n", m2, image)
            slope2 += m[:, r, None] * c2 * image
            slope1 += m2 @ bilinear
            term = np.multiply(d1[:, None, :], mixed[k], out=w2 if r == 0 else None)
            term *= m2[:, :, None]
            if r > 0:
                w2 += term
            left, right = slot @ layers.w3[k], layers.w1 @ slot  # N_r by W1 and by W3
            for i in range(d):
                w1[:, :, i] += ((m2 * left[i]) @ layers.w2) * d1
                last[:, i] += ((d1 * right[:, i]) @ layers.w2.T) * m2
        slope1 = (slope2 @ layers.w2) * d1 + slope1 * c1
        w2 += slope2[:, :, None] * a1[:, None, :]
        w1 += slope1[:, :, None] * z[:, None, :]
        b1[:] = slope1
        b2[:] = slope2
        b3[:] = drift
