"""The posterior of a network, dense and matrix-free, against one by automatic differentiation."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg
from helpers import assert_close, normal_data, random_network

from steinquad.networks.stein_network import evaluate
from steinquad.posterior.laplace import laplace, output_noise
from steinquad.training.model import ggn_product, model
from steinquad.training.objective import Sizes, flatten, predict, theta0_entries, unflatten

N = 40


def problem(dim: int, outputs: int, sizes: Sizes | None = None):
    weights = np.random.default_rng(8).uniform(0.3, 3.0, size=N)
    data = normal_data(1, n=N, dim=dim, outputs=outputs, weights=weights, sizes=sizes)
    return random_network(2, dim=dim, outputs=outputs, width=4), data, weights


def jacobian(network, data) -> np.ndarray:
    """Of all predictions of one batch by all weights, (n, k, p)."""
    inputs = jax.tree.map(lambda a: jnp.concatenate(list(a))[:N], data.blocks.inputs)

    def predictions(vector):
        return evaluate(unflatten(vector, network), inputs, data.frame)

    return np.asarray(jax.jit(jax.jacrev(predictions))(flatten(network)))


def relative_noise(network, data, weights) -> np.ndarray:
    """Root mean square residual of each output over that of all."""
    y = np.concatenate(np.asarray(data.blocks.y))[:N]
    squares = weights @ (predict(network, data) - y) ** 2
    return np.sqrt(squares / squares.mean())


@pytest.mark.parametrize(("dim", "outputs"), [(1, 1), (2, 1), (5, 2)])
def test_covariance_of_all_weights_against_autodiff(dim, outputs):
    network, data, weights = problem(dim, outputs)
    noise = relative_noise(network, data, weights)
    rows = jacobian(network, data) / noise[:, None]
    gram = np.einsum("ika,ikb,i->ab", rows, rows, weights)
    theta0 = theta0_entries(network)
    for flat in (True, False):
        posterior = laplace(network, data, flat=flat)
        assert_close(posterior.noise, noise, rtol=1e-12)
        assert_close(posterior.ggn, gram, rtol=1e-12)
        alpha, beta = posterior.precisions.alpha, posterior.precisions.beta
        prior = np.full(len(gram), alpha)
        if flat:
            prior[theta0] = 0.0
        want = np.linalg.inv(beta * gram + np.diag(prior))
        found = scipy.linalg.cho_solve((posterior.factor, True), np.eye(len(gram)))
        assert_close(found, want, rtol=1e-8)
        assert_close(posterior.theta0_covariance, want[np.ix_(theta0, theta0)], rtol=1e-8)
        assert (posterior.gap, posterior.jitter) == (0.0, 0.0)


@pytest.mark.parametrize("flat", [True, False])
def test_precisions_are_stationary(flat):
    """MacKay's equations, with gamma from the trace of the posterior covariance."""
    network, data, weights = problem(2, 1)
    posterior = laplace(network, data, flat=flat)
    alpha, beta = posterior.precisions.alpha, posterior.precisions.beta
    counted = ~theta0_entries(network) if flat else np.ones(len(posterior.ggn), bool)
    covariance = scipy.linalg.cho_solve((posterior.factor, True), np.eye(len(counted)))
    gamma = counted.sum() - alpha * np.trace(covariance[np.ix_(counted, counted)])
    assert posterior.precisions.gamma == pytest.approx(gamma, rel=1e-9)
    w = np.asarray(flatten(network))[counted]
    y = np.concatenate(np.asarray(data.blocks.y))
    residual = float(weights @ (predict(network, data) - y)[:, 0] ** 2)
    # 1e-6: where the optimizer of two numbers stops
    assert alpha == pytest.approx(gamma / (w @ w), rel=1e-6)
    assert beta == pytest.approx((weights.sum() - gamma - flat) / residual, rel=1e-6)


def test_product_with_the_ggn_against_the_matrix():
    """In several blocks with padding, two outputs, unequal noise; and the matrix in one block."""
    network, whole, _ = problem(5, 2)
    noise = np.array([0.6, 1.4])
    want = model(network, whole).gram(flatten(network), noise)[0]
    _, cut, _ = problem(5, 2, Sizes(7))
    assert cut.blocks.weights.shape == (6, 7)
    found = model(network, cut).gram(flatten(network), noise)[0]
    assert_close(np.asarray(found), want, rtol=1e-12)
    rng = np.random.default_rng(3)
    for direction in rng.normal(size=(3, len(want))):
        found = ggn_product(flatten(network), network, cut, noise, jnp.asarray(direction))
        assert_close(np.asarray(found), want @ direction, rtol=1e-12)


@pytest.mark.parametrize("flat", [True, False])
@pytest.mark.parametrize("outputs", [1, 2])
def test_matrix_free_bounds_hold_the_dense_variance(flat, outputs):
    network, data, _ = problem(5, outputs)
    dense = laplace(network, data, flat=flat)
    free = laplace(network, data, flat=flat, dense_limit=0)
    assert free.ggn is None and free.factor is None
    # the same precisions for both: those of the matrix-free road
    alpha, beta = free.precisions.alpha, free.precisions.beta
    theta0 = theta0_entries(network)
    prior = np.diag(np.where(theta0 & flat, 0.0, alpha))
    want = np.linalg.inv(beta * dense.ggn + prior)[np.ix_(theta0, theta0)]
    upper = np.diag(free.theta0_covariance)
    assert 0.0 <= free.gap < 0.01
    assert np.all(np.diag(want) <= upper * (1 + 1e-9))
    assert np.all(np.diag(want) >= upper * (1 - free.gap) * (1 - 1e-9))
    np.testing.assert_allclose(free.theta0_covariance, want, atol=0.01 * want.max())
    # and the precisions themselves: the log-determinant has the noise of 8 probes
    assert alpha == pytest.approx(dense.precisions.alpha, rel=0.2)
    assert beta == pytest.approx(dense.precisions.beta, rel=0.2)


@pytest.mark.parametrize("flat", [True, False])
@pytest.mark.parametrize(("dim", "outputs"), [(1, 1), (2, 1), (5, 2)])
def test_fewer_residuals_than_weights_give_the_same(flat, dim, outputs):
    weights = np.random.default_rng(8).uniform(0.3, 3.0, size=N)
    data = normal_data(1, n=N, dim=dim, outputs=outputs, weights=weights)
    network = random_network(2, dim=dim, outputs=outputs, width=12)
    dense = laplace(network, data, flat=flat)
    assert len(flatten(network)) > N * outputs + outputs
    other = laplace(network, data, flat=flat, dense_limit=N * outputs + 8)
    assert other.factor is None and other.gap == 0.0  # another road, and no bounds
    for name in ("alpha", "beta", "gamma"):
        want = getattr(dense.precisions, name)
        assert getattr(other.precisions, name) == pytest.approx(want, rel=1e-4)
    # a covariance of the same precisions
    alpha, beta = other.precisions.alpha, other.precisions.beta
    theta0 = theta0_entries(network)
    prior = np.diag(np.where(theta0 & flat, 0.0, alpha))
    want = np.linalg.inv(beta * dense.ggn + prior)[np.ix_(theta0, theta0)]
    np.testing.assert_allclose(other.theta0_covariance, want, rtol=1e-6, atol=1e-9 * want.max())


def test_matrix_free_depends_on_its_seed_only():
    network, data, _ = problem(5, 1)
    first, again, other = (
        laplace(network, data, flat=True, seed=s, dense_limit=0) for s in (0, 0, 1)
    )
    assert np.array_equal(first.theta0_covariance, again.theta0_covariance)
    assert not np.array_equal(first.theta0_covariance, other.theta0_covariance)


def noise_of(network, data):
    return output_noise(model(network, data), flatten(network))


def test_noise_follows_the_units_of_each_output():
    """The second output in units a hundred times smaller: the model and the data with it."""
    network, data, _ = problem(2, 2)
    units = jnp.asarray([1.0, 100.0])
    field = network.field
    scaled = replace(
        network,
        theta0=network.theta0 * units,
        field=replace(
            field,
            weights=(*field.weights[:-1], field.weights[-1] * units[:, None, None]),
            biases=(*field.biases[:-1], field.biases[-1] * units[:, None]),
        ),
    )
    other = replace(data, blocks=replace(data.blocks, y=data.blocks.y * units))
    before, _ = noise_of(network, data)
    after, residual = noise_of(scaled, other)
    assert_close(after / after[0], before / before[0] * np.asarray(units), rtol=1e-12)
    assert np.mean(after**2) == pytest.approx(1.0, rel=1e-12)
    y = np.concatenate(np.asarray(other.blocks.y))
    r = (predict(scaled, other) - y) / after
    want = np.sum(np.asarray(data.blocks.weights).T * r**2)
    assert residual == pytest.approx(want, rel=1e-12)


def test_one_output_or_an_exact_one_has_unit_noise():
    network, data, _ = problem(2, 2)
    exact = predict(network, data)
    y = data.blocks.y.at[0, :, 0].set(jnp.asarray(exact[:, 0]))
    half = replace(data, blocks=replace(data.blocks, y=y))
    noise, residual = noise_of(network, half)
    assert np.isfinite(noise).all() and residual > 0
