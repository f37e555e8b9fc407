"""PyWake's formulas one by one: areas by sampling, two turbines by hand."""

import jax.numpy as jnp
import numpy as np
import pytest
from helpers import x64  # noqa: F401

from steinquad.problems.wind_farm_layout import WIND_SPEED
from steinquad.problems.wind_farm_wakes import (
    NODE_SIDE,
    NODE_UP,
    NODE_WEIGHT,
    PHYSICS,
    Positions,
    centerline,
    induction,
    overlap,
    propagate,
    rotor_share,
    turbine,
)

BOTH = pytest.mark.parametrize("physics", PHYSICS.values(), ids=list(PHYSICS))


@pytest.mark.parametrize(("wake", "distance"), [(80.0, 60.0), (120.0, 90.0), (50.0, 40.0)])
def test_the_overlap_of_two_discs_by_counting_points(wake, distance):
    """For a wake no narrower than the rotor; for a narrower one PyWake's triangle is another."""
    side = np.linspace(-50.0, 50.0, 801)
    x, y = np.meshgrid(side, side)
    rotor = x**2 + y**2 < 50.0**2
    share = np.mean((x[rotor] - distance) ** 2 + y[rotor] ** 2 < wake**2)
    assert float(overlap(wake, 50.0, distance)) == pytest.approx(share, abs=2e-3)


def test_discs_within_and_clear_of_each_other():
    assert float(overlap(80.0, 50.0, 30.0)) == 1.0 and float(overlap(80.0, 50.0, 0.0)) == 1.0
    assert float(overlap(80.0, 50.0, 130.0)) == 0.0 and float(overlap(80.0, 50.0, 500.0)) == 0.0


@BOTH
def test_blocks_of_rotors_are_all_rotors(physics):
    """48 rotors around the edge of a wake, of which only some are asked for."""
    rng = np.random.default_rng(0)
    wake, offset = rng.uniform(60.0, 200.0, 48), rng.uniform(0.0, 300.0, 48)
    requested = rng.random(48) < 0.8
    nodes = (NODE_SIDE, NODE_UP, NODE_WEIGHT) if physics.node_averaged else np.eye(3)[2][:, None]
    shares = sum(
        w * np.asarray(overlap(wake, 50.0, np.hypot(offset + 50.0 * s, 50.0 * u)))
        for s, u, w in zip(*nodes, strict=True)
    )
    got = rotor_share(jnp.asarray(wake), 50.0, jnp.asarray(offset), requested, physics)
    got = np.asarray(got)
    np.testing.assert_allclose(got[requested], shares[requested], rtol=1e-12, atol=1e-12)


def test_induction_is_the_inverse_of_the_thrust():
    a = np.linspace(0.0, 0.45, 10)
    np.testing.assert_allclose(induction(4 * a * (1 - a), PHYSICS["p22"]), a, atol=1e-12)


def test_nodes_lie_inside_the_rotor_and_weigh_left_and_right_alike():
    assert NODE_WEIGHT.sum() == pytest.approx(1.0, rel=1e-15)
    assert pytest.approx(0.0, abs=1e-15) == NODE_WEIGHT @ NODE_SIDE
    assert np.all(NODE_UP >= 0) and np.all(NODE_SIDE**2 + NODE_UP**2 < 1)


@BOTH
def test_two_turbines_by_hand(physics):
    """One stands 500 m behind the first and 20 m off, the others far to the side."""
    kind = turbine(1.33, 0.38, 4e-3, 100.0, physics)
    down, cross = np.zeros(16), 3000.0 * np.arange(16)  # as many as a block of rotors
    down[-1], cross[-1] = 500.0, 20.0
    wakes = propagate(
        kind, 0.1, Positions(jnp.asarray(down), jnp.asarray(cross), 16, 1, 0), physics
    )
    narrow = 0.38 * 0.1 + 4e-3
    sigma = narrow * 500.0 + kind.eps * 100.0
    squares = (20.0 + 50.0 * NODE_SIDE) ** 2 + (50.0 * NODE_UP) ** 2
    lost = centerline(kind, sigma, physics) * (NODE_WEIGHT @ np.exp(-squares / (2 * sigma**2)))
    np.testing.assert_allclose(wakes.speed[:-1], WIND_SPEED, rtol=1e-12)
    np.testing.assert_allclose(wakes.speed[-1], WIND_SPEED * (1 - lost), rtol=1e-12)
    wake, offset = jnp.full(16, 2 * sigma), jnp.full(16, 20.0)
    share = rotor_share(wake, 50.0, offset, np.ones(16, bool), physics)[0]
    added = 0.73 * induction(kind.thrust, physics) ** 0.8325 * 0.1**physics.turbulence_exponent
    added = added * (100.0 / 500.0) ** 0.32 * share
    np.testing.assert_allclose(wakes.expansion[:-1], narrow, rtol=1e-12)
    wide = 0.38 * np.hypot(0.1, added) + 4e-3
    np.testing.assert_allclose(wakes.expansion[-1], wide, rtol=1e-12)
