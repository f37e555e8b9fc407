"""How far L-BFGS goes and what it says of why it stopped."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest
from helpers import normal_data, random_network

from steinquad._types import no_progress
from steinquad.training.lbfgs import LBFGS
from steinquad.training.objective import Penalty, flatten, predict, value_and_gradient

STRENGTH = 5e-2
PENALTY = Penalty(STRENGTH, theta0=False)


def problem():
    return random_network(1, dim=1, outputs=2), normal_data(1, n=40, dim=1, outputs=2)


def fit(optimizer, network, data, progress=no_progress, flat=True, validation=None):
    return optimizer.fit(network, data, flat=flat, progress=progress, validation=validation)


def gradient(network, data) -> np.ndarray:
    return np.asarray(value_and_gradient(flatten(network), network, data, PENALTY)[1])


def test_runs_to_the_accuracy_of_float64():
    """The loss is flat to 1e-16 where the gradient is 1e-8 times its first size."""
    network, data = problem()
    result = fit(LBFGS(penalty=STRENGTH, rtol=0.0), network, data)
    assert result.stop == "converged"
    assert result.reason == "no step lowers the loss in float64"
    first, last = (np.linalg.norm(gradient(net, data)) for net in (network, result.network))
    assert last < 1e-7 * first
    assert np.all(np.diff(result.losses) <= 0)
    value = value_and_gradient(flatten(result.network), network, data, PENALTY)[0]
    assert float(value) == pytest.approx(result.losses[-1], rel=1e-14)
    assert np.array_equal(result.theta0[-1], result.network.theta0)
    assert result.theta0.shape == (len(result.losses), 2)
    assert len(result.losses) <= result.evaluations < 2 * len(result.losses)
    # theta0 is not penalized, so that its derivative is the mean residual
    left = predict(result.network, data) - np.asarray(data.blocks.y[0])
    np.testing.assert_allclose(left.mean(axis=0), 0.0, atol=1e-7)


def test_slow_progress_is_reported():
    network, data = problem()
    result = fit(LBFGS(penalty=STRENGTH, rtol=0.2, window=10), network, data)
    assert result.stop == "converged"
    assert "in 10 steps, less than rtol = 0.2" in result.reason
    fallen = 1 - result.losses[10:] / result.losses[:-10]
    assert fallen[-1] < 0.2 and np.all(fallen[:-1] >= 0.2)


def test_a_proper_prior_penalizes_theta0_too():
    """At the end the mean residual is balanced by the penalty, which a flat prior has not."""
    network, data = problem()
    result = fit(LBFGS(penalty=STRENGTH, rtol=0.0), network, data, flat=False)
    left = predict(result.network, data) - np.asarray(data.blocks.y[0])
    want = -STRENGTH * np.asarray(result.network.theta0)
    np.testing.assert_allclose(left.mean(axis=0), want, atol=1e-7)
    assert np.abs(want).min() > 1e-4


def test_held_out_points_say_when_to_stop_and_the_best_weights_are_kept():
    """Few noisy points and many weights: the loss falls on while the held-out error rises."""
    rng = np.random.default_rng(0)
    network = random_network(1, dim=2, width=8)
    data, validation = normal_data(1, n=30, dim=2), normal_data(2, n=60, dim=2)
    y = np.asarray(data.blocks.y) + rng.normal(size=data.blocks.y.shape)
    noisy = replace(data, blocks=replace(data.blocks, y=jnp.asarray(y)))
    result = fit(LBFGS(patience=30, rtol=0.0), network, noisy, validation=validation)
    assert result.stop == "converged"
    assert result.reason.startswith("the held-out error was not a tenth lower after")
    steps = len(result.losses)
    assert len(result.validation_errors) == len(result.theta0) == len(result.corrected) == steps
    best = int(np.argmin(result.validation_errors))
    assert best < steps - 1 and np.all(np.diff(result.losses) <= 0)
    missed = validation.merged().y - predict(result.network, validation)
    assert np.mean(missed**2) == pytest.approx(result.validation_errors[best], rel=1e-12)
    assert np.array_equal(result.theta0[best], result.network.theta0)
    corrected = np.asarray(result.network.theta0) + missed.mean(axis=0)
    np.testing.assert_allclose(result.corrected[best], corrected, rtol=1e-12)
    # without them, it goes on to where the loss ends
    alone = fit(LBFGS(rtol=0.0, max_steps=steps + 50), network, noisy)
    assert (
        len(alone.losses) > steps and len(alone.validation_errors) == 0 and alone.corrected is None
    )
    # between two looks the last error stands
    monotone = fit(LBFGS(max_steps=140), network, data, validation=data)
    late = monotone.validation_errors[100:]
    assert len(set(late)) <= 5 and all(late[:9] == late[0])
