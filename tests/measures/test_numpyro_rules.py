"""How numpyro is called, and the box that a distribution lives on."""

import jax
import numpy as np
import numpyro.distributions as nd
import pytest
import scipy.stats as st

from steinquad.measures.numpyro import NumpyroMeasure
from steinquad.support import Support

RNG = np.random.default_rng(7)


def test_bounds_of_each_coordinate():
    low, high = np.array([-1.0, 0.0, 0.5]), np.array([1.0, 2.0, 3.0])
    m = NumpyroMeasure(nd.TruncatedNormal(0.0, 1.0, low=low, high=high).to_event(1))
    assert m.support == Support.box(low, high, 3)
    p = RNG.uniform(size=(20, 3))
    x = m.icdf(p)
    assert m.support.contains(x).all()
    np.testing.assert_allclose(m.cdf(x), p, rtol=1e-12)
    np.testing.assert_allclose(m.cdf(x), st.truncnorm(low, high).cdf(x), rtol=1e-12)
    np.testing.assert_allclose(m.score(x), -x, rtol=1e-12)
    u = NumpyroMeasure(nd.Uniform(low, high).to_event(1))
    assert u.support == Support.box(low, high, 3)
    np.testing.assert_allclose(u.cdf(x), (x - low) / (high - low), rtol=1e-13)


@pytest.mark.parametrize(
    ("dist", "low", "high"),
    [
        (nd.TruncatedNormal(0.0, 1.0, low=-0.5), -0.5, np.inf),
        (nd.TruncatedNormal(0.0, 1.0, high=0.1), -np.inf, 0.1),
        (nd.TruncatedNormal(0.0, 1.0, low=-0.5, high=0.1), -0.5, 0.1),
        (nd.HalfCauchy(1.0), 0.0, np.inf),
        (nd.Pareto(1.5, 3.0), 1.5, np.inf),
        (nd.LogUniform(0.1, 2.0), 0.1, 2.0),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_supports(dist, low, high):
    assert NumpyroMeasure(dist).support == Support.box(low, high, 1)


def test_support_that_a_transform_hides():
    # numpyro declares all of R for both.
    shifted = nd.TransformedDistribution(
        nd.HalfNormal(1.0), nd.transforms.AffineTransform(1.0, 2.0)
    )
    assert NumpyroMeasure(shifted).support == Support.box(1.0, np.inf, 1)
    turned = nd.TransformedDistribution(
        nd.Uniform(0.0, 1.0).expand([2]).to_event(1), nd.transforms.AffineTransform(1.0, -2.0)
    )
    assert NumpyroMeasure(turned).support == Support.box(-1.0, 1.0, 2)


def test_a_right_tail_beyond_the_cdfs_digits_has_no_cdf():
    m = NumpyroMeasure(nd.TruncatedNormal(0.0, 1.0, low=8.0))
    assert m.provides == {"log_density", "sample"}
    assert NumpyroMeasure(nd.TruncatedNormal(0.0, 1.0, low=3.0)).provides >= {"cdf"}


def test_a_caller_with_strict_promotion():
    mixture = nd.MixtureSameFamily(
        nd.Categorical(np.array([0.5, 0.5])), nd.Normal(np.zeros(2), 1.0)
    )
    x = np.array([[0.5], [1.5]])
    with jax.numpy_rank_promotion("raise"), jax.numpy_dtype_promotion("strict"):
        np.testing.assert_allclose(NumpyroMeasure(mixture).score(x), -x, rtol=1e-14)
