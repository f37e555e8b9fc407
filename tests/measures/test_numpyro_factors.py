"""The components of numpyro distributions: their density is that of numpyro."""

import jax.numpy as jnp
import numpy as np
import numpyro.distributions as nd
import pytest
import scipy.stats as st

from steinquad.measures._numpyro_factors import SHORTEST_BATCH, terms_of
from steinquad.measures.factors import Factors, Gaussian

RNG = np.random.default_rng(1)
COVARIANCE = np.array([[2.0, 0.6], [0.6, 1.0]])
MIXED = nd.MixtureSameFamily(
    nd.Categorical(probs=np.array([0.2, 0.8])), nd.Normal(np.array([-1.0, 2.0]), 0.7)
)
KNOWN = {
    "normal": (nd.Normal(1.0, 2.0), 1, 1),
    "half normal": (nd.HalfNormal(2.0), 1, 1),
    "uniform": (nd.Uniform(-1.0, 3.0), 1, 1),
    "gamma": (nd.Gamma(3.0, 2.0), 1, 1),
    "left cut": (nd.TruncatedNormal(0.5, 1.5, low=0.0), 1, 1),
    "right cut": (nd.TruncatedNormal(0.5, 1.5, high=1.0), 1, 1),
    "both cut": (nd.TruncatedNormal(0.5, 1.5, low=-1.0, high=1.0), 1, 1),
    "product": (nd.Normal(np.zeros(3), np.array([1.0, 2.0, 3.0])).to_event(1), 3, 1),
    "expanded": (nd.Gamma(2.0, 1.0).expand([2]).to_event(1), 2, 1),
    "correlated": (nd.MultivariateNormal(np.ones(2), COVARIANCE), 2, 1),
    "mixture": (MIXED, 1, 2),
    "mixture of kinds": (
        nd.MixtureGeneral(
            nd.Categorical(probs=np.array([0.5, 0.5])), [nd.Normal(0.0, 1.0), nd.Cauchy(1.0, 1.0)]
        ),
        1,
        2,
    ),
    "product of mixtures": (MIXED.expand([2]).to_event(1), 2, 4),
}


def factors(name):
    dist, dim, count = KNOWN[name]
    terms = terms_of(dist, dim)
    assert terms is not None and len(terms) == count
    np.testing.assert_allclose(sum(weight for weight, _ in terms), 1.0, rtol=1e-7)
    return dist, Factors.of(terms)


@pytest.mark.parametrize("name", KNOWN)
def test_the_density_of_the_components_is_that_of_the_distribution(name):
    dist, of_terms = factors(name)
    x = RNG.uniform(0.05, 0.95, (9, KNOWN[name][1]))
    expected = np.exp([float(dist.log_prob(row.reshape(dist.event_shape))) for row in x])
    np.testing.assert_allclose(of_terms.density(x), expected, rtol=2e-5)  # numpyro's in float32


@pytest.mark.parametrize("name", ["gamma", "mixture of kinds"])
@pytest.mark.parametrize("n", [0, 1, SHORTEST_BATCH, SHORTEST_BATCH + 1])
def test_batches_of_any_length_come_back_unpadded(name, n):
    _, of_terms = factors(name)
    marginal = of_terms.components[-1][0]
    x = np.linspace(0.1, 3.0, n)
    exact = st.gamma(3.0, scale=0.5) if name == "gamma" else st.cauchy(1.0)
    np.testing.assert_allclose(marginal.cdf(x), exact.cdf(x), rtol=1e-10)
    np.testing.assert_allclose(marginal.icdf(exact.cdf(x)), x, rtol=1e-8)


def test_every_entry_of_a_batch_has_its_own_parameters():
    dist = nd.Gamma(np.array([2.0, 5.0]), np.array([1.0, 3.0])).to_event(1)
    ((_, marginals),) = terms_of(dist, 2)
    for marginal, (shape, rate) in zip(marginals, ((2.0, 1.0), (5.0, 3.0)), strict=True):
        expected = st.gamma(shape, scale=1 / rate).ppf([0.1, 0.5])
        np.testing.assert_allclose(marginal.icdf(np.array([0.1, 0.5])), expected, rtol=1e-8)


def test_closed_forms_keep_their_kind_and_sides():
    kinds = {name: factors(name)[1].components[0][0] for name in ("half normal", "both cut")}
    assert [(m.kind, m.low, m.high) for m in kinds.values()] == [
        ("normal", 0.0, np.inf),
        ("normal", -1.0, 1.0),
    ]
    ((_, gaussian),) = terms_of(KNOWN["correlated"][0], 2)
    assert isinstance(gaussian, Gaussian)
    np.testing.assert_allclose(gaussian.covariance, COVARIANCE, rtol=1e-6)


def test_what_has_no_cdf_is_unknown():
    assert terms_of(nd.Dirichlet(np.ones(3)), 3) is None
    # Cut so far out that the difference of two values of the cdf has no digits left.
    far = nd.LeftTruncatedDistribution(nd.Cauchy(0.0, 1.0), low=jnp.asarray(1e12))
    assert terms_of(far, 1) is None
