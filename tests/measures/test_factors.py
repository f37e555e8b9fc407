"""Factors: a mixture of products has the density and the cdf of the measure it came from."""

import jax
import numpy as np
import numpyro.distributions as nd
import pytest
import scipy.stats as st

from steinquad.measures import Draws, LogDensity, Measure, Product, Truncated, as_measure
from steinquad.measures.factors import MOST_COMPONENTS
from steinquad.support import Support

RNG = np.random.default_rng(11)
WEIGHTS = np.array([0.2, 0.5, 0.3])
MEANS, STDS = np.array([0.0, 2.5, 3.5]), np.array([0.7, 0.6, 0.3])


def covariance(d: int) -> np.ndarray:
    root = np.random.default_rng(d).normal(size=(d, d))
    return root @ root.T + np.eye(d)


def scalar_mixture() -> nd.Distribution:
    return nd.MixtureSameFamily(nd.Categorical(WEIGHTS), nd.Normal(MEANS, STDS))


class Logistic(Measure):
    """A user's own measure, with a cdf but no inverse."""

    support, names = Support.real(1), ("x0",)
    provides = frozenset({"cdf", "log_density"})

    def score(self, x):
        return -np.tanh(x / 2)

    def log_density(self, x):
        return st.logistic.logpdf(x[:, 0])

    def cdf(self, x):
        return st.logistic.cdf(x)


SCALARS = {
    "numpyro normal": (lambda: nd.Normal(1.0, 2.0), "normal", 1),
    "numpyro half-normal": (lambda: nd.HalfNormal(2.0), "normal", 1),
    "numpyro left": (lambda: nd.TruncatedNormal(1.0, 2.0, low=1.5), "normal", 1),
    "numpyro right": (lambda: nd.TruncatedNormal(1.0, 2.0, high=-1.5), "normal", 1),
    "numpyro sides": (lambda: nd.TruncatedNormal(1.0, 2.0, low=0.0, high=1.5), "normal", 1),
    "numpyro uniform": (lambda: nd.Uniform(-1.0, 2.0), "uniform", 1),
    "numpyro gamma": (lambda: nd.Gamma(2.5, 1.5), "other", 1),
    "numpyro log-normal": (lambda: nd.LogNormal(0.3, 0.5), "other", 1),
    "numpyro mixture": (scalar_mixture, "normal", 3),
    "numpyro families": (
        lambda: nd.MixtureGeneral(
            nd.Categorical(WEIGHTS[:2] / 0.7), [nd.Normal(0.0, 1.0), nd.Cauchy(1.0, 2.0)]
        ),
        None,
        2,
    ),
    "scipy norm": (lambda: st.norm(1.0, 2.0), "normal", 1),
    "scipy truncnorm": (lambda: st.truncnorm(0.5, 3.0, loc=1.0, scale=2.0), "normal", 1),
    "scipy halfnorm": (lambda: st.halfnorm(1.0, 2.0), "normal", 1),
    "scipy uniform": (lambda: st.uniform(1.0, 2.0), "uniform", 1),
    "scipy beta": (lambda: st.beta(2.0, 3.5), "other", 1),
    "scipy Normal": (lambda: st.Normal(mu=1.0, sigma=2.0), "normal", 1),
    "scipy Uniform": (lambda: st.Uniform(a=1.0, b=2.0), "uniform", 1),
    "scipy Mixture": (
        lambda: st.Mixture([st.Normal(mu=1.0, sigma=2.0), st.Normal()], weights=[0.3, 0.7]),
        "normal",
        2,
    ),
    "user's": (Logistic, "other", 1),
    "truncated normal": (lambda: Truncated(nd.Normal(1.0, 2.0), 0.0, None), "normal", 1),
    "truncated twice": (lambda: Truncated(Truncated(st.norm(), 0.0), -1.0, 2.0), "normal", 1),
    "truncated uniform": (lambda: Truncated(st.uniform(), 0.5, None), "uniform", 1),
    "truncated gamma": (lambda: Truncated(st.gamma(2.0), 0.5, 3.0), "other", 1),
    "truncated mixture": (lambda: Truncated(scalar_mixture(), 0.5, 3.3), "normal", 3),
}

VECTORS = {
    "normals": (lambda d: nd.Normal(np.arange(d) / 3, 1.0 + np.arange(d)).to_event(1), 1),
    "expanded": (lambda d: nd.Weibull(2.0, 1.5).expand([d]).to_event(1), 1),
    "sides": (
        lambda d: nd.TruncatedNormal(0.3, 1.0, low=-np.arange(d) / 9, high=np.ones(d)).to_event(1),
        1,
    ),
    "uniforms": (lambda d: nd.Uniform(np.zeros(d), 1.0 + np.arange(d)).to_event(1), 1),
    "gumbels": (lambda d: nd.Gumbel(2.0 + np.arange(d), 1.5).to_event(1), 1),
    "multivariate normal": (lambda d: nd.MultivariateNormal(np.arange(d) / 3, covariance(d)), 1),
    "low rank": (
        lambda d: nd.LowRankMultivariateNormal(np.ones(d), np.ones((d, 1)), np.full(d, 0.5)),
        1,
    ),
    "scipy's multivariate normal": (
        lambda d: st.multivariate_normal(np.arange(d) / 3, covariance(d)),
        1,
    ),
    "mixture of products": (
        lambda d: nd.MixtureSameFamily(
            nd.Categorical(WEIGHTS), nd.Normal(MEANS[:, None] + np.arange(d), 0.8).to_event(1)
        ),
        3,
    ),
    "mixture of truncated normals": (
        lambda d: nd.MixtureGeneral(
            nd.Categorical(WEIGHTS[:2] / 0.7),
            [
                nd.TruncatedNormal(m, 0.5, low=0.0, high=1.0).expand([d]).to_event(1)
                for m in (0.0, 0.7)
            ],
        ),
        2,
    ),
    "mixture of Laplaces": (
        lambda d: nd.MixtureSameFamily(
            nd.Categorical(WEIGHTS), nd.Laplace(np.ones((3, d)), 1 + MEANS[:, None]).to_event(1)
        ),
        3,
    ),
    "mixtures multiplied": (
        lambda d: scalar_mixture().expand([d]).to_event(1),
        lambda d: 3**d,
    ),
    "mixture with one covariance": (
        lambda d: nd.MixtureSameFamily(
            nd.Categorical(WEIGHTS),
            nd.MultivariateNormal(MEANS[:, None] * np.ones(d), covariance(d)),
        ),
        3,
    ),
    "mixture of both, one covariance": (
        lambda d: nd.MixtureGeneral(
            nd.Categorical(WEIGHTS[:2] / 0.7),
            [
                nd.MultivariateNormal(np.ones(d), covariance(d)),
                nd.MultivariateNormal(np.zeros(d), covariance(d)),
            ],
        ),
        2,
    ),
    "product": (
        lambda d: Product(
            {
                "first": st.gamma(2.0),
                **{f"w{i}": Truncated(scalar_mixture(), 0.5, 3.3) for i in range(d // 4)},
                **({"rest": st.multivariate_normal(np.ones(d - 1 - d // 4))} if d > 1 else {}),
            }
        ),
        lambda d: 3 ** (d // 4),
    ),
}


def check(measure: Measure, components: int, tolerance: float = 1e-11) -> None:
    factors = measure.factors()
    assert factors is not None and len(factors.components) == len(factors.weights) == components
    assert factors.weights.sum() == pytest.approx(1.0, abs=1e-14)
    assert factors.independent == (components == 1) and factors.dim == measure.dim
    p = RNG.uniform(size=(20, measure.dim))  # the sampler would take long to compile
    z = [[c.icdf(p[:, i]) for i, c in enumerate(part)] for part in factors.components[:5]]
    x = factors.affine.shift + np.concatenate(np.swapaxes(z, 1, 2)) @ factors.affine.matrix.T
    np.testing.assert_allclose(factors.density(x), np.exp(measure.log_density(x)), rtol=tolerance)
    if "cdf" in measure.provides:
        assert np.array_equal(factors.affine.matrix, np.eye(measure.dim))
        p = measure.cdf(x)
        for i in range(measure.dim):
            ours = [
                w * c[i].cdf(x[:, i])
                for w, c in zip(factors.weights, factors.components, strict=True)
            ]
            np.testing.assert_allclose(np.sum(ours, axis=0), p[:, i], rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("name", SCALARS)
def test_scalar_measures(name):
    make, kind, components = SCALARS[name]
    with jax.enable_x64(True):
        measure = as_measure(make())
    check(measure, components)
    factors = measure.factors()
    assert factors is not None
    p = np.array([1e-9, 1e-3, 0.3, 0.5, 0.8, 0.9999])
    for (coordinate,) in factors.components:
        assert kind in (None, coordinate.kind)
        np.testing.assert_allclose(coordinate.cdf(coordinate.icdf(p)), p, rtol=1e-9, atol=1e-15)
        low, high = coordinate.icdf(np.array([0.0, 1.0]))
        assert Support.box(low, high, 1) == measure.support or measure.support.bounded == ()
        outside = np.array([coordinate.low - 1, coordinate.high + 1])
        assert (coordinate.pdf(outside) == 0).all() and str(coordinate)


# Compiling takes most of the time: the rarer ones in two dimensions only.
EVERY_DIMENSION = ("normals", "multivariate normal", "mixture of products", "product")


@pytest.mark.parametrize(
    ("name", "d"),
    [(name, d) for name in VECTORS for d in ((1, 2, 5) if name in EVERY_DIMENSION else (2,))],
)
def test_vector_measures(name, d):
    make, components = VECTORS[name]
    with jax.enable_x64(True):
        measure = as_measure(make(d))
    check(measure, components(d) if callable(components) else components)


def test_measures_that_do_not_factorize():
    different = np.stack([covariance(2), 2 * covariance(2)])
    mixture = nd.MixtureSameFamily(
        nd.Categorical(np.array([0.5, 0.5])), nd.MultivariateNormal(np.zeros((2, 2)), different)
    )
    student = nd.MultivariateStudentT(4.5, np.zeros(2), np.eye(2))
    for dist in (mixture, student, scalar_mixture().expand([7]).to_event(1)):
        assert as_measure(dist).factors() is None
    assert LogDensity(lambda x: -(x @ x), 2).factors() is None
    assert Draws(np.zeros((3, 1)), np.zeros((3, 1))).factors() is None
    assert Product({"a": st.norm(), "b": LogDensity(lambda x: -(x @ x), 1)}).factors() is None
    assert Product({f"w{i}": scalar_mixture() for i in range(6)}).factors() is not None
    assert 3**6 <= MOST_COMPONENTS < 3**7
    assert Product({f"w{i}": scalar_mixture() for i in range(7)}).factors() is None


def test_diagonal_covariances_stay_in_the_users_coordinates():
    scales = np.array([[1.0, 4.0], [2.0, 0.5]])
    dist = nd.MixtureSameFamily(
        nd.Categorical(np.array([0.5, 0.5])),
        nd.MultivariateNormal(np.zeros((2, 2)), np.stack([np.diag(s) for s in scales])),
    )
    factors = as_measure(dist).factors()
    assert factors is not None and np.array_equal(factors.affine.matrix, np.eye(2))
    got = [[coordinate.scale**2 for coordinate in part] for part in factors.components]
    np.testing.assert_allclose(got, scales, rtol=1e-6)
