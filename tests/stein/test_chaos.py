"""Products of orthonormal polynomials: mean zero, unit covariance, in independent coordinates."""

import numpy as np
import numpyro.distributions as dist
import scipy.stats as st

import steinquad as sq
from steinquad.measures import as_measure
from steinquad.stein.chaos import Chaos
from steinquad.stein.multi_indices import hyperbolic, products


def test_products_have_mean_zero_and_unit_covariance():
    """1.5e5 draws: entries of the Gram matrix err by less than .05 with chance 1 - 1e-6."""
    measure = as_measure(sq.Product({"a": st.gamma(3.0), "b": st.norm(1.0), "c": st.uniform()}))
    chaos = Chaos.of(measure)
    phi = chaos(measure.sample(150_000, seed=1), hyperbolic((1.0,) * 3, 2, 1.0, 100))
    gram = phi.T @ phi / len(phi)
    np.testing.assert_allclose(gram, np.eye(9), atol=0.12)
    np.testing.assert_allclose(phi.mean(axis=0), 0.0, atol=0.02)


def test_correlated_normals_are_whitened():
    covariance = np.array([[2.0, 0.8], [0.8, 1.0]])
    measure = as_measure(dist.MultivariateNormal(np.array([1.0, -1.0]), covariance))
    chaos = Chaos.of(measure)
    x = measure.sample(5, seed=0)
    z = np.linalg.solve(np.linalg.cholesky(covariance), (x - [1.0, -1.0]).T).T
    np.testing.assert_allclose(
        chaos(x, np.array([[1, 0], [1, 1]])), np.stack([z[:, 0], z[:, 0] * z[:, 1]], 1)
    )


def test_measures_without_independent_coordinates_have_none():
    mixture = dist.MixtureSameFamily(
        dist.Categorical(np.array([0.5, 0.5])), dist.Normal(np.array([-1.0, 1.0]), 1.0)
    )
    assert Chaos.of(as_measure(mixture)) is None
    assert Chaos.of(None) is None


def test_heavy_tails_get_scores():
    chaos = Chaos.of(as_measure(sq.Product({"a": st.t(2.5), "b": st.norm()})))
    assert not chaos.classical
    x = np.array([[0.0, 0.0], [1e6, 0.0]])
    assert np.isfinite(chaos(x, np.array([[3, 0]]))).all()


def test_families_are_kept_with_their_measure():
    measure = as_measure(sq.Product({"a": st.gamma(3.0), "b": st.norm()}))
    assert Chaos.of(measure) is Chaos.of(measure)
    assert Chaos.of(measure) is not Chaos.of(measure, "scores")


def test_products_are_those_of_the_tables():
    chaos = Chaos.of(as_measure(sq.Product({"a": st.gamma(3.0), "b": st.norm(), "c": st.norm()})))
    x = np.random.default_rng(0).gamma(3.0, size=(7, 3))
    indices = np.array([[2, 0, 0], [1, 3, 0]])
    np.testing.assert_array_equal(chaos(x, indices), products(chaos.tables(x, 4), indices))
