"""Distributions made in 32 bits are computed in 64, others stay what they are."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as nd
import pytest
import scipy.stats as st

from steinquad.measures.numpyro import NumpyroMeasure


@pytest.mark.parametrize("flag", [False, True])
def test_float64_whatever_the_flag_and_the_flag_stays(flag):
    with jax.enable_x64(flag):
        m = NumpyroMeasure(nd.Normal(0.1, 0.3))
        x = m.sample(5, seed=0)
        assert x.dtype == m.score(x).dtype == np.float64
        # Draws rounded to 32 bits would survive the round trip unchanged.
        assert not np.array_equal(x, x.astype(np.float32))
        np.testing.assert_allclose(m.score(x), -(x - 0.1) / 0.09, rtol=1e-14)
        assert jnp.ones(()).dtype == (jnp.float64 if flag else jnp.float32)


def test_parameters_in_float32_are_used_at_their_stored_value():
    loc, scale = jnp.float32(0.1), np.array([0.3, 0.7], dtype=np.float32)
    m = NumpyroMeasure(nd.Normal(loc, scale).to_event(1))
    x = np.array([[0.2, -0.4]])
    want = -(x - float(loc)) / scale.astype(np.float64) ** 2
    np.testing.assert_allclose(m.score(x), want, rtol=1e-14)
    reference = st.norm(float(loc), scale.astype(np.float64)).logpdf(x).sum(1)
    np.testing.assert_allclose(m.log_density(x), reference, rtol=1e-14)
    assert m.sample(3, seed=0).dtype == np.float64


def test_derived_parameters_do_not_keep_their_32_bit_rounding():
    # Made with 32-bit types, numpyro's Beta keeps a float32 copy of (2.2, 3.3) for its density.
    m = NumpyroMeasure(nd.Beta(2.2, 3.3))
    x = np.array([[0.17], [0.6]])
    np.testing.assert_allclose(m.log_density(x), st.beta(2.2, 3.3).logpdf(x[:, 0]), rtol=1e-13)
    cov = np.array([[0.3, 0.1], [0.1, 0.7]])
    normal = NumpyroMeasure(nd.MultivariateNormal(np.zeros(2), cov))
    y = np.array([[1.0, 2.0]])
    np.testing.assert_allclose(normal.score(y), -np.linalg.solve(cov, y.T).T, rtol=1e-13)


class Tilted(nd.Normal):
    """A user's own distribution, with state that numpyro's pytree does not know of."""

    def __init__(self, loc, scale, tilt):
        super().__init__(loc, scale)
        self.tilt = tilt

    def log_prob(self, value):
        return super().log_prob(value) - self.tilt * value**4


def test_a_foreign_class_is_evaluated_as_it_is():
    m = NumpyroMeasure(Tilted(np.zeros(2), 1.0, 0.5).to_event(1))
    x = np.array([[0.3, -1.0]])
    np.testing.assert_allclose(m.score(x), -x - 2 * x**3, rtol=1e-13)
