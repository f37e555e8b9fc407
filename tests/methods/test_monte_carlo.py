"""The average: its error for independent, weighted and dependent draws, and what it refuses."""

import numpy as np
import pytest
import scipy.signal

from steinquad.checking.standard_error import standard_error
from steinquad.dataset import Dataset
from steinquad.errors import InputError
from steinquad.methods.monte_carlo import MonteCarlo

METHOD = MonteCarlo()
CHAINS = np.repeat(np.arange(4), 50)


def chains(seed=0, count=4, n=500, k=1, phi=0.9):
    noise = np.random.default_rng(seed).standard_normal((count, n, k))
    x = scipy.signal.lfilter([1.0], [1.0, -phi], noise, axis=1)
    return x.reshape(count * n, k), np.repeat(np.arange(count), n)


def test_independent_draws():
    x = np.random.default_rng(0).standard_normal(400)
    est = METHOD.estimate(Dataset(x, x**2), None)
    assert est.mean == pytest.approx(np.mean(x**2))
    assert est.std == pytest.approx(np.std(x**2, ddof=1) / 20)
    assert est.status.code == "converged" and 20 < est.dof < 399  # squares have heavy tails
    light = METHOD.estimate(Dataset(x, np.sin(x)), None)
    assert light.dof == 399
    assert est.stats["effective_sample_size"] == 400


def test_chains_count_for_less():
    x, groups = chains()
    est = METHOD.estimate(Dataset(x, x[:, 0], groups=groups), None)
    blind = METHOD.estimate(Dataset(x, x[:, 0]), None)
    assert est.mean == pytest.approx(blind.mean) and est.status.code == "converged"
    assert 3 < est.std / blind.std < 6  # sqrt(19) = 4.4
    assert 2000 / 36 < est.stats["effective_sample_size"] < 2000 / 9
    assert blind.status.code == "suspect" and "pass groups=" in blind.status.message


def test_covariance_of_several_outputs_has_the_variances_of_the_std():
    x, groups = chains(k=2)
    f = np.column_stack([x[:, 0], x[:, 0] + 0.1 * x[:, 1], np.full(len(x), 2.0)])
    est = METHOD.estimate(Dataset(x, f, groups=groups), None)
    std, dof = standard_error(f, np.ones(len(f)), groups)
    np.testing.assert_allclose(est.std, std)
    np.testing.assert_allclose(np.diag(est.covariance), std**2)
    assert est.dof == dof and np.all(np.linalg.eigvalsh(est.covariance) > -1e-15)
    correlation = est.covariance[0, 1] / (std[0] * std[1])
    assert correlation == pytest.approx(np.corrcoef(f[:, 0], f[:, 1])[0, 1])


def test_weights():
    x = np.random.default_rng(0).standard_normal(1000)
    est = METHOD.estimate(Dataset(x, x, weights=np.exp(0.5 * x)), None)
    assert abs(est.mean - 0.5) < 5 * est.std and est.status.code == "converged"
    assert est.stats["effective_sample_size"] < 1000
    few = METHOD.estimate(Dataset(x, x, weights=np.exp(20 * x)), None)
    assert few.status.code == "suspect" and "effective sample size of" in few.status.message


def test_no_average_of_what_is_no_sample():
    data = Dataset([1.0, 2.0, 3.0], [1.0, 2.0, 3.0], sampled=False)
    reason = METHOD.obstacle(data, None)
    assert reason is not None and "not a sample" in reason and reason.endswith(".")
    with pytest.raises(InputError) as caught:
        METHOD.estimate(data, None)
    assert str(caught.value) == reason
    assert METHOD.obstacle(Dataset([1.0, 2.0], [1.0, 2.0]), None) is None
    constant = METHOD.estimate(Dataset([1.0, 2.0], [3.0, 3.0], sampled=False), None)
    assert constant.mean == 3.0 and constant.status.code == "constant"


@pytest.mark.parametrize(
    "options",
    [{}, {"groups": CHAINS}, {"weights": 1.0 + CHAINS}],
    ids=["draws", "chains", "weighted"],
)
def test_constants_beside_a_varying_output_are_exact(options):
    """The average of a constant rounds, and no rounding is a std, nor far from the average."""
    constants = [3.0, 0.1, 1e8]
    for seed in range(20):
        x = np.random.default_rng(seed).standard_normal(200)
        fx = np.column_stack([np.tile(constants, (200, 1)), np.cos(x)])
        est = METHOD.estimate(Dataset(x, fx, **options), None)
        np.testing.assert_array_equal(est.mean[:3], constants)
        assert not est.std[:3].any() and est.std[3] > 0 and est.status.code == "converged"
