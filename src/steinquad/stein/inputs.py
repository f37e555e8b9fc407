"""Everything the Stein operator needs to know of each point, whatever the field is.

Multipliers and the change of coordinates do not depend on the weights, so they are folded in once:
for the field `x -> m(x) L w(z)` with `z = L^-1 (x - mu)` and a diagonal m,

    S[m L w](x) = drift . w(z) + sum_i m_i(x) d(L w)_i / d x_i,   drift = L^T (m score + slope).

Where L is diagonal, any coordinate may be bent further, to `t_i = T(z_i)`, and have a multiplier
M(z_i) of its own. That is the same with `M drift + m M'` and `m M T'` for drift and multiplier.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import erfcx, ndtr

from steinquad._types import Array
from steinquad.measures.affine import Affine
from steinquad.points import Points
from steinquad.stein.multipliers import Multiplier

__all__ = ["NetworkFrame", "SteinInputs", "multipliers", "stein_inputs", "to_cube"]


class SteinInputs(eqx.Module):
    """What is known of one point, with multipliers and coordinates folded in.

    A batch has a leading axis on every field. Made by `stein_inputs`.

    The Stein image of any field w is then `drift . w(z)` plus the divergence weighted by the
    multipliers; no score or support is needed any more.
    """

    z: jax.Array  # (d,) coordinates of the network
    drift: jax.Array  # (d,) what multiplies w
    scale: jax.Array  # () multiplier of the coordinates not in `varying`
    factors: jax.Array  # (len(varying),) multipliers of the others


class NetworkFrame(eqx.Module):
    """What all points share: the coordinates of the network and who has an own multiplier.

    Kept apart from the inputs so that it is not repeated for every point; `varying` is static,
    because it decides the shape of the compiled program.
    """

    inner: jax.Array  # (d, d) L^-1
    outer: jax.Array  # (d, d) L
    varying: tuple[int, ...] = eqx.field(static=True)

    @property
    def shared(self) -> tuple[int, ...]:
        """The coordinates that have the multiplier `scale`.

        Their part of the divergence is one trace, however many they are. Empty where every
        coordinate has a multiplier of its own.
        """
        return tuple(i for i in range(self.inner.shape[0]) if i not in self.varying)


def stein_inputs(
    points: Points, multiplier: Multiplier, affine: Affine
) -> tuple[SteinInputs, NetworkFrame]:
    """Fold a fitted multiplier and a change of coordinates into a batch of inputs.

    Args:
        points: in the user's coordinates, with their scores.
        multiplier: fitted to them.
        affine: coordinates of the network.

    Returns:
        The batch, and what its points share.
    """
    dim = points.x.shape[1]
    value, slope = multiplier(points)
    varying = tuple(range(dim)) if multiplier.varying is None else multiplier.varying
    inner, outer = jax.device_put((affine.inverse, affine.matrix))
    frame = NetworkFrame(inner, outer, varying)
    inputs = SteinInputs(
        z=jax.device_put(affine.points(points.x)),
        drift=jax.device_put(affine.score(value * points.score + slope)),
        scale=jax.device_put(value[:, frame.shared[0]] if frame.shared else np.zeros(len(value))),
        factors=jax.device_put(value[:, list(varying)]),
    )
    return inputs, frame


def multipliers(inputs: SteinInputs, frame: NetworkFrame) -> jax.Array:
    """m_i(x) of every coordinate at one point, (d,), whether shared or its own.

    For formulas that treat all coordinates alike, such as the divergence by tangents. Map it over
    a batch with `jax.vmap(multipliers, in_axes=(0, None))`.
    """
    if not frame.shared:
        return inputs.factors
    every = jnp.full(inputs.z.shape, inputs.scale)
    if not frame.varying:
        return every
    return every.at[jnp.asarray(frame.varying)].set(inputs.factors)


def to_cube(
    inputs: SteinInputs, frame: NetworkFrame, coordinates: np.ndarray
) -> tuple[SteinInputs, NetworkFrame]:
    """A batch with some coordinates bent into an interval; the frame must be diagonal.

    With p and P the density and distribution function of a standard normal,

        t = sqrt(12) (P(z) - 1/2),   M = 4 P (1 - P) / p:

    normal draws become uniform ones, again with mean 0 and variance 1, and M times a field of t
    is the field that vanishes at both ends of the interval. M falls like 1/|z|.

    Args:
        inputs: the batch.
        frame: what its points share.
        coordinates: which ones, a mask (d,).
    """
    z, drift = np.array(inputs.z), np.array(inputs.drift)
    m = np.asarray(jax.vmap(multipliers, in_axes=(0, None))(inputs, frame)).copy()
    z[:, coordinates], factor, slope, stretched = _bend(z[:, coordinates])
    drift[:, coordinates] = factor * drift[:, coordinates] + m[:, coordinates] * slope
    m[:, coordinates] *= stretched
    seen = SteinInputs(
        z=jax.device_put(z),
        drift=jax.device_put(drift),
        scale=jax.device_put(np.zeros(len(z))),
        factors=jax.device_put(m),
    )
    return seen, NetworkFrame(frame.inner, frame.outer, tuple(range(z.shape[1])))


def _bend(z: Array) -> tuple[Array, Array, Array, Array]:
    """t, M, M' and M t' at coordinates z."""
    below, above = ndtr(z), ndtr(-z)
    # The smaller one over p is finite however far out.
    ratio = np.sqrt(np.pi / 2) * erfcx(np.abs(z) / np.sqrt(2))
    factor = 4 * ratio * np.maximum(below, above)
    slope = 4 * (above - below) + z * factor
    # The density cancels from M t', which would be 0 over 0 in the tails.
    return np.sqrt(12) * (below - above) / 2, factor, slope, 4 * np.sqrt(12) * below * above
