"""A process fitted for its integral: units, given hyperparameters, starts, outputs together."""

import numpy as np
import numpyro.distributions as dist
import pytest

import steinquad as sq
from steinquad.measures import as_measure

GIVEN = {"lengthscales": 0.9, "noise": 0.05, "amplitude": 1.3, "mean": "zero"}


def normal(d):
    return as_measure(dist.Normal(0, 1).expand([d]).to_event(1))


def dataset(d, scale=1.0, shift=0.0, n=30):
    x = np.random.default_rng(d).standard_normal((n, d))
    return sq.Dataset(x, shift + scale * np.cos(x).sum(axis=1))


@pytest.mark.parametrize("d", [1, 2, 5])
def test_given_hyperparameters_are_those_of_dense_linear_algebra(d):
    """RBF under a standard normal: kernel means in closed form."""
    data, ell, a = dataset(d), 0.9, 1.3
    method = sq.BayesianQuadrature(kernel=sq.kernels.RBF(), **GIVEN)
    est = method.estimate(data, normal(d))
    square = np.sum((data.x[:, None] - data.x[None]) ** 2, axis=2)
    gram = np.exp(-square / (2 * ell**2)) + (0.05 / a) ** 2 * np.eye(data.n)
    z = (ell**2 / (ell**2 + 1)) ** (d / 2) * np.exp(-np.sum(data.x**2, 1) / (2 * (ell**2 + 1)))
    v0 = (ell**2 / (ell**2 + 2)) ** (d / 2)
    weights = np.linalg.solve(gram, z)
    assert est.mean == pytest.approx(weights @ data.fx[:, 0], rel=1e-9)
    assert est.std == pytest.approx(a * np.sqrt(v0 - weights @ z), rel=1e-7)
    assert est.stats["evaluations"] == 0 and est.stats["amplitude"] == pytest.approx(a)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_units_of_f_change_the_answer_alone(d):
    method = sq.BayesianQuadrature()
    base = method.estimate(dataset(d), normal(d))
    moved = method.estimate(dataset(d, scale=-8.0, shift=3.0), normal(d))
    assert moved.mean == pytest.approx(3 - 8 * base.mean, rel=1e-6)
    assert moved.std == pytest.approx(8 * base.std, rel=1e-3)
    # The likelihood is flat along amplitude and lengthscales together: the last digits decide.
    assert moved.stats["amplitude"] == pytest.approx(8 * base.stats["amplitude"], rel=1e-2)


def test_a_start_is_taken_only_where_it_fits():
    data, method = dataset(2), sq.BayesianQuadrature()
    cold = method.estimate(data, normal(2))
    warm = method.estimate(data, normal(2), sq.Context(start=cold.fit.warm_start))
    assert warm.stats["evaluations"] < cold.stats["evaluations"]
    other = sq.BayesianQuadrature(lengthscales="isotropic").estimate(data, normal(2))
    again = method.estimate(data, normal(2), sq.Context(start=other.fit.warm_start))
    assert (again.mean, again.std) == (cold.mean, cold.std)  # as if there were none


def test_known_noise_gives_every_output_a_process_of_its_own():
    data = dataset(1)
    both = sq.Dataset(data.x, np.column_stack([data.fx, data.x[:, 0] ** 2]), noise=0.05)
    est = sq.BayesianQuadrature().estimate(both, normal(1))
    assert est.stats["lengthscales"].shape == (2, 1)
    for j in range(2):
        alone = sq.Dataset(data.x, both.fx[:, j], noise=0.05)
        one = sq.BayesianQuadrature().estimate(alone, normal(1))
        # The search for hyperparameters ends while it still gains a little, sooner or later by
        # the last bit: on one processor the answers are the same to 1e-9, on another to 1e-7.
        assert est.mean[j] == pytest.approx(one.mean, abs=1e-3 * one.std)
        assert est.std[j] == pytest.approx(one.std, rel=1e-3)


def test_the_model_passes_through_exact_values_and_knows_it():
    data = dataset(1, n=12)
    method = sq.BayesianQuadrature(kernel=sq.kernels.RBF(), **{**GIVEN, "noise": 0.0})
    est = method.estimate(data, normal(1))
    mean, std = est.predict(data.x, return_std=True)
    np.testing.assert_allclose(mean, data.fx[:, 0], atol=1e-6)
    assert std.max() < 1e-3 < est.predict([[8.0]], return_std=True)[1][0]
