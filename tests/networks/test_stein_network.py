"""The model of the integrand: theta0 is its integral whatever the field is."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import assert_close, random_network
from numpy.polynomial.hermite_e import hermegauss

from steinquad.measures.affine import Affine
from steinquad.networks.plain_mlp import PlainMLP
from steinquad.networks.stein_network import SteinNetwork, evaluate
from steinquad.points import Points
from steinquad.stein.inputs import stein_inputs
from steinquad.stein.multipliers import Constant

NODES, WEIGHTS = hermegauss(80)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


def standard_normal(x, score=None):
    score = -x if score is None else score
    return stein_inputs(Points(x, score), Constant(), Affine.identity(x.shape[1]))


@pytest.mark.parametrize("outputs", [1, 3])
def test_its_integral_is_theta0(outputs):
    network = random_network(1, dim=1, outputs=outputs)
    g = np.asarray(evaluate(network, *standard_normal(NODES[:, None])))
    assert g.shape == (80, outputs)
    assert_close(WEIGHTS @ g, np.asarray(network.theta0), 1e-6)
    assert np.ptp(g, axis=0).min() > 0.1  # and it is no constant


def test_with_another_score_or_a_plain_field_it_is_not():
    network = random_network(1, dim=1)
    wrong = standard_normal(NODES[:, None], -2 * NODES[:, None])
    plain = SteinNetwork(network.theta0, PlainMLP.like(network.field))
    for other, inputs in ((network, wrong), (plain, standard_normal(NODES[:, None]))):
        mean = WEIGHTS @ np.asarray(evaluate(other, *inputs))
        assert np.abs(mean - np.asarray(network.theta0)).min() > 1e-3


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_a_batch_is_one_point_after_the_other(dim):
    network = random_network(2, dim=dim, outputs=2)
    inputs, frame = standard_normal(np.random.default_rng(dim).normal(size=(4, dim)))
    each = [network(jax.tree.map(lambda a, i=i: a[i], inputs), frame) for i in range(4)]
    assert_close(evaluate(network, inputs, frame), jnp.stack(each))


def test_theta0_moves_g_by_itself():
    network = random_network(3, dim=2, outputs=2)
    inputs, frame = standard_normal(np.random.default_rng(0).normal(size=(5, 2)))
    moved = SteinNetwork(network.theta0 + jnp.array([1.0, -2.0]), network.field)
    apart = evaluate(moved, inputs, frame) - evaluate(network, inputs, frame)
    np.testing.assert_allclose(apart, np.tile([1.0, -2.0], (5, 1)), rtol=1e-12)
