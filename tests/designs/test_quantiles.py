"""Points from uniform ones, and moments by quadrature."""

import jax.numpy as jnp
import numpy as np
import numpyro.distributions as nd
import pytest
import scipy.stats as st

from steinquad.designs.quantiles import from_uniform, moments
from steinquad.errors import InputError
from steinquad.measures import Product, as_measure

LAWS = [st.norm(3.0, 2.0), st.uniform(-1.0, 4.0), st.gamma(2.0), st.expon(), st.t(12)]


@pytest.mark.parametrize("d", (1, 2, 5))
def test_moments_and_quantiles_of_products(d):
    measure = Product({f"x{i}": law for i, law in enumerate(LAWS[:d])})
    mean, deviation = moments(measure)
    np.testing.assert_allclose(mean, [law.mean() for law in LAWS[:d]], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(deviation, [law.std() for law in LAWS[:d]], rtol=1e-4)
    u = np.random.default_rng(0).random((7, d))
    by_hand = np.column_stack([law.ppf(u[:, i]) for i, law in enumerate(LAWS[:d])])
    np.testing.assert_allclose(from_uniform(measure, u), by_hand, rtol=1e-8)


def test_a_mixture_has_moments_but_no_way_from_the_cube():
    parts = nd.MultivariateNormal(jnp.array([[0.0, 0.0], [4.0, 2.0]]), jnp.eye(2))
    mixture = as_measure(nd.MixtureSameFamily(nd.Categorical(jnp.array([0.5, 0.5])), parts))
    mean, deviation = moments(mixture)
    np.testing.assert_allclose(mean, [2.0, 1.0], rtol=1e-8)
    np.testing.assert_allclose(deviation, np.sqrt([1 + 4, 1 + 1]), rtol=1e-8)
    with pytest.raises(InputError, match="is a mixture without icdf"):
        from_uniform(mixture, np.full((2, 2), 0.5))


def test_tails_too_heavy_are_named_by_their_coordinate():
    with pytest.raises(InputError, match="standard deviation in coordinate b; use design=IID"):
        moments(Product({"a": st.norm(), "b": st.t(2)}))
