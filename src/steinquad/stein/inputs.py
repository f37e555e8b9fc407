"""Everything the Stein operator needs to know of each point, whatever the field is.

Multipliers and the change of coordinates do not depend on the weights, so they are folded in once:
for the field `x -> m(x) L w(z)` with `z = L^-1 (x - mu)` and a diagonal m,

    S[m L w](x) = drift . w(z) + sum_i m_i(x) d(L w)_i / d x_i,   drift = L^T (m score + slope).
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from steinquad.measures.affine import Affine
from steinquad.stein.multipliers import Multiplier, Points

__all__ = ["Frame", "SteinInputs", "stein_inputs"]


class SteinInputs(eqx.Module):
    """What is known of one point; a batch has a leading axis on every field."""

    z: jax.Array  # (d,) coordinates of the network
    drift: jax.Array  # (d,) what multiplies w
    scale: jax.Array  # () multiplier of the coordinates not in `varying`
    factors: jax.Array  # (len(varying),) multipliers of the others


class Frame(eqx.Module):
    """What all points share: the coordinates of the network and who has an own multiplier."""

    inner: jax.Array  # (d, d) L^-1
    outer: jax.Array  # (d, d) L
    varying: tuple[int, ...] = eqx.field(static=True)

    @property
    def shared(self) -> tuple[int, ...]:
        """The coordinates that have the multiplier `scale`."""
        return tuple(i for i in range(self.inner.shape[0]) if i not in self.varying)


def stein_inputs(
    points: Points, multiplier: Multiplier, affine: Affine
) -> tuple[SteinInputs, Frame]:
    """Fold a fitted multiplier and a change of coordinates into a batch of inputs."""
    dim = points.x.shape[1]
    value, slope = multiplier(points)
    varying = tuple(range(dim)) if multiplier.varying is None else multiplier.varying
    frame = Frame(jnp.asarray(affine.inverse), jnp.asarray(affine.matrix), varying)
    inputs = SteinInputs(
        z=jnp.asarray(affine.points(points.x)),
        drift=jnp.asarray(affine.score(value * points.score + slope)),
        scale=jnp.asarray(value[:, frame.shared[0]] if frame.shared else np.zeros(len(value))),
        factors=jnp.asarray(value[:, list(varying)]),
    )
    return inputs, frame
