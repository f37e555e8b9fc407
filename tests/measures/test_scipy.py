"""Distributions of scipy.stats: every closed form against numpyro and against differences."""

import numpy as np
import numpyro.distributions as nd
import pytest
import scipy.stats as st

from steinquad.errors import InputError
from steinquad.measures import as_measure
from steinquad.measures.numpyro import NumpyroMeasure
from steinquad.measures.scipy import ScipyMeasure
from steinquad.support import Support

P = np.array([[1e-4], [0.02], [0.3], [0.6], [0.95], [0.9999]])


@pytest.mark.parametrize(
    ("frozen", "dist"),
    [
        (st.norm(0.4, 1.3), nd.Normal(0.4, 1.3)),
        (st.uniform(-1.0, 3.0), nd.Uniform(-1.0, 2.0)),
        (st.gamma(2.2, scale=0.5), nd.Gamma(2.2, 2.0)),
        (st.beta(2.2, 3.3), nd.Beta(2.2, 3.3)),
        (st.t(4.5, 0.4, 1.3), nd.StudentT(4.5, 0.4, 1.3)),
        (st.expon(scale=0.5), nd.Exponential(2.0)),
        (st.lognorm(0.7, scale=np.exp(0.2)), nd.LogNormal(0.2, 0.7)),
        (st.truncnorm(-1.0, 2.0, 0.5, 2.0), nd.TruncatedNormal(0.5, 2.0, low=-1.5, high=4.5)),
        (st.cauchy(0.4, 1.3), nd.Cauchy(0.4, 1.3)),
        (st.logistic(0.4, 1.3), nd.Logistic(0.4, 1.3)),
        (st.gumbel_r(0.4, 1.3), nd.Gumbel(0.4, 1.3)),
    ],
    ids=lambda value: value.dist.name if hasattr(value, "dist") else "",
)
def test_two_roads(frozen, dist):
    ours, other = as_measure(frozen), NumpyroMeasure(dist)
    x = ours.icdf(P)
    np.testing.assert_allclose(ours.score(x), other.score(x), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(ours.log_density(x), other.log_density(x), rtol=1e-9)


def test_numerical_score_of_a_users_family():
    class Quartic(st.rv_continuous):
        def _pdf(self, x):
            return np.exp(-(x**4)) / 1.8128049541109543

    m = as_measure(Quartic(name="quartic")(loc=1.0, scale=2.0))
    x = np.array([[-1.0], [0.5], [3.2]])
    z = (x - 1.0) / 2.0
    np.testing.assert_allclose(m.score(x), -4 * z**3 / 2.0, rtol=1e-8)


def test_a_users_family_with_a_stock_name_is_not_taken_for_it():
    class Normal(st.rv_continuous):
        def _pdf(self, x):
            return np.exp(-(np.abs(x) ** 4)) / 1.8128049541109543

    m = as_measure(Normal(name="norm")())
    np.testing.assert_allclose(m.score(np.array([[0.5]])), [[-0.5]], rtol=1e-8)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_multivariate_normal(d):
    root = np.random.default_rng(d).normal(size=(d, d))
    mean, cov = np.linspace(-1, 2, d), root @ root.T + 0.5 * np.eye(d)
    m = as_measure(st.multivariate_normal(mean, cov))
    x = m.sample(2000, seed=4)
    assert x.shape == (2000, d) and x.dtype == np.float64
    np.testing.assert_allclose(
        m.score(x), -np.linalg.solve(cov, (x - mean).T).T, rtol=1e-9, atol=1e-12
    )
    assert m.log_density(x[:1]).shape == (1,)
    # E[score x^T] = -I; entries of the sample mean have a standard deviation below 0.1 here.
    moment = m.score(x).T @ (x - mean) / len(x)
    assert np.abs(moment + np.eye(d)).max() < 0.5
    assert m.support == Support.real(d) and m.provides == {"log_density", "sample"}


@pytest.mark.parametrize(
    ("obj", "words"),
    [
        (st.poisson(3.0), "discrete"),
        (st.Binomial(n=3, p=0.2), "discrete"),
        (st.norm, "not frozen"),
        (st.poisson, "not frozen"),
        (st.dirichlet([1.0, 2.0]), "only multivariate_normal"),
        (st.wishart(3, np.eye(2)), "only multivariate_normal"),
        (st.norm([0.0, 1.0], 1.0), r"parameters of shape \(2,\)"),
        (st.norm(0.0, -1.0), "outside their domain"),
        (st.multivariate_normal([0.0, 0.0], np.ones((2, 2)), allow_singular=True), "singular"),
        (st.qmc.Halton(1), "pass a continuous scipy.stats"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_refusals(obj, words):
    with pytest.raises(InputError, match=words):
        as_measure(obj)


def test_name_and_class():
    m = ScipyMeasure(st.norm(), names="theta")
    assert m.names == ("theta",)
    assert isinstance(as_measure(st.norm()), ScipyMeasure)
    with pytest.raises(InputError, match=r"outside \[0, 1\]"):
        m.icdf(np.array([[-0.1]]))
