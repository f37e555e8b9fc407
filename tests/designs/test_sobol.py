"""Scrambled Sobol points."""

import jax.numpy as jnp
import numpy as np
import numpyro.distributions as nd
import pytest
import scipy.stats as st
from scipy.stats import qmc

import steinquad as sq
from steinquad.checking.standard_error import autocorrelated
from steinquad.designs import Sobol
from steinquad.designs.sobol import Scrambled
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


@pytest.mark.parametrize("replicates", [1, 2])
def test_more_points_contain_fewer(replicates):
    """What `nested` promises, of each replicate by itself; no warning, which would be an error."""
    design = Sobol(replicates=replicates)
    few, some, many = (design.draw(MIXED, n * replicates, seed=5).x for n in (50, 64, 128))
    for short, longer in ((few, some), (some, many)):
        parts = zip(np.split(short, replicates), np.split(longer, replicates), strict=True)
        for inner, outer in parts:
            assert {*map(tuple, inner)} < {*map(tuple, outer)}


def in_sequence(dim: int, n: int, seed: int) -> np.ndarray:
    """Normal points in the order of the sequence, as `draw` has them before they are shuffled."""
    child = np.random.SeedSequence(seed).spawn(1)[0]
    whole = 1 << (n - 1).bit_length()
    return st.norm.ppf(Scrambled(dim, child).next(whole)[:n])


@pytest.mark.parametrize("dim", [1, 2, 5])
@pytest.mark.parametrize("n", [200, 256])
def test_consecutive_values_are_not_correlated(dim, n):
    """False alarms are 1e-4 of shuffled samples, 0.012 of the 120 here, for other seeds.

    In the order of the sequence the same points are called a Markov chain again and again.
    """
    measure = Product({f"x{i}": st.norm() for i in range(dim)})
    functions = (
        lambda x: x[:, 0] * x[:, -1],
        lambda x: np.exp(0.3 * x.sum(axis=1)),
        lambda x: np.sum(x[:, :1] > 0.5, axis=1) + x[:, -1] ** 2,
    )
    shuffled, ordered = 0, 0
    for seed in range(40):
        points, sequence = Sobol().draw(measure, n, seed=seed).x, in_sequence(dim, n, seed)
        for f in functions:
            shuffled += autocorrelated(f(points)[:, None])
            ordered += autocorrelated(f(sequence)[:, None])
    assert shuffled == 0 and ordered > 4


def test_an_average_over_sobol_points_is_no_chain():
    """Seeds of which half were suspect; false alarms for others 1e-3 over the ten."""
    for seed in range(100, 110):
        est = sq.integrate(
            lambda x: x[:, 0] * x[:, 4],
            [st.norm()] * 5,
            n=200,
            seed=seed,
            method=sq.MonteCarlo(),
            design=Sobol(),
        )
        assert est.status.code == "converged"


def test_the_order_is_of_the_seed_and_of_each_replicate_by_itself():
    one, two = (Sobol(replicates=2).draw(MIXED, 64, seed=7) for _ in range(2))
    np.testing.assert_array_equal(one.x, two.x)
    u = MIXED.cdf(one.x)[:, 1].reshape(2, 32)
    np.testing.assert_array_equal(np.sort(np.floor(32 * u), axis=1), [np.arange(32)] * 2)
    assert not np.array_equal(*np.argsort(u, axis=1))


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
