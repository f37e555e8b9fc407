"""Wind speed and turbulence at every turbine of the farm: PyWake's formulas in JAX.

Wakes are Gaussian (Niayifar and Porte-Agel 2016): at downwind distance d and distance r from its
axis, a turbine with wind speed U takes away

    U min(1, 2 a(ct D^2 / (8 sigma^2))) exp(-r^2 / (2 sigma^2)),   sigma = k d + eps D,
    k = w1 TI_eff + w2,   eps = 0.2 sqrt(beta),   beta = (1 + sqrt(1 - ct)) / (2 sqrt(1 - ct)),

deficits of all turbines upwind add up, and the turbulence added by the strongest one (Crespo and
Hernandez 1996) widens the wakes behind it. Written for one point; distances in meters.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from steinquad.problems.wind_farm_layout import WIND_SPEED

__all__ = ["PHYSICS", "Physics", "Positions", "Turbine", "Wakes"]
__all__ += ["centerline", "propagate", "turbine"]


class Physics(NamedTuple):
    """What differs between versions of PyWake.

    Attributes:
        madsen: induction by Madsen's polynomial, not by one-dimensional momentum theory.
        ct_limit: largest thrust coefficient in eps.
        turbulence_exponent: of the ambient turbulence in what wakes add.
        node_averaged: the overlap of wake and rotor is averaged over nodes of the rotor.
    """

    madsen: bool
    ct_limit: float
    turbulence_exponent: float
    node_averaged: bool


PHYSICS = {
    "p22": Physics(False, 1.0, 0.0325, True),  # PyWake 2.2 to 2.4
    "p26": Physics(True, 0.899, -0.0325, False),  # PyWake 2.6
}


class Turbine(NamedTuple):
    """What all turbines have in common.

    Attributes:
        thrust: thrust coefficient ct.
        eps: width of a wake at its rotor, in diameters.
        diameter: of the rotor.
        w1: wake expansion for each unit of turbulence.
        w2: wake expansion without turbulence.
    """

    thrust: Any
    eps: Any
    diameter: Any
    w1: Any
    w2: Any


class Positions(NamedTuple):
    """Where the turbines stand, seen along the wind.

    Attributes:
        down: downwind coordinates (t,), ascending; larger than all others for padding.
        cross: crosswind coordinates (t,).
        count: how many of them are turbines, the others being padding.
        cos: cosine of the wind direction.
        sin: its sine.
    """

    down: Any
    cross: Any
    count: Any
    cos: Any
    sin: Any


class Wakes(NamedTuple):
    """The state of each turbine, (t,): wind speed, and expansion rate k of its wake."""

    speed: Any
    expansion: Any


def _rotor_nodes() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gauss nodes of a 4 x 3 rule inside the unit disc, and weights; those at +y and -y merged."""
    (x, v), (y, w) = (np.polynomial.legendre.leggauss(k) for k in (4, 3))
    nodes = [(a, b, p * q) for a, p in zip(x, v, strict=True) for b, q in zip(y, w, strict=True)]
    inside = [
        (a, b, p * (2 if b > 0 else 1)) for a, b, p in nodes if b > -1e-9 and a**2 + b**2 < 1
    ]
    side, up, weight = np.array(inside).T
    return side, up, weight / weight.sum()


NODE_SIDE, NODE_UP, NODE_WEIGHT = _rotor_nodes()
BLOCK = 16  # a divisor of MOST_TURBINES


def induction(ct: Any, physics: Physics) -> Any:
    """Axial induction a of a thrust coefficient: by how much a rotor slows the wind down."""
    if physics.madsen:
        return ct * (0.2460 + ct * (0.0586 + ct * 0.0883))
    return 0.5 * (1.0 - jnp.sqrt(jnp.maximum(1.0 - ct, 0.0)))


def turbine(ct_prime: Any, w1: Any, w2: Any, diameter: Any, physics: Physics) -> Turbine:
    """The turbine with resistance coefficient C_T': a = C_T' / (4 + C_T'), ct = 4 a (1 - a)."""
    a = ct_prime / (4.0 + ct_prime)
    thrust = 4.0 * a * (1.0 - a)
    root = jnp.sqrt(1.0 - jnp.minimum(thrust, physics.ct_limit))
    return Turbine(thrust, 0.2 * jnp.sqrt((1.0 + root) / (2.0 * root)), diameter, w1, w2)


def centerline(kind: Turbine, sigma: Any, physics: Physics) -> Any:
    """The share of its wind speed that a turbine takes away on the axis of its wake."""
    spread = kind.thrust * kind.diameter**2 / (8.0 * sigma**2)
    return jnp.minimum(1.0, 2.0 * induction(spread, physics))


def propagate(kind: Turbine, turbulence: Any, at: Positions, physics: Physics) -> Wakes:
    """Speeds and expansion rates, turbine by turbine in downwind order.

    Args:
        kind: the turbine.
        turbulence: ambient intensity TI.
        at: where the turbines stand.
        physics: which formulas.
    """
    down, cross = at.down, at.cross
    radius = kind.diameter / 2.0
    side, up, weight = (jnp.asarray(v) for v in (NODE_SIDE, NODE_UP, NODE_WEIGHT))
    strength = 0.73 * induction(kind.thrust, physics) ** 0.8325
    strength = strength * turbulence**physics.turbulence_exponent

    def behind(state: tuple[Any, Any], source: tuple[Any, Any, Any]) -> tuple[Any, Wakes]:
        """All effects of one turbine, whose own state is complete by now, on those behind."""
        lost, added = state
        index, place, off = source
        speed = WIND_SPEED - lost[index]
        expansion = kind.w1 * jnp.sqrt(turbulence**2 + added[index] ** 2) + kind.w2
        d, c, later = down - place, cross - off, jnp.arange(len(down)) > index
        sigma = expansion * d + kind.eps * kind.diameter
        squares = (c + radius * side[:, None]) ** 2 + (radius * up[:, None]) ** 2  # nodes x t
        waked = jnp.exp(-squares / (2.0 * sigma**2))
        deficit = speed * centerline(kind, sigma, physics) * (weight @ waked)
        share = rotor_share(2.0 * sigma, radius, jnp.abs(c), later, physics)
        near = strength * (kind.diameter / jnp.maximum(d, 1e-10)) ** 0.32 * share
        # PyWake's sides: a deficit from just before the rotor on, turbulence behind it.
        lost = lost + jnp.where(later & (d > -1e-10), deficit, 0.0)
        added = jnp.maximum(added, jnp.where(later & (d > 0), near, 0.0))
        return (lost, added), Wakes(speed, expansion)

    zero = jnp.zeros_like(down)
    sources = (jnp.arange(len(down)), down, cross)
    _, wakes = jax.lax.scan(behind, (zero, zero), sources)
    return wakes


def rotor_share(wake: Any, rotor: Any, offset: Any, requested: Any, physics: Physics) -> Any:
    """The part of each rotor that lies in a wake, (t,).

    Most are clear of the edge of the wake. The inverse cosines of the others cost more than
    everything else together, so only those are computed, a block at a time.

    Args:
        wake: radius of the wake at each rotor (t,).
        rotor: their radius.
        offset: distance of each from the axis of the wake (t,).
        requested: which are asked for (t,).
        physics: whether the part is averaged over the nodes of the rotor.
    """
    side, up, weight = NODE_SIDE, NODE_UP, NODE_WEIGHT
    if not physics.node_averaged:
        side, up, weight = np.zeros(1), np.zeros(1), np.ones(1)
    inside = offset + 2.0 * rotor <= wake
    across = requested & ~inside & (offset < wake + 2.0 * rotor)
    rows = jnp.nonzero(across, size=len(across), fill_value=len(across))[0]

    def block(step: Any, share: Any) -> Any:
        at = jax.lax.dynamic_slice_in_dim(rows, step * BLOCK, BLOCK)
        near = offset.at[at].get(mode="fill", fill_value=0.0) + rotor * side[:, None]
        distance = jnp.sqrt(near**2 + (rotor * up[:, None]) ** 2)
        part = overlap(wake.at[at].get(mode="fill", fill_value=1.0), rotor, distance)
        return share.at[at].set(weight @ part, mode="drop")

    blocks = (jnp.sum(across) + BLOCK - 1) // BLOCK
    return jax.lax.fori_loop(0, blocks, block, jnp.where(inside, 1.0, 0.0))


def overlap(wake: Any, rotor: Any, distance: Any) -> Any:
    """The part of a disc of radius `rotor` that lies in one of radius `wake`, as PyWake has it.

    PyWake's triangle takes the wake's radius where the larger one belongs; the same unless the
    wake is narrower than the rotor, where what PyWake says counts here.
    """
    large, small = jnp.maximum(wake, rotor), jnp.minimum(wake, rotor)
    full, none = distance <= large - small, distance >= large + small
    distance = jnp.where(full | none, large, distance)  # any that is safe to divide by
    alpha = jnp.arccos(_cosine((large**2 + distance**2 - small**2) / (2.0 * large * distance)))
    beta = jnp.arccos(_cosine((small**2 + distance**2 - large**2) / (2.0 * small * distance)))
    area = alpha * large**2 + beta * small**2 - jnp.sin(alpha) * wake * distance
    partial = jnp.maximum(area / (jnp.pi * rotor**2), 0.0)
    return jnp.where(full, 1.0, jnp.where(none, 0.0, partial))


def _cosine(value: Any) -> Any:
    limit = 1.0 - 2.0 * np.finfo(np.float64).eps  # as PyWake
    return jnp.clip(value, -limit, limit)
