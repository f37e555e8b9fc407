"""The marginal likelihood as a function of the two precisions."""

import numpy as np
import pytest

from steinquad.training.evidence import Spectrum, log_evidence, tune

SPECTRUM = Spectrum(np.geomspace(1e5, 1e-7, 40), np.linspace(0.5, 2.0, 40))


@pytest.mark.parametrize("log_alpha", [-3.0, 0.0, 4.0])
@pytest.mark.parametrize("log_beta", [-1.0, 2.0, 9.0])
def test_gradient_against_differences(log_alpha, log_beta):
    def value(a, b):
        return log_evidence(a, b, SPECTRUM, 200.0, 3.0, 7.0)[0]

    step = 1e-5
    want = [
        (value(log_alpha + step, log_beta) - value(log_alpha - step, log_beta)) / (2 * step),
        (value(log_alpha, log_beta + step) - value(log_alpha, log_beta - step)) / (2 * step),
    ]
    _, gradient, _ = log_evidence(log_alpha, log_beta, SPECTRUM, 200.0, 3.0, 7.0)
    # the difference has the rounding of the value over the step
    size = abs(value(log_alpha, log_beta))
    np.testing.assert_allclose(gradient, want, rtol=1e-7, atol=1e-9 * size)


def test_the_optimum_is_stationary():
    found = tune(SPECTRUM, observations=200.0, residual=3.0, weight=7.0)
    curvature = found.beta * SPECTRUM.values
    gamma = SPECTRUM.counts @ (curvature / (curvature + found.alpha))
    assert found.gamma == pytest.approx(gamma, rel=1e-12)
    # 1e-6: where the optimizer stops
    assert found.alpha == pytest.approx(gamma / 7.0, rel=1e-6)
    assert found.beta == pytest.approx((200.0 - gamma) / 3.0, rel=1e-6)


def test_nearby_precisions_have_less_evidence():
    found = tune(SPECTRUM, observations=200.0, residual=3.0, weight=7.0)
    logs = np.log([found.alpha, found.beta])
    for step in np.array([[0.1, 0.0], [-0.1, 0.0], [0.0, 0.1], [0.0, -0.1], [0.1, 0.1]]):
        value, _, _ = log_evidence(*(logs + step), SPECTRUM, 200.0, 3.0, 7.0)
        assert value < found.log_evidence


def test_counts_are_repeated_eigenvalues():
    repeated = Spectrum(np.repeat([3.0, 0.1], [2, 5]), np.ones(7))
    counted = Spectrum(np.array([3.0, 0.1]), np.array([2.0, 5.0]))
    for spectrum in (repeated, counted):
        assert log_evidence(0.3, 1.2, spectrum, 10.0, 2.0, 3.0)[0] == pytest.approx(
            log_evidence(0.3, 1.2, repeated, 10.0, 2.0, 3.0)[0], rel=1e-14
        )


def test_dense_spectrum_cuts_rounding_below_zero():
    row = np.random.default_rng(1).normal(size=(2, 6))
    spectrum = Spectrum.dense(row.T @ row)
    want = np.append(np.zeros(4), np.linalg.svd(row, compute_uv=False)[::-1] ** 2)
    np.testing.assert_allclose(spectrum.values, want, atol=1e-14)
    assert spectrum.values.min() >= 0.0 and np.array_equal(spectrum.counts, np.ones(6))


@pytest.mark.parametrize(("residual", "weight"), [(0.0, 1.0), (1.0, 0.0), (1e-30, 1e-30)])
def test_degenerate_data_stay_finite(residual, weight):
    found = tune(SPECTRUM, observations=0.0, residual=residual, weight=weight)
    assert np.isfinite([found.alpha, found.beta, found.gamma, found.log_evidence]).all()
    assert found.alpha > 0 and found.beta > 0
