"""Independent measures side by side, made by `Product`."""

import jax.numpy as jnp
import numpy as np
import numpyro.distributions as nd
import pytest
import scipy.stats as st

from steinquad.errors import InputError
from steinquad.measures import LogDensity, Measure, Product, as_measure
from steinquad.support import Support


def blocks() -> dict:
    return {
        "ct": st.norm(0.8, 0.1),
        "wind": nd.Weibull(np.array([9.0, 8.0]), 2.0).to_event(1),
        "theta": nd.Uniform(0.0, 45.0),
    }


def test_names_support_and_columns():
    product = Product(blocks())
    parts = [as_measure(b) for b in blocks().values()]
    assert product.names == ("ct", "wind[0]", "wind[1]", "theta")
    assert product.support == Support.box([-np.inf, 0, 0, 0], [np.inf, np.inf, np.inf, 45], 4)
    x = product.sample(50, seed=5)
    columns = [x[:, :1], x[:, 1:3], x[:, 3:]]
    score = np.hstack([m.score(c) for m, c in zip(parts, columns, strict=True)])
    np.testing.assert_array_equal(product.score(x), score)
    total = sum(m.log_density(c) for m, c in zip(parts, columns, strict=True))
    np.testing.assert_allclose(product.log_density(x), total, rtol=1e-14)
    np.testing.assert_allclose(product.icdf(product.cdf(x)), x, rtol=1e-10)
    assert x.dtype == product.score(x).dtype == np.float64


def test_blocks_are_drawn_independently():
    product = Product({"a": nd.Normal(0.0, 1.0), "b": nd.Normal(0.0, 1.0), "c": st.norm()})
    x = product.sample(2000, seed=6)
    correlation = np.corrcoef(x.T)[np.triu_indices(3, 1)]
    # Each is N(0, 1/2000) under independence: |r| > 0.1 has probability below 1e-5.
    assert np.abs(correlation).max() < 0.1
    assert np.array_equal(x, product.sample(2000, seed=6))
    for column in x.T:
        assert st.kstest(column, "norm").pvalue > 1e-4


def test_provides_what_every_block_provides():
    product = Product({"a": st.norm(), "b": LogDensity(lambda x: -jnp.sum(x**4), 1)})
    assert product.provides == {"log_density"}
    with pytest.raises(InputError, match="has no cdf, because block 'b' has none"):
        product.cdf(np.zeros((1, 2)))
    with pytest.raises(InputError, match="has no sample, because block 'b'"):
        product.sample(3, seed=0)


def test_products_nest():
    inner = Product({"a": st.norm(), "b": st.expon()})
    outer = Product({"p": inner, "q": st.norm()})
    assert outer.names == ("p[0]", "p[1]", "q")
    assert isinstance(outer, Measure)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({}, "at least one name"),
        (st.norm(), "pass a mapping"),
        ({1: st.norm()}, "non-empty strings"),
        ({"k": st.poisson(2.0)}, "block 'k': measure poisson is discrete"),
        ({"w": st.multivariate_normal([0.0, 0.0]), "w[0]": st.norm()}, "different strings"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_refusals(value, words):
    with pytest.raises(InputError, match=words):
        Product(value)
