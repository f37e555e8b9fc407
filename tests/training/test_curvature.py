"""Steps, curvature and effective weights: dense on either side and matrix-free, against NumPy."""

import jax.numpy as jnp
import numpy as np
import pytest
from helpers import assert_close, normal_data, random_network

from steinquad.training.curvature import Dense, MatrixFree
from steinquad.training.model import model
from steinquad.training.objective import flatten, theta0_entries

P, ALPHA, BETA = 12, 0.3, 4.0
RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(40, P)) * np.geomspace(1, 1e-3, P)
GRAM = ROWS.T @ ROWS
PENALIZED = np.where(np.arange(P) < 2, 0.0, 1.0)  # two integrals under a flat prior


def dense(matrix) -> Dense:
    return Dense(matrix, np.zeros(P), np.ones(2), np.ones(2))


@pytest.mark.parametrize("convert", [np.asarray, jnp.asarray], ids=["numpy", "jax"])
def test_dense_against_numpy(convert):
    at = dense(convert(GRAM))
    vector = RNG.normal(size=P)
    diagonal = ALPHA * PENALIZED + 0.1
    solve = at.solver(BETA, diagonal)
    want = np.linalg.solve(BETA * GRAM + np.diag(diagonal), vector)
    assert_close(solve(vector), want, rtol=1e-11)
    assert_close(solve(2 * vector), 2 * want, rtol=1e-11)  # may be asked again
    assert at.quadratic(vector) == pytest.approx(vector @ GRAM @ vector, rel=1e-12)
    covariance = np.linalg.inv(BETA * GRAM + np.diag(ALPHA * PENALIZED))
    gamma = PENALIZED.sum() - ALPHA * np.diag(covariance) @ PENALIZED
    assert 0 < gamma < P - 2
    assert at.effective(ALPHA, BETA, PENALIZED) == pytest.approx(gamma, rel=1e-9)
    assert np.array_equal(np.asarray(at.matrix), GRAM)  # not overwritten by its factor


@pytest.mark.parametrize("convert", [np.asarray, jnp.asarray], ids=["numpy", "jax"])
def test_a_matrix_that_is_not_positive_has_no_solver(convert):
    at = dense(convert(GRAM - 2 * np.trace(GRAM) * np.eye(P)))
    assert at.solver(1.0, np.zeros(P)) is None
    assert at.effective(ALPHA, BETA, PENALIZED) is None


def test_effective_weights_of_a_singular_matrix():
    """More weights than points, nearly no prior: as many as there are points, but not more."""
    rows = RNG.normal(size=(5, P))
    gamma = dense(rows.T @ rows).effective(1e-3, 1e6, np.ones(P))
    assert gamma == pytest.approx(5.0, abs=1e-2)


def problem():
    """Of the shapes of test_model.py, so that both compile once."""
    network = random_network(1, dim=2, outputs=2, width=4)
    return network, normal_data(1, n=30, dim=2, outputs=2), np.array([0.7, 1.2])


def test_matrix_free_against_dense():
    network, data, noise = problem()
    at, vector = model(network, data), flatten(network)
    full = Dense(*at.gram(vector, noise), noise)
    # two probes, as for thousands of weights, have a noise of 16 % with these 52
    free = MatrixFree.at(at, vector, noise, cg_tolerance=1e-12, trace_probes=40)
    assert_close(free.gradient, full.gradient, rtol=1e-12)
    assert_close(free.squares, full.squares, rtol=1e-12)
    direction = RNG.normal(size=len(vector))
    assert free.quadratic(direction) == pytest.approx(full.quadratic(direction), rel=1e-12)
    penalized = np.where(theta0_entries(network), 0.0, 1.0)
    diagonal = ALPHA * penalized + 0.1
    want = full.solver(BETA, diagonal)(direction)
    assert_close(free.solver(BETA, diagonal)(direction), want, rtol=1e-8)
    gamma = full.effective(ALPHA, BETA, penalized)
    # the rest of that noise, and theta0 held fixed rather than eliminated
    assert free.effective(ALPHA, BETA, penalized) == pytest.approx(gamma, rel=0.1)
