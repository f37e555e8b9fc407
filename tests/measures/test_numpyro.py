"""numpyro distributions: shapes, precision, refusals, and how often they compile."""

import jax
import numpy as np
import numpyro.distributions as nd
import pytest
import scipy.stats as st

from steinquad.errors import InputError
from steinquad.measures import as_measure
from steinquad.measures import numpyro as module
from steinquad.measures.numpyro import NumpyroMeasure
from steinquad.support import Support

RNG = np.random.default_rng(7)


def covariance(d: int) -> np.ndarray:
    root = RNG.normal(size=(d, d))
    return root @ root.T + np.eye(d)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_independent_normals(d):
    loc, scale = np.arange(d) / 3, 1.0 + np.arange(d)
    m = NumpyroMeasure(nd.Normal(loc, scale).to_event(1))
    x = RNG.normal(size=(6, d))
    assert m.dim == d and m.names == tuple(f"x{i}" for i in range(d))
    assert m.support == Support.real(d)
    np.testing.assert_allclose(m.score(x), -(x - loc) / scale**2, rtol=1e-13)
    np.testing.assert_allclose(m.log_density(x), st.norm(loc, scale).logpdf(x).sum(1), rtol=1e-13)
    np.testing.assert_allclose(m.cdf(x), st.norm(loc, scale).cdf(x), rtol=1e-13)
    np.testing.assert_allclose(m.icdf(m.cdf(x)), x, rtol=1e-12)
    assert m.sample(4, seed=0).shape == (4, d)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_repeated_by_expand(d):
    m = NumpyroMeasure(nd.Weibull(2.0, 1.5).expand([d]).to_event(1))
    reference = st.weibull_min(1.5, scale=2.0)
    x = m.sample(5, seed=1)
    assert x.shape == (5, d) and (x > 0).all() and m.support == Support.box(0.0, np.inf, d)
    np.testing.assert_allclose(m.score(x), 0.5 / x - 0.75 * np.sqrt(x / 2), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(m.cdf(x), reference.cdf(x), rtol=1e-13)
    p = RNG.uniform(size=(5, d))  # numpyro has no inverse: root finding, each its own coordinate
    np.testing.assert_allclose(m.icdf(p), reference.ppf(p), rtol=1e-13)


def test_inverse_of_the_gamma():
    p = np.array([[1e-12], [1e-3], [0.4], [0.999]])
    for shape in (0.05, 2.5, 300.0):
        m = NumpyroMeasure(nd.Gamma(shape, 1.5))
        np.testing.assert_allclose(m.icdf(p), st.gamma(shape, scale=1 / 1.5).ppf(p), rtol=1e-11)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_multivariate_normal(d):
    mean, cov = np.linspace(-1, 1, d), covariance(d)
    with jax.enable_x64(True):
        m = NumpyroMeasure(nd.MultivariateNormal(mean, cov))
    x = RNG.normal(size=(6, d))
    np.testing.assert_allclose(m.score(x), -np.linalg.solve(cov, (x - mean).T).T, rtol=1e-11)
    np.testing.assert_allclose(m.log_density(x), st.multivariate_normal(mean, cov).logpdf(x))
    assert m.provides == {"log_density", "sample"}


def test_draws_of_a_multivariate_normal():
    mean, cov = np.array([1.0, -2.0]), np.array([[2.0, 0.9], [0.9, 1.0]])
    with jax.enable_x64(True):
        m = NumpyroMeasure(nd.MultivariateNormal(mean, cov))
    draws = m.sample(2000, seed=2)
    assert draws.shape == (2000, 2) and draws.dtype == np.float64
    white = np.linalg.solve(np.linalg.cholesky(cov), (draws - mean).T)
    # Each fails with probability 1e-4; without the correlation the second must fail.
    assert st.kstest(white[0], "norm").pvalue > 1e-4
    assert st.kstest(white[1], "norm").pvalue > 1e-4
    assert st.kstest(draws[:, 1] - mean[1] + white[0], "norm").pvalue < 1e-4


def test_multivariate_student():
    df, scale = 4.5, np.linalg.cholesky(covariance(3))
    with jax.enable_x64(True):
        m = NumpyroMeasure(nd.MultivariateStudentT(df, np.zeros(3), scale))
    x = RNG.normal(size=(5, 3))
    z = np.linalg.solve(scale @ scale.T, x.T).T
    want = -(df + 3) * z / (df + np.sum(x * z, axis=1, keepdims=True))
    np.testing.assert_allclose(m.score(x), want, rtol=1e-11)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_vector_mixture(d):
    means, weights = np.stack([np.zeros(d), np.ones(d)]), np.array([0.25, 0.75])
    parts = nd.Normal(means, 0.5).to_event(1)
    m = NumpyroMeasure(nd.MixtureSameFamily(nd.Categorical(weights), parts))
    x = RNG.normal(size=(6, d))
    dens = np.stack(
        [w * np.exp(-2 * ((x - mu) ** 2).sum(1)) for w, mu in zip(weights, means, strict=True)]
    )
    pull = np.stack([-4 * (x - mu) for mu in means])
    want = (dens[:, :, None] * pull).sum(0) / dens.sum(0)[:, None]
    np.testing.assert_allclose(m.score(x), want, rtol=1e-9, atol=1e-12)
    assert "cdf" not in m.provides  # the coordinates of a mixture are dependent


def test_mixture_of_families_has_an_inverse_by_root_finding():
    mix = nd.MixtureGeneral(
        nd.Categorical(np.array([0.4, 0.6])), [nd.Normal(0.0, 1.0), nd.Cauchy(1.0, 2.0)]
    )
    m = NumpyroMeasure(mix)
    p = np.array([[1e-3], [0.3], [0.99]])
    np.testing.assert_allclose(m.cdf(m.icdf(p)), p, rtol=1e-12)


@pytest.mark.parametrize(
    ("dist", "words"),
    [
        (nd.Normal(np.zeros(3), 1.0), r"batch shape \(3,\); call \.to_event\(1\)"),
        (nd.Normal(np.zeros((2, 3)), 1.0).to_event(1), r"call \.to_event\(1\)"),
        (nd.Normal(np.zeros((2, 3)), 1.0).to_event(2), "matrices are not supported"),
        (nd.LKJCholesky(3, 1.0), "matrices are not supported"),
        (nd.Poisson(3.0), "discrete"),
        (nd.Bernoulli(0.4), "discrete"),
        (nd.Dirichlet(np.ones(3)), "simplex"),
        (nd.VonMises(0.0, 1.0), "circular"),
        (nd.Delta(0.0), "point mass"),
        (nd.ImproperUniform(nd.constraints.real, (), ()), "no total mass"),
        (
            nd.TransformedDistribution(
                nd.Normal(0.0, 1.0).expand([3]).to_event(1), nd.transforms.OrderedTransform()
            ),
            "ordered",
        ),
        (
            nd.TransformedDistribution(
                nd.Uniform(0.0, 1.0).expand([2]).to_event(1),
                nd.transforms.LowerCholeskyAffine(np.zeros(2), np.array([[1.0, 0.0], [0.5, 1.0]])),
            ),
            "not a box",
        ),
        (
            nd.MixtureGeneral(
                nd.Categorical(np.array([0.4, 0.6])), [nd.Uniform(0.0, 1.0), nd.Uniform(2.0, 3.0)]
            ),
            "jumps inside the support",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_refusals(dist, words):
    with pytest.raises(InputError, match=words):
        as_measure(dist)


def test_wrong_arguments():
    m = NumpyroMeasure(nd.Normal(0.0, 1.0))
    with pytest.raises(InputError, match=r"pass points of shape \(n, 1\)"):
        m.score(np.zeros((3, 2)))
    with pytest.raises(InputError, match=r"outside \[0, 1\]"):
        m.icdf(np.array([[1.5]]))
    with pytest.raises(InputError, match="n is 0"):
        m.sample(0, seed=1)
    with pytest.raises(InputError, match="seed is 'a'"):
        m.sample(1, seed="a")
    with pytest.raises(InputError, match="give 1 different strings"):
        NumpyroMeasure(nd.Normal(0.0, 1.0), names=["a", "b"])
    with pytest.raises(InputError, match="has no cdf; it provides log_density, sample, score"):
        NumpyroMeasure(nd.Kumaraswamy(2.0, 3.0)).cdf(np.zeros((1, 1)))
    with pytest.raises(InputError, match="pass a numpyro distribution"):
        NumpyroMeasure(3.0)


def test_draws_by_inversion_where_numpyro_cannot_sample():
    m = NumpyroMeasure(nd.TruncatedDistribution(nd.StudentT(4.0, 0.0, 1.0), low=0.5))
    x = m.sample(200, seed=5)
    assert m.support == Support.box(0.5, np.inf, 1) and m.support.contains(x).all()
    below = st.t(4.0).cdf(0.5)
    uniform = (st.t(4.0).cdf(x[:, 0]) - below) / (1 - below)
    # Fails with probability 1e-4; the untruncated cdf must fail.
    assert st.kstest(uniform, "uniform").pvalue > 1e-4
    assert st.kstest(st.t(4.0).cdf(x[:, 0]), "uniform").pvalue < 1e-4


def test_a_second_measure_of_the_same_structure_does_not_compile():
    x = np.linspace(0.1, 0.9, 11)[:, None] * np.ones(3)

    def use(loc, scale):
        m = NumpyroMeasure(nd.Normal(loc, scale).to_event(1))
        m.score(x), m.log_density(x), m.cdf(x), m.icdf(x), m.sample(11, seed=0)
        return {f.__name__: call._cache_size() for f, call in module.COMPILED.items()}

    first = use(np.zeros(3), np.ones(3))
    assert use(np.full(3, 5.0), np.full(3, 0.2)) == first
    # Negative control: another structure does compile.
    NumpyroMeasure(nd.Cauchy(np.zeros(3), np.ones(3)).to_event(1)).score(x)
    assert module.COMPILED[module._scores]._cache_size() == first["_scores"] + 1
