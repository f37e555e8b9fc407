"""Scrambled Sobol points."""

import jax.numpy as jnp
import numpy as np
import numpyro.distributions as nd
import pytest
import scipy.stats as st
from scipy.stats import qmc

from steinquad.designs import Sobol
from steinquad.errors import InputError
from steinquad.measures import LogDensity, Product, as_measure

COVARIANCE = np.array([[1.0, 0.8], [0.8, 2.0]])
NORMAL = as_measure(nd.MultivariateNormal(jnp.array([1.0, -1.0]), jnp.asarray(COVARIANCE)))
DENSITY = LogDensity(lambda x: -x @ x / 2, 2)
MIXED = Product({"a": st.norm(3.0, 2.0), "b": st.uniform(), "c": st.gamma(2.0)})


def test_replicates_are_distinct_groups_in_order():
    sample = Sobol(replicates=4).draw(MIXED, 32, seed=0)
    np.testing.assert_array_equal(sample.groups, np.repeat(np.arange(4), 8))
    parts = sample.x.reshape(4, 8, 3)
    assert len(np.unique(parts[:, 0, 0])) == 4
    assert Sobol().draw(MIXED, 32, seed=0).groups is None


def test_every_elementary_interval_holds_one_point():
    """What makes it a Sobol sequence: 64 points put one in each of 64 equal cells of an axis."""
    u = Sobol().draw(Product({"u": st.uniform(), "v": st.uniform()}), 64, seed=1).x
    for axis in range(2):
        np.testing.assert_array_equal(np.sort(np.floor(64 * u[:, axis])), np.arange(64))
    halves = np.floor(8 * u).astype(int)
    np.testing.assert_array_equal(np.bincount(8 * halves[:, 0] + halves[:, 1], minlength=64), 1)


def test_the_first_points_of_a_longer_sequence():
    short, full = (Sobol().draw(MIXED, n, seed=5).x for n in (50, 64))
    np.testing.assert_array_equal(short, full[:50])  # and no warning, which would be an error


@pytest.mark.parametrize("corner", [0.0, 1.0 - 2.0**-50])
def test_the_corners_of_the_cube_are_finite(monkeypatch, corner):
    monkeypatch.setattr(qmc.Sobol, "random", lambda self, n: np.full((n, self.d), corner))
    x = Sobol().draw(as_measure(st.norm()), 4, seed=0).x
    assert np.isfinite(x).all() and len(np.unique(x)) == 1


def test_a_correlated_normal_through_its_factors():
    """4096 Sobol points reproduce mean and covariance far below the Monte Carlo error of .02."""
    x = Sobol().draw(NORMAL, 4096, seed=0).x
    np.testing.assert_allclose(x.mean(axis=0), [1, -1], atol=1e-3)
    np.testing.assert_allclose(np.cov(x.T), COVARIANCE, atol=1e-2)
    scipys = as_measure(st.multivariate_normal([1.0, -1.0], COVARIANCE))
    np.testing.assert_allclose(Sobol().draw(scipys, 4096, seed=0).x, x, atol=1e-6)


def test_the_spread_of_replicates_covers_the_truth():
    """t with 15 degrees of freedom, false-alarm rate 1e-4 over the ten seeds."""
    limit = st.t(15).ppf(1 - 1e-4 / 20)
    for seed in range(10):
        sample = Sobol(replicates=16).draw(NORMAL, 16 * 64, seed=seed)
        means = np.exp(0.3 * sample.x.sum(axis=1)).reshape(16, 64).mean(axis=1)
        truth = np.exp(0.045 * COVARIANCE.sum())
        error, std = means.mean() - truth, means.std(ddof=1) / 4
        assert abs(error) < limit * std and std < 0.02 * truth


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Sobol(replicates=0), "replicates is 0"),
        (lambda: Sobol(replicates=3).draw(MIXED, 64, seed=0), "n=63"),
        (lambda: Sobol(replicates=8).draw(MIXED, 2, seed=0), "n=8"),
        (lambda: Sobol().draw(DENSITY, 64, seed=0), "has no icdf"),
        (lambda: Sobol().draw(MIXED, 64, seed=-1), "seed is -1"),
    ],
)
def test_bad_input_is_one_sentence(call, message):
    with pytest.raises(InputError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value) and str(caught.value).endswith(".")
