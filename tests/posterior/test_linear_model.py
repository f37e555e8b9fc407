"""A model that is linear in its weights, where Laplace is exact: Bayesian linear regression.

The model is a network of one layer whose hidden weights are constants, run through the library's
own road. What is exact is written down here from features made by hand, in the n dimensions of the
data (kriging) and not in the p dimensions of the weights wherever the two can differ.
"""

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg
import scipy.optimize
import scipy.stats
from helpers import FrozenLayer, FrozenNetwork, assert_close

from steinquad.measures.affine import Affine
from steinquad.points import Points
from steinquad.posterior.laplace import laplace
from steinquad.stein.inputs import stein_inputs
from steinquad.stein.multipliers import Constant
from steinquad.training.evidence import Spectrum, log_evidence
from steinquad.training.model import CompiledModel
from steinquad.training.objective import TrainingSet, flatten, predict, unflatten

N, DIM, WIDTH = 30, 2, 5


RNG = np.random.default_rng(5)
HIDDEN = FrozenLayer(RNG.uniform(-1, 1, (WIDTH, DIM)), RNG.uniform(-1, 1, WIDTH))
X = RNG.normal(size=(N, DIM))
Y = np.stack([np.cos(X.sum(axis=1)), np.sin(2 * X[:, 0])], axis=1) + 0.1 * RNG.normal(size=(N, 2))
WEIGHTS = RNG.uniform(0.3, 3.0, size=N)


def features() -> np.ndarray:
    """S[u] of each weight of the last layer under the standard normal, (n, d h + d)."""
    a = np.tanh(X @ HIDDEN.weights.T + HIDDEN.biases)
    slope = 1 - a**2
    score = -X
    of_weights = score[:, :, None] * a[:, None, :] + slope[:, None, :] * HIDDEN.weights.T
    return np.concatenate([of_weights.reshape(N, -1), score], axis=1)


def design(outputs: int) -> np.ndarray:
    """All rows, (n, k, p), in the order of the flat vector: theta0, weights, biases."""
    phi = features()
    split = DIM * WIDTH
    rows = np.zeros((N, outputs, outputs * (1 + split + DIM)))
    for k in range(outputs):
        rows[:, k, k] = 1.0
        start = outputs + k * split
        rows[:, k, start : start + split] = phi[:, :split]
        start = outputs * (1 + split) + k * DIM
        rows[:, k, start : start + DIM] = phi[:, split:]
    return rows


def model(outputs: int) -> FrozenNetwork:
    return FrozenNetwork(
        jnp.zeros(outputs), jnp.ones((outputs, DIM, WIDTH)), jnp.ones((outputs, DIM)), HIDDEN
    )


def training_set(outputs: int, weights: np.ndarray) -> TrainingSet:
    affine = Affine(np.zeros(DIM), np.eye(DIM), np.eye(DIM))
    inputs, frame = stein_inputs(Points(X, -X), Constant(), affine)
    return TrainingSet.build(inputs, frame, Y[:, :outputs], weights)


def ridge(outputs, weights, noise, ratio: float, flat: bool) -> np.ndarray:
    """The weights of highest posterior density, (p,)."""
    rows = design(outputs) / noise[:, None]
    a = np.einsum("ika,ikb,i->ab", rows, rows, weights)
    prior = np.full(len(a), ratio)
    prior[:outputs] *= not flat
    b = np.einsum("ika,ik,i->a", rows, Y[:, :outputs] / noise, weights)
    return np.linalg.solve(a + np.diag(prior), b)


def marginal(flat: bool, alpha: float, beta: float) -> float:
    """log density of y with all weights integrated out, up to a constant."""
    phi = features()
    if not flat:
        phi = np.column_stack([np.ones(N), phi])
    covariance = phi @ phi.T / alpha + np.eye(N) / beta
    # a flat theta0 leaves what y says of the contrasts between its entries
    keep = scipy.linalg.null_space(np.ones((1, N))) if flat else np.eye(N)
    normal = scipy.stats.multivariate_normal(np.zeros(keep.shape[1]), keep.T @ covariance @ keep)
    return float(normal.logpdf(keep.T @ Y[:, 0]))


def at_the_fixed_point(flat: bool):
    """Alternate between the best weights and the best precisions until neither moves."""
    network, data = model(1), training_set(1, np.ones(N))
    for _ in range(60):
        posterior = laplace(network, data, flat=flat)
        ratio = posterior.precisions.alpha / posterior.precisions.beta
        best = ridge(1, np.ones(N), np.ones(1), ratio, flat)
        moved = np.abs(best - np.asarray(flatten(network))).max()
        network = unflatten(jnp.asarray(best), network)
        if moved < 1e-9:
            return network, posterior
    raise AssertionError(f"still moving by {moved}")


def test_jacobian_is_the_features_made_by_hand():
    data = training_set(2, WEIGHTS)
    g = CompiledModel(model(2), data).gram(flatten(model(2)), np.array([0.7, 1.3]))[0]
    rows = design(2) / np.array([[0.7], [1.3]])
    assert_close(np.asarray(g), np.einsum("ika,ikb,i->ab", rows, rows, WEIGHTS), rtol=1e-12)
    assert_close(predict(model(2), data), design(2) @ np.asarray(flatten(model(2))), rtol=1e-12)


@pytest.mark.parametrize("flat", [True, False])
def test_precisions_are_those_of_highest_evidence(flat):
    """Against Nelder-Mead on the marginal likelihood, to its accuracy."""
    _, posterior = at_the_fixed_point(flat)
    best = scipy.optimize.minimize(
        lambda logs: -marginal(flat, *np.exp(logs)),
        np.zeros(2),
        method="Nelder-Mead",
        options={"xatol": 1e-9, "fatol": 1e-12, "maxiter": 2000},
    )
    found = np.log([posterior.precisions.alpha, posterior.precisions.beta])
    np.testing.assert_allclose(found, best.x, atol=1e-5)


@pytest.mark.parametrize("flat", [True, False])
def test_variance_of_theta0_is_exact(flat):
    """That of generalized least squares: 1 / (1^T V^-1 1), V = Phi Phi^T / alpha + I / beta."""
    _, posterior = at_the_fixed_point(flat)
    alpha, beta = posterior.precisions.alpha, posterior.precisions.beta
    covariance = features() @ features().T / alpha + np.eye(N) / beta
    information = np.ones(N) @ np.linalg.solve(covariance, np.ones(N)) + (0.0 if flat else alpha)
    assert posterior.theta0_covariance[0, 0] == pytest.approx(1 / information, rel=1e-8)
    assert posterior.jitter == 0.0


@pytest.mark.parametrize("flat", [True, False])
def test_mean_of_theta0_is_exact(flat):
    network, posterior = at_the_fixed_point(flat)
    alpha, beta = posterior.precisions.alpha, posterior.precisions.beta
    covariance = features() @ features().T / alpha + np.eye(N) / beta
    weights = np.linalg.solve(covariance, np.ones(N))
    want = weights @ Y[:, 0] / (weights.sum() + (0.0 if flat else alpha))
    assert float(network.theta0[0]) == pytest.approx(want, rel=1e-8)


@pytest.mark.parametrize("flat", [True, False])
def test_log_evidence_is_exact_up_to_a_constant(flat):
    rows = design(1)[:, 0]
    # a flat theta0 is eliminated: the columns are centered
    spectrum = Spectrum.dense(np.cov(rows[:, 1:].T, bias=True) * N if flat else rows.T @ rows)
    differences = []
    for alpha, beta in [(1.0, 1.0), (0.1, 30.0), (4.0, 200.0), (1e-3, 5.0)]:
        best = ridge(1, np.ones(N), np.ones(1), alpha / beta, flat)
        r = rows @ best - Y[:, 0]
        w = best[1:] if flat else best
        value, _, _ = log_evidence(
            np.log(alpha), np.log(beta), spectrum, N - flat, float(r @ r), float(w @ w)
        )
        differences.append(value - marginal(flat, alpha, beta))
    np.testing.assert_allclose(differences, differences[0], rtol=1e-9)
