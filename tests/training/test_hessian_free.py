"""Hessian-free: exact on linear least squares, as low as L-BFGS, products against dense ones."""

import jax.numpy as jnp
import numpy as np
import pytest
from helpers import FrozenLayer, FrozenNetwork, assert_close, normal_data, random_network

import steinquad as sq
from steinquad._types import no_progress
from steinquad.training.curvature import MatrixFree
from steinquad.training.hessian_free import LESS, MORE, HessianFree
from steinquad.training.lbfgs import LBFGS
from steinquad.training.model import CompiledModel, NumpyModel
from steinquad.training.objective import Penalty, flatten, value_and_gradient


def fit(optimizer, network, data, **more):
    return optimizer.fit(network, data, flat=True, progress=no_progress, **more)


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_gauss_newton_product_against_the_dense_jacobian(dim):
    network, data = random_network(1, dim=dim), normal_data(1, n=20, dim=dim)
    at = flatten(network)
    direction = np.random.default_rng(0).normal(size=len(at))
    rows = NumpyModel(network, data).jacobian(at)
    want = rows.T @ (rows @ direction)
    assert_close(CompiledModel(network, data).product(at, np.ones(1), direction), want, rtol=1e-12)


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_linear_least_squares_in_a_few_steps(dim):
    """A network that is linear in its weights: the quadratic model is the loss."""
    rng = np.random.default_rng(dim)
    hidden = FrozenLayer(rng.normal(size=(4, dim)), rng.normal(size=4))
    network = FrozenNetwork(jnp.zeros(1), jnp.zeros((1, dim, 4)), jnp.zeros((1, dim)), hidden)
    data, strength = normal_data(1, n=60, dim=dim), 1e-2
    steps = HessianFree(penalty=strength, damping=1e-9, max_steps=12)
    result = fit(steps, network, data)
    free = CompiledModel(network, data)
    rows = free.jacobian(flatten(network))  # J of r = J w - y
    total, p = 60.0, rows.shape[1]
    ridge = strength * total * np.diag(np.arange(p) > 0)
    want = np.linalg.solve(rows.T @ rows + ridge, rows.T @ np.asarray(data.blocks.y).ravel())
    assert_close(flatten(result.network), want, rtol=1e-8)  # of conjugate gradients cut off early
    best = result.losses[-1]
    assert np.all(np.diff(result.losses) <= 0) and result.losses[:4][-1] < best * (1 + 1e-8)


def test_it_goes_as_low_as_lbfgs():
    network, data, strength = random_network(1, dim=1), normal_data(1, n=40, dim=1), 5e-2
    free = fit(HessianFree(penalty=strength, max_steps=200), network, data)
    other = fit(LBFGS(penalty=strength, rtol=0.0), network, data)
    assert np.all(np.diff(free.losses) < 0)
    # Gauss-Newton has no second derivatives of g: it creeps where residuals are left
    assert free.losses[-1] == pytest.approx(other.losses[-1], rel=1e-4)
    penalty = Penalty(strength, theta0=False)
    at = jnp.asarray(flatten(free.network))
    loss, gradient = value_and_gradient(at, network, data, penalty)
    assert float(loss) == pytest.approx(free.losses[-1], rel=1e-12)
    assert np.linalg.norm(gradient) < 1e-3


def test_the_damping_follows_the_model(monkeypatch):
    """So damped that the model is exact: it shrinks. A step much too long: it grows."""
    network, data = random_network(1, dim=1), normal_data(1, n=40, dim=1)
    run = HessianFree(penalty=1e-2, damping=10.0).start(network, data, flat=True)
    run.step()
    assert run.damping == pytest.approx(10.0 * LESS)
    solver = MatrixFree.solver
    monkeypatch.setattr(
        MatrixFree, "solver", lambda self, *given: lambda v: 1e3 * solver(self, *given)(v)
    )
    before, loss = run.damping, run.loss
    assert run.step() is not None and run.loss < loss  # halved until it is lower
    assert run.damping == pytest.approx(before * MORE)


@pytest.mark.parametrize(("option", "given"), [("penalty", -1), ("damping", 0)])
def test_wrong_options_are_refused(option, given):
    with pytest.raises(sq.InputError, match=f"{option} is {given}"):
        HessianFree(**{option: given})
