"""Observed values as a density: their mean and variance, and everything consistent."""

import numpy as np
import pytest

from steinquad.errors import InputError
from steinquad.measures import Product
from steinquad.measures.empirical import MOST_CENTERS, Empirical


def values(n, seed=0):
    return np.random.default_rng(seed).gamma(3.0, size=n)


@pytest.mark.parametrize("n", [10, 300, MOST_CENTERS, 20_001])
def test_mean_and_variance_are_those_of_the_values(n):
    data = values(n)
    smooth = Empirical(data)
    spread = 12 * data.std()
    x = data.mean() + np.linspace(-spread, spread, 8001)  # the density is smooth and vanishes
    density = np.exp(smooth.log_density(x[:, None])) * (x[1] - x[0])
    mean = density @ x
    np.testing.assert_allclose(density.sum(), 1.0, rtol=1e-9)
    np.testing.assert_allclose(mean, data.mean(), rtol=1e-9)
    np.testing.assert_allclose(density @ (x - mean) ** 2, data.var(), rtol=1e-9)
    score = smooth.score(x[:, None])[:, 0]
    assert abs(density @ score) < 1e-9  # the Stein identity for u = 1,
    np.testing.assert_allclose(density @ (score * (x - mean)), -1.0, rtol=1e-9)  # and for u = x
    wrong = np.exp(smooth.log_density(x[:, None] + 1.0)) * (x[1] - x[0])
    assert abs(wrong @ score) > 0.1


def test_derivatives_and_inverse():
    smooth = Empirical(values(80))
    x, h = np.linspace(-1.0, 12.0, 40)[:, None], 1e-5
    slope = (smooth.log_density(x + h) - smooth.log_density(x - h))[:, None] / (2 * h)
    np.testing.assert_allclose(smooth.score(x), slope, rtol=1e-6, atol=1e-6)
    rise = (smooth.cdf(x + h) - smooth.cdf(x - h)) / (2 * h)
    np.testing.assert_allclose(rise[:, 0], np.exp(smooth.log_density(x)), rtol=1e-6, atol=1e-9)
    p = np.linspace(0.001, 0.999, 30)[:, None]
    np.testing.assert_allclose(smooth.cdf(smooth.icdf(p)), p, rtol=1e-9)


def test_draws_follow_the_cdf_and_seeds_repeat():
    smooth = Empirical(values(200))
    x = smooth.sample(20_000, seed=0)
    u = np.sort(smooth.cdf(x)[:, 0])
    distance = np.abs(u - (np.arange(20_000) + 0.5) / 20_000).max()
    assert distance < 2.0 / np.sqrt(20_000)  # false alarm in 7e-4 of all seeds
    np.testing.assert_array_equal(x, smooth.sample(20_000, seed=0))


def test_it_is_a_block_like_others_and_far_values_do_no_harm():
    smooth = Product({"a": Empirical(values(50)), "b": Empirical(1e6 + values(50))})
    assert {
        "sample",
        "cdf",
        "icdf",
        "log_density",
    } <= smooth.provides and smooth.factors() is not None
    far = Empirical(values(50))
    assert np.isfinite(far.score([[1e8], [-1e8]])).all()


@pytest.mark.parametrize("bad", [[1.0] * 20, [1.0, 2.0], [1.0, np.nan] * 10, ["a"] * 10])
def test_what_is_no_sample_is_refused(bad):
    with pytest.raises(InputError, match="values"):
        Empirical(bad)
