"""The Gaussian-process engine against brute-force linear algebra."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import assert_close
from small_gaussian_process import LOGS, NUGGET, data, hyper

from steinquad.posterior.gaussian_process import GaussianProcess


@pytest.fixture(autouse=True)
def x64():
    with jax.enable_x64(True):
        yield


def dense(process):
    """M and Q by numpy."""
    gram = process.gram(jnp.asarray(LOGS), process.points, process.points)
    matrix = np.asarray(gram) + NUGGET * np.eye(process.n)
    inverse, h = np.linalg.inv(matrix), process.basis
    gls = h @ np.linalg.solve(h.T @ inverse @ h, h.T) if h.shape[1] else np.zeros_like(matrix)
    return matrix, inverse, inverse - inverse @ gls @ inverse


@pytest.mark.parametrize("stein", [False, True], ids=["kernel", "stein"])
@pytest.mark.parametrize("degree", [-1, 0, 2])
def test_posterior_is_that_of_dense_linear_algebra(degree, stein):
    process = data(outputs=2, degree=degree, stein=stein)
    at = GaussianProcess.of(process, hyper(2))
    matrix, inverse, q = dense(process)
    y, h, count = process.y, process.basis, process.basis.shape[1]
    normal = h.T @ inverse @ h
    b = np.linalg.solve(normal, h.T @ inverse @ y) if count else np.zeros((0, 2))
    energy = np.einsum("nk,nm,mk->k", y, q, y)
    amplitude = np.sqrt(energy / (process.n - count))
    np.testing.assert_allclose(at.coefficients, b, rtol=1e-8)
    np.testing.assert_allclose(at.alpha, q @ y, rtol=1e-6, atol=1e-8 * np.abs(q @ y).max())
    np.testing.assert_allclose(at.hyper.amplitude, amplitude, rtol=1e-8)
    np.testing.assert_allclose(at.inverse(), q, atol=1e-9 * np.abs(q).max())
    fitted = h @ b + (matrix - NUGGET * np.eye(process.n)) @ inverse @ (y - h @ b)
    np.testing.assert_allclose(at.fitted, fitted, atol=1e-9)
    rng = np.random.default_rng(1)
    z, v0, integrals = 0.1 * rng.random(process.n), 3.0, rng.random(count)
    mean, variance = at.functional(z, v0, integrals)
    np.testing.assert_allclose(mean, integrals @ b + z @ inverse @ (y - h @ b), rtol=1e-8)
    missed = integrals - h.T @ inverse @ z
    unit = v0 - z @ inverse @ z
    unit = max(unit, np.finfo(float).eps * v0) + (missed @ np.linalg.inv(normal) @ missed)
    np.testing.assert_allclose(variance, amplitude**2 * unit, rtol=1e-7)
    determinants = np.linalg.slogdet(matrix)[1] + (np.linalg.slogdet(normal)[1] if count else 0)
    likelihood = -0.5 * np.sum(
        (process.n - count) * (1 + np.log(2 * np.pi * amplitude**2)) + determinants
    )
    assert at.log_likelihood == pytest.approx(likelihood, rel=1e-9)


@pytest.mark.parametrize("degree", [-1, 0, 2])
def test_leave_one_out_is_really_leaving_out(degree):
    process = data(outputs=2, degree=degree)
    residuals = GaussianProcess.of(process, hyper(2)).leave_one_out()
    for i in (0, 7, 49):
        others = np.delete(np.arange(50), i)
        at = GaussianProcess.of(process.take(others), hyper(2))
        mean, _ = at.predict(process.points[[i]], process.basis[[i]], False)
        np.testing.assert_allclose(residuals[i], process.y[i] - mean[0], rtol=1e-7)


def test_a_functional_is_the_average_of_predictions():
    process = data()
    at = GaussianProcess.of(process, hyper())
    new = np.random.default_rng(2).standard_normal((30, 2))
    logs = jnp.asarray(LOGS)
    cross = np.asarray(process.gram(logs, new, process.points))
    v0 = float(np.mean(process.gram(logs, new, new)))
    mean, variance = at.functional(cross.mean(axis=0), v0, np.ones(1))
    means, stds = at.predict(new, np.ones((30, 1)), True)
    np.testing.assert_allclose(mean, means.mean(axis=0), rtol=1e-10)
    assert variance[0] < np.mean(stds**2)
    # at one point, the functional is the prediction
    _, at_point = at.functional(cross[0], 1.0, np.ones(1))
    assert at_point[0] == pytest.approx(stds[0, 0] ** 2, rel=1e-8)
    light, light_std = at.light().predict(new, np.ones((30, 1)), True)
    np.testing.assert_allclose(light, means)
    np.testing.assert_allclose(light_std, stds)


def test_duplicated_points_take_jitter_and_say_so():
    process = data(nugget=0.0)
    twice = process.take(np.repeat(np.arange(50), 2))
    at = GaussianProcess.of(twice, replace(hyper(), nugget=0.0))
    assert 0 < at.jitter < 1e-8 and np.isfinite(at.log_likelihood)
    assert GaussianProcess.of(process, replace(hyper(), nugget=0.0)).jitter == 0


@pytest.mark.parametrize("options", [{}, {"stein": True}, {"degree": 2, "outputs": 2}])
def test_held_out_values_are_those_of_refits_without_the_fold(options):
    """With fixed hyperparameters; `K^-1` in place of Q would miss the mean functions."""
    whole = data(**options)
    outputs = options.get("outputs", 1)
    rng = np.random.default_rng(3)
    z, h = rng.uniform(0.1, 0.9, whole.n), rng.standard_normal(whole.basis.shape[1])
    process = GaussianProcess.of(whole, hyper(outputs))
    split = [np.arange(i, whole.n, 5) for i in range(5)]
    values, integrals = process.held_out(z, h, split)
    for fold, rows in enumerate(split):
        keep = np.setdiff1d(np.arange(whole.n), rows)
        without = GaussianProcess.of(whole.take(keep), hyper(outputs))
        theta0, _ = without.functional(z[keep], 10.0, h)
        held = whole.take(rows)
        predicted, _ = without.predict(held.points, held.basis, False)
        assert_close(values[rows], theta0 + held.y - predicted, rtol=1e-8)
        assert_close(integrals[fold], theta0, rtol=1e-8)


def test_folds_of_a_bad_condition_are_left_out_without_a_warning():
    """Warnings are errors here: one of SciPy's came through where draws lay close together."""
    whole = data()
    process = GaussianProcess.of(
        replace(whole, noise=np.geomspace(1e-14, 1e18, whole.n)), hyper(1)
    )
    split = [np.arange(i, whole.n, 2) for i in range(2)]
    q = process.inverse()[np.ix_(split[0], split[0])]
    assert np.linalg.cond(q) > 1 / np.finfo(float).eps
    values, integrals = process.held_out(np.zeros(whole.n), np.zeros(whole.basis.shape[1]), split)
    assert np.isfinite(values).all() and np.isfinite(integrals).all()
