"""Standard units: there and back, constants exact, correlations of residuals."""

import numpy as np
import pytest

import steinquad as sq
from steinquad.fit import Check
from steinquad.fitting.outputs import Outputs, correlated


def dataset(k, **options):
    """k outputs that vary, of different units, with a constant between them."""
    rng = np.random.default_rng(k)
    x = rng.standard_normal((30, 1))
    fx = 5 + 10.0 ** np.arange(k) * rng.standard_normal((30, k))
    return sq.Dataset(x, np.insert(fx, min(1, k), 7.0, axis=1), **options)


@pytest.mark.parametrize("k", [1, 2, 5])
@pytest.mark.parametrize("weighted", [False, True])
def test_standard_values_come_back(k, weighted):
    weights = np.random.default_rng(0).uniform(0.1, 1.0, 30) if weighted else None
    data = dataset(k, weights=weights)
    outputs, w = Outputs.fit(data), data.effective_weights / data.effective_weights.sum()
    np.testing.assert_allclose(w @ outputs.values, 0, atol=1e-13)
    np.testing.assert_allclose(w @ outputs.values**2, 1, rtol=1e-13)
    np.testing.assert_allclose(outputs.in_units(outputs.values), data.fx, rtol=1e-12)
    one = outputs.values[3]  # without the axis of the points
    np.testing.assert_allclose(outputs.in_units(one), data.fx[3], rtol=1e-12)
    np.testing.assert_array_equal(
        outputs.spread_in_units(one), outputs.spread_in_units(one[None])[0]
    )


@pytest.mark.parametrize("k", [1, 2, 5])
def test_constants_are_exact_and_certain(k):
    outputs = Outputs.fit(dataset(k))
    mean, covariance = outputs.integrals(np.ones(k), np.eye(k))
    still = ~outputs.varying
    assert mean[still] == 7.0 and not covariance[still].any()
    np.testing.assert_allclose(np.diag(covariance)[outputs.varying], outputs.scale**2)
    assert (outputs.spread_in_units(np.ones((4, k)))[:, still] == 0).all()


def test_a_check_changes_its_units_and_not_its_distance():
    outputs = Outputs.fit(dataset(2))
    given = Check(np.zeros(2), np.ones(2), 4, 9.0, np.ones(2), 1.5, outputs.values)
    check = outputs.check_in_units(given)
    np.testing.assert_allclose(check.predicted, dataset(2).fx, rtol=1e-12)
    np.testing.assert_allclose(check.std[[0, 2]], outputs.scale)
    assert check.std[1] == check.residual[1] == 0 and check.distance == 1.5


def test_precise_values_weigh_more_and_a_misfit_evens_that_out():
    data = dataset(1, noise=np.linspace(0.01, 1.0, 30))
    outputs = Outputs.fit(data)
    exact, poor = outputs.noise_weights(0.0), outputs.noise_weights(1e6)
    assert np.all(np.diff(exact) < 0) and exact.mean() == pytest.approx(1) and exact[0] > 5
    np.testing.assert_allclose(poor, 1.0, rtol=1e-5)
    np.testing.assert_array_equal(Outputs.fit(dataset(1)).noise_weights(0.3), np.ones(30))


def test_the_misfit_is_what_noise_does_not_explain():
    outputs, weights = Outputs.fit(dataset(1, noise=0.5)), np.ones(30)
    noise = outputs.noise[0]
    left = np.full((30, 1), np.sqrt(noise + 0.25))
    assert outputs.misfit(left, weights) == pytest.approx(0.25)
    rows = np.array([3, 4])
    assert outputs.misfit(left[rows], weights[rows], rows) == pytest.approx(0.25)
    assert outputs.misfit(0.1 * left, weights) == 0.0
    assert Outputs.fit(dataset(1)).misfit(left, weights) == pytest.approx(noise + 0.25)


@pytest.mark.parametrize("k", [1, 2, 5])
def test_a_covariance_has_the_variances_given_and_the_correlation_of_the_residuals(k):
    left = np.random.default_rng(k).standard_normal((50, k)) @ np.triu(np.ones((k, k)))
    variance = np.arange(1.0, k + 1)
    matrix = correlated(variance, left)
    np.testing.assert_allclose(np.diag(matrix), variance, rtol=1e-14)
    norms = np.linalg.norm(left, axis=0)
    root = np.sqrt(variance)
    np.testing.assert_allclose(matrix, left.T @ left * np.outer(root / norms, root / norms))
    left[:, 0] = 0.0  # nothing left, nothing to correlate
    assert not correlated(variance, left)[0, 1:].any()
