"""Averages over scrambled replicates: accurate, and with an honest std."""

import numpy as np
import pytest
import scipy.stats as st

from steinquad.dataset import Dataset
from steinquad.designs import Sobol
from steinquad.errors import InputError
from steinquad.measures import Product
from steinquad.methods.base import Method
from steinquad.methods.quasi_monte_carlo import QuasiMonteCarlo

MEASURE = Product({"a": st.norm(), "b": st.uniform()})
REPEATS = 200


def integrand(x):
    return np.exp(0.5 * x[:, 0] + x[:, 1])


TRUTH = np.exp(0.125) * (np.e - 1)


def run(method, n, seed, f=integrand):
    points = method.design(MEASURE).draw(MEASURE, n, seed=seed)
    data = Dataset(points.x, f(points.x), groups=points.groups)
    return method.estimate(data, MEASURE)


def test_std_is_honest():
    """Over 200 seeds, within four standard deviations of what 15 degrees of freedom allow.

    The root mean square of 200 errors has a relative deviation of 5 %, that of the stds of 1.3 %.
    """
    method = QuasiMonteCarlo()
    found = [run(method, 16 * 32, seed) for seed in range(REPEATS)]
    errors = np.array([est.mean - TRUTH for est in found])
    stds = np.array([est.std for est in found])
    ratio = np.sqrt(np.mean(errors**2) / np.mean(stds**2))
    assert abs(ratio - 1) < 4 * 0.052
    inside = np.mean([est.interval()[0] < TRUTH < est.interval()[1] for est in found])
    assert abs(inside - 0.95) < 4 * np.sqrt(0.95 * 0.05 / REPEATS)
    plain = integrand(MEASURE.sample(100_000, seed=0)).std() / np.sqrt(16 * 32)
    assert np.median(stds) < 0.2 * plain  # of Monte Carlo with as many points


def test_what_it_reports():
    method = QuasiMonteCarlo(replicates=8)
    assert isinstance(method, Method) and method.design(MEASURE) == Sobol(replicates=8)
    est = run(method, 8 * 16, 0)
    points = method.design(MEASURE).draw(MEASURE, 8 * 16, seed=0)
    means = integrand(points.x).reshape(8, 16).mean(axis=1)
    assert est.mean == pytest.approx(means.mean(), rel=1e-14)
    assert est.std == pytest.approx(means.std(ddof=1) / np.sqrt(8))
    assert est.dof == 7 and est.stats["replicates"] == 8 and est.method == "QuasiMonteCarlo"
    assert est.status.code == "converged" and est.predict(points.x[:3]).shape == (3,)


def test_several_outputs_and_constants():
    def two(x):
        return np.column_stack([integrand(x), x[:, 0], np.full(len(x), 3.0)])

    est = run(QuasiMonteCarlo(), 256, 1, two)
    assert est.covariance.shape == (3, 3) and est.std[2] == pytest.approx(0, abs=1e-15)
    assert np.all(np.abs(est.mean - [TRUTH, 0, 3]) <= 6 * est.std + 1e-15)
    assert run(QuasiMonteCarlo(), 64, 1, lambda x: np.ones(len(x))).status.code == "constant"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "data has no groups"),
        ({"groups": [0, 0, 0, 0]}, "data has 1 group but"),
        ({"groups": [0, 0, 1, 1], "sampled": False}, "not a sample"),
    ],
)
def test_refusals_are_one_sentence(options, message):
    data = Dataset(np.arange(4.0), np.arange(4.0), **options)
    reason = QuasiMonteCarlo().obstacle(data, None)
    assert reason is not None and message in reason and reason.endswith(".")
    with pytest.raises(InputError) as caught:
        QuasiMonteCarlo().estimate(data, None)
    assert str(caught.value) == reason
    with pytest.raises(InputError, match="replicates is 1"):
        QuasiMonteCarlo(replicates=1)
