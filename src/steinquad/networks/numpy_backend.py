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
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import jax
import numpy as np

from steinquad._types import Array
from steinquad.networks.activations import NUMPY_ACTIVATIONS, NumpyActivation
from steinquad.networks.mlp import MLP
from steinquad.networks.stein_network import SteinNetwork
from steinquad.stein.inputs import NetworkFrame, SteinInputs

__all__ = ["Batch", "jacobian", "own_weights", "suits", "values"]

PANEL = 128  # points at a time: their arrays stay in a core's cache

# Pairs of a slot and a coordinate, as two arrays (pairs,); no coordinate is there twice.
Pairs: TypeAlias = tuple[np.ndarray, np.ndarray]


def suits(network: SteinNetwork) -> bool:
    """Whether the formulas above are those of this network.

    An MLP of two activation layers with an activation that is known here. Others take the compiled
    road.

    Ask this before `values` or `jacobian`, which do not check.
    """
    field = network.field
    return isinstance(field, MLP) and field.depth == 2 and field.activation in NUMPY_ACTIVATIONS


@dataclass(frozen=True, eq=False)
class Batch:
    """Points and what they share as NumPy arrays, made once for as many calls as there are.

    Attributes:
        z: coordinates of the network, (n, d).
        drift: what multiplies the field, (n, d).
        m: m_r, (n, slots).
        slots: T_r, (slots, d, d).
    """

    z: Array
    drift: Array
    m: Array
    slots: Array

    @classmethod
    def of(cls, inputs: SteinInputs, frame: NetworkFrame) -> "Batch":
        """The same points in the form of the Stein operator, with their frame."""
        shared, factors = frame.shared, np.asarray(inputs.factors)
        own = np.column_stack([np.asarray(inputs.scale), factors]) if shared else factors
        inner, outer = np.asarray(frame.inner), np.asarray(frame.outer)
        groups = ([list(shared)] if shared else []) + [[i] for i in frame.varying]
        slots = np.stack([inner[:, group] @ outer[group] for group in groups])
        return cls(np.asarray(inputs.z), np.asarray(inputs.drift), own, slots)

    def __len__(self) -> int:
        """Number of points."""
        return len(self.z)

    def __getitem__(self, rows: slice) -> "Batch":
        """Some of the points, as views."""
        return replace(self, z=self.z[rows], drift=self.drift[rows], m=self.m[rows])

    def panels(self, size: int) -> Iterator[tuple[slice, "Batch"]]:
        """So many points at a time, with their rows; the last panel may be shorter."""
        for start in range(0, len(self), size):
            rows = slice(start, start + size)
            yield rows, self[rows]


@dataclass(frozen=True, eq=False)
class _Layers:
    """The weights as NumPy arrays and what follows from them and from the slots alone."""

    theta0: Array  # (k,)
    w1: Array  # (h, d)
    w2: Array  # (h, h)
    w3: Array  # (k, d, h)
    b1: Array
    b2: Array
    b3: Array  # (k, d)
    mixed: Array  # N_r, (k, slots, h2, h1)
    activation: NumpyActivation

    @classmethod
    def of(cls, network: SteinNetwork, slots: Array) -> "_Layers":
        field = network.field
        w1, w2, w3 = (np.asarray(w) for w in field.weights)
        b1, b2, b3 = (np.asarray(b) for b in field.biases)
        mixed = np.swapaxes(w1 @ slots @ w3[:, None], 2, 3)
        activation = NUMPY_ACTIVATIONS[field.activation]
        return cls(np.asarray(network.theta0), w1, w2, w3, b1, b2, b3, mixed, activation)


def values(network: SteinNetwork, batch: Batch, *, panel: int = PANEL) -> Array:
    """g at the points, (n, k).

    Args:
        network: one that `suits`.
        batch: the points.
        panel: points at a time of a Jacobian; values alone take eight times as many.
    """
    layers = _Layers.of(network, batch.slots)
    out = np.empty((len(batch), len(layers.theta0)))
    for rows, part in batch.panels(8 * panel):
        a1, d1, _ = layers.activation(part.z @ layers.w1.T + layers.b1)
        a2, d2, _ = layers.activation(a1 @ layers.w2.T + layers.b2)
        for k, theta0 in enumerate(layers.theta0):
            field = a2 @ layers.w3[k].T + layers.b3[k]
            image = _applied(part.m, layers.w2 * layers.mixed[k], d1)
            g = np.einsum("ni,ni->n", part.drift, field) + np.einsum("nj,nj->n", d2, image)
            out[rows, k] = theta0 + g
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


def jacobian(network: SteinNetwork, batch: Batch, rows: Array, *, panel: int = PANEL) -> Array:
    """g at the points, (n, k); the derivative of each output goes to `rows`, (k, n, q).

    By the weights that it depends on, see `own_weights`. Memory that is used again and again saves
    more time than the arithmetic takes: fresh pages are expensive.

    Args:
        network: one that `suits`.
        batch: the points.
        rows: where the derivative goes.
        panel: points at a time.
    """
    layers = _Layers.of(network, batch.slots)
    g = np.empty((len(batch), len(layers.theta0)))
    for at, part in batch.panels(panel):
        _fill(layers, part, g[at], rows[:, at])
    return g


def _fill(layers: _Layers, batch: Batch, g: Array, rows: Array) -> None:
    """Fill `g` and `rows` for one panel of points."""
    z, drift, m, slots = batch.z, batch.drift, batch.m, batch.slots
    outputs, d, h = layers.w3.shape
    n = len(z)
    ends = np.cumsum([1, h * d, h * h, d * h, h, h])
    # Of a diagonal standardization most of T_r is zero.
    from_slots, to_slots = _pairs(slots.any(axis=2)), _pairs(slots.any(axis=1))
    a1, d1, c1 = layers.activation(z @ layers.w1.T + layers.b1)
    a2, d2, c2 = layers.activation(a1 @ layers.w2.T + layers.b2)
    for k in range(outputs):
        one, w1, w2, w3, b1, b2, b3 = np.split(rows[k], ends, axis=1)
        w1, w2, last = w1.reshape(n, h, d), w2.reshape(n, h, h), w3.reshape(n, d, h)
        mixed = layers.mixed[k]
        bilinear = layers.w2 * mixed
        one[:] = 1.0
        pushed = drift @ layers.w3[k]  # (n, h)
        image = _applied(m, bilinear, d1)
        g[:, k] = layers.theta0[k] + drift @ layers.b3[k]
        g[:, k] += np.einsum("nj,nj->n", pushed, a2) + np.einsum("nj,nj->n", d2, image)
        slope2 = pushed * d2 + c2 * image  # by the second layer before activation
        slope1 = _applied(m, np.swapaxes(bilinear, 1, 2), d2)  # by d1
        slope1 = (slope2 @ layers.w2) * d1 + slope1 * c1  # by the first layer before activation
        if len(slots) == 1:
            np.multiply(mixed[0], d1[:, None, :], out=w2)
            w2 *= (m * d2)[:, :, None]
        else:
            summed = (m @ mixed.reshape(len(slots), -1)).reshape(n, h, h)  # sum_r m_r N_r
            np.multiply(summed, d1[:, None, :], out=w2)
            w2 *= d2[:, :, None]
        w2 += slope2[:, :, None] * a1[:, None, :]
        np.multiply(drift[:, :, None], a2[:, None, :], out=last)
        np.multiply(slope1[:, :, None], z[:, None, :], out=w1)
        left, right = slots @ layers.w3[k], np.swapaxes(layers.w1 @ slots, 1, 2)  # (slots, d, h)
        for own, i in from_slots:  # N_r by W1
            pulled = _each(left[own, i], layers.w2, d2) * m[:, own, None]
            pulled *= d1[:, None, :]
            w1[:, :, i] += np.swapaxes(pulled, 1, 2)
        for own, i in to_slots:  # N_r by W3
            pulled = _each(right[own, i], layers.w2.T, d1) * m[:, own, None]
            pulled *= d2[:, None, :]
            last[:, i] += pulled
        b1[:] = slope1
        b2[:] = slope2
        b3[:] = drift


def _applied(m: Array, matrices: Array, right: Array) -> Array:
    """`sum_r m_r B_r v` at every point: m (n, slots), B (slots, h, h'), v (n, h') -> (n, h)."""
    slots, h, width = matrices.shape
    every = right @ matrices.reshape(slots * h, width).T
    if slots == 1:
        return m * every
    return np.einsum("nr,nrj->nj", m, every.reshape(-1, slots, h))


def _each(scales: Array, matrix: Array, right: Array) -> Array:
    """`(s_p * v) B` at every point: s (pairs, h), B (h, h'), v (n, h) -> (n, pairs, h')."""
    pairs, h = scales.shape
    stacked = scales.T[:, :, None] * matrix[:, None, :]  # (h, pairs, h')
    return (right @ stacked.reshape(h, -1)).reshape(len(right), pairs, -1)


def _pairs(used: Any) -> list[Pairs]:
    """Pairs of a slot and a coordinate that it has to do with, a mask (slots, d), in few lots."""
    if used.sum(axis=0).max() <= 1:
        slots, coordinates = np.nonzero(used)
        return [(slots, coordinates)]
    return [(np.full(own.sum(), r), np.flatnonzero(own)) for r, own in enumerate(used)]
