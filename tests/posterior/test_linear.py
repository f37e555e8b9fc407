"""Exact linear regression: against plain linear algebra, really leaving out, and nested sizes."""

import numpy as np
import pytest

from steinquad.posterior.linear import factor

N, F, K = 60, 8, 2


def problem(seed=0, noise=0.3):
    rng = np.random.default_rng(seed)
    phi = rng.standard_normal((N, F)) @ np.diag(np.geomspace(3, 0.1, F)) + rng.standard_normal(F)
    y = 2.0 + phi @ rng.standard_normal((F, K)) + noise * rng.standard_normal((N, K))
    weights = rng.uniform(0.2, 3.0, N)
    return phi, y, weights, np.geomspace(1.0, 0.2, F)


def brute_force(phi, y, weights, scale, alpha, beta):
    """Posterior of (theta0, w) from the normal equations, theta0 flat."""
    design = np.column_stack([np.ones(len(phi)), phi])
    prior = np.diag(np.concatenate([[0.0], alpha / scale**2]))
    precision = beta * design.T @ (weights[:, None] * design) + prior
    covariance = np.linalg.inv(precision)
    return beta * covariance @ design.T @ (weights * y), covariance


@pytest.mark.parametrize("size", [1, 5, F])
def test_posterior_equals_the_normal_equations(size):
    phi, y, weights, scale = problem()
    fit = factor(phi, y, weights).posterior(size, scale[:size])
    for j in range(K):
        mean, covariance = brute_force(
            phi[:, :size], y[:, j], weights, scale[:size], fit.alpha[j], fit.beta[j]
        )
        np.testing.assert_allclose(fit.theta0[j], mean[0], rtol=1e-10)
        np.testing.assert_allclose(fit.weights[:, j], mean[1:], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(fit.variance[j], covariance[0, 0], rtol=1e-10)
        design = np.column_stack([np.ones(N), phi[:, :size]])
        np.testing.assert_allclose(fit.residuals[:, j], y[:, j] - design @ mean, atol=1e-10)


def test_left_out_residuals_are_those_of_leaving_out():
    phi, y, weights, scale = problem(1)
    fit = factor(phi, y, weights).posterior(F, scale)
    for i in (0, 17, 59):
        keep = np.arange(N) != i
        for j in range(K):
            mean, _ = brute_force(
                phi[keep], y[keep, j], weights[keep], scale, fit.alpha[j], fit.beta[j]
            )
            np.testing.assert_allclose(
                fit.left_out[i, j], y[i, j] - mean[0] - phi[i] @ mean[1:], rtol=1e-9
            )


def test_evidence_is_highest_at_the_precisions_found():
    """Against the marginal likelihood of y itself, theta0 integrated out by a wide prior."""
    phi, y, _, scale = problem(2)
    fit = factor(phi, y, np.ones(N)).posterior(F, scale)

    def log_evidence(alpha, beta):
        covariance = (phi * scale**2) @ phi.T / alpha + np.eye(N) / beta + 1e8
        sign, logdet = np.linalg.slogdet(covariance)
        assert sign > 0
        return -0.5 * logdet - 0.5 * y[:, 0] @ np.linalg.solve(covariance, y[:, 0])

    best = log_evidence(fit.alpha[0], fit.beta[0])
    for a, b in ((1.2, 1.0), (1 / 1.2, 1.0), (1.0, 1.1), (1.0, 1 / 1.1)):
        assert log_evidence(a * fit.alpha[0], b * fit.beta[0]) < best


def test_noise_far_below_the_signal_is_resolved():
    """Relative noise of 1e-12: the residual is not a difference of large numbers."""
    phi, y, weights, scale = problem(3, noise=1e-12)
    fit = factor(phi, y, weights).posterior(F, scale)
    assert np.all(np.abs(fit.theta0 - 2.0) < 1e-10)
    rms = np.sqrt(np.mean(fit.left_out**2, axis=0))
    assert np.all(rms < 3e-12) and np.all(rms > 3e-13)


def test_predicted_variance_is_the_posteriors():
    phi, y, weights, scale = problem(4)
    factored = factor(phi, y, weights)
    fit = factored.posterior(F, scale)
    variance = fit.predicted_variance(phi[:3], factored.feature_mean, factored.total)
    _, covariance = brute_force(phi, y[:, 0], weights, scale, fit.alpha[0], fit.beta[0])
    design = np.column_stack([np.ones(3), phi[:3]])
    expected = np.einsum("ij,jk,ik->i", design, covariance, design)
    np.testing.assert_allclose(variance[:, 0], expected, rtol=1e-9)


@pytest.mark.parametrize("folds", [2, 5, N])
def test_held_out_values_are_those_of_refits_without_the_fold(folds):
    phi, y, weights, scale = problem(4)
    factored = factor(phi, y, weights)
    fit = factored.posterior(F, scale)
    split = [np.arange(i, N, folds) for i in range(folds)]
    values, theta0 = factored.held_out(fit, scale, split)
    for fold, rows in enumerate(split[:3]):
        keep = np.setdiff1d(np.arange(N), rows)
        for j in range(K):
            mean, _ = brute_force(
                phi[keep], y[keep, j], weights[keep], scale, fit.alpha[j], fit.beta[j]
            )
            np.testing.assert_allclose(
                values[rows, j], y[rows, j] - phi[rows] @ mean[1:], rtol=1e-7
            )
            np.testing.assert_allclose(theta0[fold, j], mean[0], rtol=1e-7)


def test_values_that_are_all_the_same_have_finite_precisions():
    """A fold of an output of -1 and 1 may have one of them only; warnings are errors here."""
    phi = np.random.default_rng(0).standard_normal((200, 3))
    y = np.ones((200, 1))
    factored = factor(phi, y, np.ones(200))
    fit = factored.posterior(3, np.ones(3))
    assert np.isfinite([fit.alpha, fit.beta]).all()
    assert 0 < fit.variance[0] < 1e-30  # but for the rounding of the average, of some processors
    values, theta0 = factored.held_out(fit, np.ones(3), np.array_split(np.arange(200), 10))
    np.testing.assert_allclose(values, y, rtol=1e-15)
    np.testing.assert_allclose(theta0, np.ones((10, 1)), rtol=1e-15)
