"""Exact divergence of the multiplied field, `sum_i m_i d(L w)_i / d x_i`, at one point.

The field is a multilayer perceptron, given by its weight matrices and the slopes `a'` of its
layers at the point. Two activation layers `w = W3 a(W2 a(W1 z + b1) + b2) + b3` have

    div w = tr(W3 D2 W2 D1 W1) = d2 . (W2 * (W1 W3)^T) d1,   d = a'(.), * elementwise,

which costs O(h^2) a point whatever d is. Coordinates with a multiplier of their own need their own
diagonal entry of the Jacobian: one forward tangent each. Deeper networks push a tangent through
for every coordinate.
"""

from collections.abc import Sequence
from typing import TypeAlias

import jax
import jax.numpy as jnp

from steinquad.stein.inputs import NetworkFrame, SteinInputs, multipliers

__all__ = ["divergence", "divergence_by_tangents", "divergence_by_trace"]

Arrays: TypeAlias = Sequence[jax.Array]  # one for each layer


def divergence_by_trace(
    weights: Arrays, slopes: Arrays, inputs: SteinInputs, frame: NetworkFrame
) -> jax.Array:
    """Divergence by the trace identity, for one or two activation layers, (k,).

    Coordinates that share a multiplier enter together by one trace; those with a multiplier of
    their own add a tangent each. Arguments as those of `divergence`.
    """
    total = jnp.zeros(weights[-1].shape[0])
    if frame.shared:
        pooled = _pooled(weights, frame)
        if len(slopes) == 1:
            traces = jnp.einsum("kaa,a->k", pooled, slopes[0])
        else:
            traces = ((weights[1] * jnp.swapaxes(pooled, 1, 2)) @ slopes[0]) @ slopes[1]
        total += inputs.scale * traces
    if frame.varying:
        total += _diagonal(weights, slopes, frame, frame.varying) @ inputs.factors
    return total


def divergence_by_tangents(
    weights: Arrays, slopes: Arrays, inputs: SteinInputs, frame: NetworkFrame
) -> jax.Array:
    """Divergence by one forward tangent a coordinate, for any depth, (k,).

    Its cost grows with the dimension, so shallow networks use the trace identity, which it also
    checks. Arguments as those of `divergence`.
    """
    every = tuple(range(frame.inner.shape[0]))
    return _diagonal(weights, slopes, frame, every) @ multipliers(inputs, frame)


def divergence(
    weights: Arrays, slopes: Arrays, inputs: SteinInputs, frame: NetworkFrame
) -> jax.Array:
    """The cheaper of the two exact ways for this depth, (k,).

    The trace identity for one or two activation layers, tangents for more.

    Args:
        weights: matrices of all layers.
        slopes: `a'` of each activation layer at the point.
        inputs: the point.
        frame: what all points share.
    """
    by = divergence_by_trace if len(slopes) <= 2 else divergence_by_tangents
    return by(weights, slopes, inputs, frame)


def _pooled(weights: Arrays, frame: NetworkFrame) -> jax.Array:
    """`W1 L^-1 P L W3` with P the projection on the shared coordinates, (k, h, h)."""
    first, last = weights[0], weights[-1]
    if frame.varying:  # else P = I and L^-1 L = I
        shared = jnp.asarray(frame.shared)
        first, last = first @ frame.inner[:, shared], frame.outer[shared] @ last
    return jnp.einsum("ai,kib->kab", first, last)


def _diagonal(
    weights: Arrays, slopes: Arrays, frame: NetworkFrame, coordinates: tuple[int, ...]
) -> jax.Array:
    """`d(L w)_i / d x_i` for the given coordinates by forward tangents, (k, len(coordinates))."""
    index = jnp.asarray(coordinates)
    tangents = weights[0] @ frame.inner[:, index]
    for slope, w in zip(slopes[:-1], weights[1:-1], strict=True):
        tangents = w @ (slope[:, None] * tangents)
    rows = frame.outer[index] @ weights[-1]
    return jnp.einsum("kih,hi->ki", rows, slopes[-1][:, None] * tangents)
