"""Criteria for hyperparameters against finite differences, and the search against a sample."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from small_gaussian_process import LOGS, data, hyper

from steinquad.kernels import RBF
from steinquad.methods.bayesian_quadrature import KernelGram
from steinquad.posterior.gaussian_process import GaussianProcessData
from steinquad.posterior.hyperparameter_search import (
    left_out_loss,
    memory_obstacle,
    negative_log_likelihood,
    optimize,
    pack,
    subset,
    unpack,
)


@pytest.fixture(autouse=True)
def x64():
    with jax.enable_x64(True):
        yield


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"outputs": 2, "degree": 2},
        {"degree": -1, "amplitude": np.array([1.3])},
        {"noise": np.linspace(0.001, 0.1, 50)},
        {"noise": np.full(50, 0.01), "nugget": 0.0},
        {"stein": True},
        {"log_lengthscales": LOGS},
    ],
    ids=["plain", "outputs", "amplitude", "noise", "only-noise", "stein", "lengthscales"],
)
def test_gradients_are_those_of_finite_differences(options):
    process = data(**options)
    vector = pack(process, hyper(process.y.shape[1], 0.7))
    # leave-one-out residuals do not decide an amplitude
    losses = [negative_log_likelihood, *([] if process.explicit else [left_out_loss])]
    step = 1e-5
    for loss in losses:
        _, gradient = loss(process, vector)
        for i, derivative in enumerate(gradient):
            sides = [loss(process, vector + s * step * np.eye(len(vector))[i])[0] for s in (1, -1)]
            numerical = (sides[0] - sides[1]) / (2 * step)
            assert derivative == pytest.approx(numerical, rel=1e-5, abs=1e-5)


def test_unpack_inverts_pack():
    for options in ({}, {"noise": np.full(50, 0.01)}, {"nugget": 0.0}, {"log_lengthscales": LOGS}):
        process = data(**options)
        vector = pack(process, hyper(1, 0.7))
        np.testing.assert_allclose(pack(process, unpack(process, vector)), vector, rtol=1e-15)


def test_likelihood_finds_the_hyperparameters_of_a_sample():
    rng = np.random.default_rng(3)
    x = rng.uniform(-2, 2, (350, 2))
    gram = KernelGram(RBF())
    truth = np.array([0.5, 1.0])
    matrix = np.asarray(gram(jnp.log(truth), x, x)) + 1e-2 * np.eye(350)
    y = np.linalg.cholesky(matrix) @ rng.standard_normal((350, 1))
    process = GaussianProcessData(gram=gram, points=x, y=y, basis=np.ones((350, 1)), dim=2)
    steps = []
    found = optimize(
        process, criterion="likelihood", seed=0, progress=lambda *s: steps.append(s[0])
    ).hyper
    np.testing.assert_allclose(np.exp(found.log_lengthscales), truth, rtol=0.2)
    assert 0.5e-2 < found.nugget < 2e-2 and steps == sorted(steps)


def test_large_subsets_contain_small_ones_and_memory_is_counted():
    assert set(subset(1000, 30, 5)) < set(subset(1000, 100, 5))
    assert memory_obstacle(10_000, 6.0) is None
    message = memory_obstacle(50_000, 6.0)
    assert message and "50000" in message and "6 GiB" in message and message.endswith(".")
