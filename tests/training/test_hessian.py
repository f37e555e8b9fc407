"""The Hessian against a linear model's and against differences; condition of known matrices."""

import jax.numpy as jnp
import numpy as np
import pytest
from helpers import FrozenLayer, FrozenNetwork, assert_close, normal_data, random_network

from steinquad.training.hessian import condition_number, hessian
from steinquad.training.model import CompiledModel
from steinquad.training.objective import Penalty, flatten, value_and_gradient

STRENGTH = 1e-2


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_of_a_linear_model(dim):
    """2/N J^T J plus the penalty, whatever the weights are."""
    rng = np.random.default_rng(dim)
    hidden = FrozenLayer(rng.normal(size=(3, dim)), rng.normal(size=3))
    network = FrozenNetwork(jnp.zeros(1), jnp.zeros((1, dim, 3)), jnp.zeros((1, dim)), hidden)
    data, at = normal_data(1, n=25, dim=dim), rng.normal(size=1 + 4 * dim)
    rows = CompiledModel(network, data).jacobian(at)
    want = 2 / 25 * rows.T @ rows + 2 * STRENGTH * np.eye(rows.shape[1])
    found = np.asarray(hessian(jnp.asarray(at), network, data, Penalty(STRENGTH, theta0=True)))
    assert_close(found, want, rtol=1e-12)
    assert condition_number(found) == pytest.approx(np.linalg.cond(want), rel=1e-9)


def test_against_differences_of_the_gradient():
    network, data = random_network(1, dim=2, width=4), normal_data(1, n=25, dim=2)
    penalty, at = Penalty(STRENGTH, theta0=False), flatten(network)
    found = np.asarray(hessian(jnp.asarray(at), network, data, penalty))
    direction, step = np.random.default_rng(0).normal(size=len(at)), 1e-5
    ahead, behind = (
        np.asarray(value_and_gradient(jnp.asarray(at + s * direction), network, data, penalty)[1])
        for s in (step, -step)
    )
    assert_close(found @ direction, (ahead - behind) / (2 * step), rtol=1e-8)  # step^2
    assert_close(found, found.T, rtol=1e-12)


def test_condition_of_a_known_quadratic():
    turn, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(6, 6)))
    matrix = turn @ np.diag([1e-3, -2e-3, 1.0, 5.0, -20.0, 7.0]) @ turn.T
    assert condition_number(matrix) == pytest.approx(2e4, rel=1e-9)
    assert condition_number(np.diag([1.0, 0.0])) == np.inf
