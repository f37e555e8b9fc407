"""Regular grids."""

import jax.numpy as jnp
import numpy as np
import numpyro.distributions as nd
import pytest
import scipy.stats as st

from steinquad.designs import Grid
from steinquad.errors import InputError
from steinquad.measures import LogDensity, Product, Truncated, as_measure

COVARIANCE = np.array([[1.0, 0.8], [0.8, 2.0]])
NORMAL = as_measure(nd.MultivariateNormal(jnp.array([1.0, -1.0]), jnp.asarray(COVARIANCE)))
DENSITY = LogDensity(lambda x: -x @ x / 2, 2)
MIXED = Product({"a": st.norm(3.0, 2.0), "b": st.uniform(), "c": st.gamma(2.0)})


def test_grid_points_of_a_normal():
    x = Grid().draw(as_measure(st.norm(2.0, 3.0)), 11, seed=0).x[:, 0]
    np.testing.assert_allclose(x, 2 + 3 * np.arange(-5, 6), rtol=1e-8, atol=1e-8)
    x = Grid(width=2).draw(NORMAL, 9, seed=0).x
    side = np.sqrt(np.diag(COVARIANCE)) * 2
    np.testing.assert_allclose(x.min(axis=0), np.array([1, -1]) - side, rtol=1e-8)
    np.testing.assert_allclose(x.max(axis=0), np.array([1, -1]) + side, rtol=1e-8)
    assert len(np.unique(x.round(8), axis=0)) == 9


def test_grid_is_cut_half_a_spacing_inside_the_support():
    x = Grid().draw(as_measure(st.uniform()), 4, seed=0).x[:, 0]
    np.testing.assert_allclose(x, [0.125, 0.375, 0.625, 0.875])
    half = as_measure(Truncated(st.norm(), low=0.0))
    x = Grid().draw(half, 20, seed=0).x[:, 0]
    mean, deviation = np.sqrt(2 / np.pi), np.sqrt(1 - 2 / np.pi)
    spacing = (mean + 5 * deviation) / 19.5
    np.testing.assert_allclose(x, spacing * (0.5 + np.arange(20)), rtol=1e-7)


def test_grid_of_a_mixture_has_its_moments():
    mixture = as_measure(
        nd.MixtureSameFamily(nd.Categorical(jnp.array([0.25, 0.75])), nd.MultivariateNormal(
            jnp.array([[0.0, 0.0], [4.0, 2.0]]), jnp.asarray(COVARIANCE)))
    )  # fmt: skip
    x = Grid().draw(mixture, 9, seed=0).x
    deviation = np.sqrt(np.diag(COVARIANCE) + 0.1875 * np.array([16, 4]))
    np.testing.assert_allclose(x.mean(axis=0), [3, 1.5], rtol=1e-6)
    np.testing.assert_allclose(np.ptp(x, axis=0), 10 * deviation, rtol=1e-6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Grid(width=0), "width is 0"),
        (lambda: Grid().draw(DENSITY, 4, seed=0), "has no icdf"),
        (lambda: Grid().draw(NORMAL, 10, seed=0), "give n=9 or n=16"),
        (lambda: Grid().draw(NORMAL, 15, seed=0), "give n=9 or n=16"),
        (lambda: Grid().draw(MIXED, 2, seed=0), "give n=8[.]"),
        (lambda: Grid().draw(as_measure(st.cauchy()), 4, seed=0), "tails too heavy"),
    ],
)
def test_bad_input_is_one_sentence(call, message):
    with pytest.raises(InputError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value) and str(caught.value).endswith(".")
