"""Training with precisions from the evidence: where it ends, when it stops, how it goes on."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import FrozenLayer, FrozenNetwork, assert_close, normal_data, random_network

from steinquad._types import no_progress
from steinquad.networks.numpy_backend import Batch, values
from steinquad.training.curvature import MatrixFree
from steinquad.training.gauss_newton import GaussNewton, _Run
from steinquad.training.model import CompiledModel, NumpyModel
from steinquad.training.objective import TrainingSet, flatten, predict


def problem(n=60, dim=1, outputs=1, width=4, weights=None):
    network = random_network(1, dim=dim, outputs=outputs, width=width)
    return network, normal_data(1, n=n, dim=dim, outputs=outputs, weights=weights)


def fit(optimizer, network, data, *, flat=True, progress=no_progress, **options):
    return optimizer.fit(network, data, flat=flat, progress=progress, **options)


def with_values(data: TrainingSet, y) -> TrainingSet:
    """The same points with other values."""
    block = data.merged()
    return TrainingSet.build(block.inputs, data.frame, y, block.weights)


# Where it ends ---------------------------------------------------------------------------------


def assert_stationary(run, flat):
    """MacKay's equations and a vanishing gradient, from a covariance made by NumPy."""
    vector, data = run.vector, run.model.data
    alpha, beta, noise = run.alpha, run.beta, run.at.noise
    k, total = len(noise), float(np.sum(data.blocks.weights))
    matrix, gradient, squares = (np.asarray(a) for a in run.model.gram(vector, noise))
    penalized = ~run.integrals if flat else np.ones(len(vector), bool)
    covariance = np.linalg.inv(beta * matrix + alpha * np.diag(penalized.astype(float)))
    gamma = penalized.sum() - alpha * np.trace(covariance[np.ix_(penalized, penalized)])
    w = vector[penalized]
    assert run.gamma == pytest.approx(gamma, rel=0.02)
    assert alpha == pytest.approx(gamma / (w @ w), rel=0.02)
    left = total * k - (k if flat else 0) - gamma
    assert beta == pytest.approx(left / np.sum(squares / noise**2), rel=0.02)
    slope = beta * gradient + alpha * penalized * vector
    # of its two terms, which cancel
    assert np.linalg.norm(slope) < 1e-3 * np.linalg.norm(beta * gradient)


RNG = np.random.default_rng(5)
LAYER = FrozenLayer(RNG.uniform(-1, 1, (5, 2)), RNG.uniform(-1, 1, 5))


@pytest.mark.parametrize("flat", [True, False])
def test_a_linear_model_ends_at_the_equations_of_the_evidence(flat):
    """No curvature, one minimum: regression on fixed features, through the compiled road."""
    network = FrozenNetwork(jnp.zeros(1), jnp.ones((1, 2, 5)), jnp.ones((1, 2)), LAYER)
    data = normal_data(1, n=30, dim=2)
    result = fit(GaussNewton(max_steps=40, patience=40), network, data, flat=flat)
    run, _ = result.state
    assert_stationary(run, flat)
    # the weights are those of a ridge regression with these precisions
    rows = run.model.jacobian(run.vector)
    y = data.merged().y[:, 0]
    prior = np.diag(run.alpha * run.penalized / run.beta)
    want = np.linalg.solve(rows.T @ rows + prior, rows.T @ y)
    assert_close(run.vector, want, rtol=1e-2)  # the last precisions are a step newer


@pytest.mark.parametrize("outputs", [1, 2])
def test_a_network_ends_at_the_equations_of_the_evidence(outputs):
    weights = np.random.default_rng(3).uniform(0.3, 3.0, 80)
    network, data = problem(n=80, outputs=outputs, weights=weights)
    result = fit(GaussNewton(max_steps=150, patience=150), network, data)
    assert_stationary(result.state[0], flat=True)
    y = data.merged().y
    residual = predict(result.network, data) - y
    # theta0 has no penalty: the weighted mean of the residuals vanishes
    np.testing.assert_allclose(weights @ residual / weights.sum(), 0.0, atol=1e-4)


def test_the_objective_falls_between_updates_of_the_precisions():
    network, data = problem()
    run = GaussNewton().start(network, data, flat=True)
    fallen = 0
    for _ in range(30):
        before = run._objective(run.vector, run.at.squares)
        alpha, beta, noise = run.alpha, run.beta, run.at.noise
        if not run.step():
            break
        squares = run.model.squares(run.vector)
        after = beta * np.sum(squares / noise**2) + alpha * (run.penalized @ run.vector**2)
        assert after < before
        fallen += 1
    assert fallen > 10


@pytest.mark.parametrize(("dim", "width", "within"), [(1, 1, 2e-12), (2, 2, 2e-12), (1, 4, 1e-5)])
def test_exact_values_of_a_network_are_fitted_without_trouble(dim, width, within):
    """Noise of 1e-12: precisions up to 1e24 and a curvature that float64 cannot hold.

    Small networks get down to the noise; four units in one dimension go along a valley without
    end, where 200 steps get to 1e-6.
    """
    network, data = problem(n=120, dim=dim, width=width)
    teacher, rng = random_network(7, dim=dim, width=width), np.random.default_rng(0)
    exact = values(teacher, Batch.of(data.merged().inputs, data.frame))
    noise = 1e-12 * exact.std() * rng.normal(size=exact.shape)
    steps = GaussNewton(max_steps=200, patience=200)
    result = fit(steps, network, with_values(data, exact + noise))
    assert np.isfinite(result.losses).all() and np.isfinite(flatten(result.network)).all()
    assert np.sqrt(result.losses.min()) < within * exact.std()
    assert result.stop == ("converged" if width < 4 else "max_steps")
    assert float(result.network.theta0[0]) == pytest.approx(
        float(teacher.theta0[0]), abs=10 * within
    )


def test_outputs_of_very_different_noise_each_get_their_own():
    """The second output is a thousand times noisier and must not spoil the first."""
    network, data = problem(n=150, outputs=2, width=6)
    x = data.merged().inputs.z[:, 0]
    rng = np.random.default_rng(0)
    smooth = np.stack([np.cos(x), np.sin(x)], axis=1)
    noisy = smooth + np.array([1e-4, 1e-1]) * rng.normal(size=smooth.shape)
    both = fit(GaussNewton(max_steps=80), network, with_values(data, noisy))
    run, _ = both.state
    assert 200 < run.at.noise[1] / run.at.noise[0] < 5000
    missed = np.sqrt(np.mean((predict(both.network, data) - smooth) ** 2, axis=0))
    assert missed[0] < 1e-3 and missed[1] < 0.1


# When it stops ---------------------------------------------------------------------------------


def test_the_best_held_out_step_is_kept_and_the_reason_given():
    """Few points and many weights: held-out errors fall and rise again."""
    rng = np.random.default_rng(0)
    network = random_network(1, dim=2, width=8)
    data, validation = normal_data(1, n=30, dim=2), normal_data(2, n=60, dim=2)
    y = data.merged().y + rng.normal(size=(30, 1))
    result = fit(GaussNewton(patience=8), network, with_values(data, y), validation=validation)
    assert result.stop == "converged"
    assert result.reason.startswith("the held-out error was not a tenth lower after")
    assert len(result.validation_errors) == len(result.losses) == len(result.theta0)
    best = int(np.argmin(result.validation_errors))
    assert best < len(result.validation_errors) - 1
    error = np.mean((predict(result.network, validation) - validation.merged().y) ** 2)
    assert error == pytest.approx(result.validation_errors[best], rel=1e-12)
    assert np.array_equal(result.theta0[best], np.asarray(result.network.theta0))


def test_without_held_out_points_the_noise_says_when_to_stop():
    network, data = problem()
    result = fit(GaussNewton(patience=6), network, data)
    assert result.stop == "converged" and len(result.losses) < 300
    stale = max(6, (len(result.losses) // 3))  # half of the steps before the last good one
    assert result.reason == f"the noise was not a tenth lower after {stale} more steps"


def test_an_objective_that_no_step_lowers_has_converged():
    network, data = problem(n=30)
    result = fit(GaussNewton(max_acceleration=-1.0), network, data)  # refuses every step
    assert (result.stop, result.reason) == ("converged", "no step lowers the loss in float64")
    assert len(result.losses) == 0 and result.theta0.shape == (0, 1)
    assert np.array_equal(flatten(result.network), flatten(network))


# How it goes on --------------------------------------------------------------------------------


def test_five_steps_and_five_more_are_ten():
    network, data = problem()
    validation = normal_data(2, n=40, dim=1)
    calls = []
    whole = fit(GaussNewton(max_steps=10), network, data, validation=validation)
    half = fit(GaussNewton(max_steps=5), network, data, validation=validation)
    assert len(half.losses) == 5
    both = fit(
        GaussNewton(max_steps=10),
        network,
        data,
        validation=validation,
        before=half,
        progress=lambda *a: calls.append(a),
    )
    assert np.array_equal(both.losses, whole.losses) and len(both.losses) == 10
    assert np.array_equal(both.theta0, whole.theta0)
    assert np.array_equal(both.validation_errors, whole.validation_errors)
    assert np.array_equal(flatten(both.network), flatten(whole.network))
    assert both.evaluations == whole.evaluations > half.evaluations
    assert [step for step, _, _ in calls] == [6, 7, 8, 9, 10]


def losses(at, steps, **options) -> list[float]:
    """Of so many steps of a network on its data, whichever road that is."""
    run = _Run(at, True, **options)
    return [run.step().loss for _ in range(steps)]


class Straight(NumpyModel):
    """Residuals that do not bend."""

    def bend(self, vector, noise, along):
        return np.zeros_like(vector)


def test_geodesic_acceleration_pays():
    """Negative control: without the bend, the same steps end at a higher mean square."""
    network, data = problem(n=100, width=6)
    exact = with_values(data, np.cos(2 * data.merged().inputs.z))
    bent, straight = (min(losses(kind(network, exact), 40)) for kind in (NumpyModel, Straight))
    assert bent < 0.5 * straight


# The other roads -------------------------------------------------------------------------------


def device_problem(seed=1):
    """Of the shapes of test_model.py, so that both compile once."""
    network = random_network(seed, dim=2, outputs=2, width=4)
    return network, normal_data(seed, n=30, dim=2, outputs=2)


def test_the_compiled_road_trains_alike_and_compiles_once():
    """Within the error of NumPy's second differences; a second fit compiles nothing."""
    by_numpy = losses(NumpyModel(*device_problem()), 8)
    np.testing.assert_allclose(losses(CompiledModel(*device_problem()), 8), by_numpy, rtol=0.05)
    compiled = []

    def listen(event, seconds, **_):
        if "backend_compile" in event:
            compiled.append(event)

    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        jax.jit(lambda a: a + 1.25)(np.arange(7.0)).block_until_ready()
        assert compiled  # negative control: the listener hears
        compiled.clear()
        again = losses(CompiledModel(*device_problem(seed=2)), 8)
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)
    assert len(again) == 8 and not compiled


def test_matrix_free_training_lowers_the_loss_like_the_dense_one():
    """Of a network that NumPy could train, too."""
    dense = losses(CompiledModel(*device_problem()), 8)
    free = fit(GaussNewton(max_steps=8, dense_limit=10), *device_problem())
    assert isinstance(free.state[0].at, MatrixFree)
    assert free.losses[-1] < 0.2 * free.losses[0]
    # precisions are updated every five steps rather than every two
    assert free.losses[-1] < 2 * dense[-1]


def test_single_precision_of_the_curvature_costs_no_accuracy():
    """At most some steps, while the loss falls fast."""
    network, data = problem(n=300, dim=2, width=10)
    exact = with_values(data, np.cos(2 * data.merged().inputs.z.sum(axis=1, keepdims=True)))
    double, single = (_Run(NumpyModel(network, exact, large=large), True) for large in (1000, 0))
    for run in (double, single):
        assert all(run.step() for _ in range(80))
    assert single.loss != double.loss and single.loss < 10 * double.loss
    assert single.beta == pytest.approx(1 / single.loss, rel=0.5)
