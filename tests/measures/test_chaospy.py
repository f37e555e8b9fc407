"""What chaospy has: taken as it is, or refused with a line that works."""

from dataclasses import replace

import chaospy
import numpy as np
import pytest
import scipy.stats as st

import steinquad as sq
from steinquad.measures import Measure, as_measure
from steinquad.measures.by_functions import ByFunctions
from steinquad.measures.chaospy import from_chaospy
from steinquad.stein.orthonormal import Orthonormal

P = np.linspace(0.005, 0.995, 25)[:, None]
KNOWN = {
    "beta": chaospy.Beta(2, 3, 1, 5),
    "cauchy": chaospy.Cauchy(2, 1),
    "chi": chaospy.Rayleigh(2),
    "gamma": chaospy.Gamma(2.5, 0.5, 1),
    "gumbel_r": chaospy.LogWeibull(2, 1),
    "invgamma": chaospy.InverseGamma(3, 2),
    "laplace": chaospy.Laplace(1, 2),
    "logistic": chaospy.Logistic(scale=2, shift=1),
    "lognorm": chaospy.LogNormal(0.5, 0.3, shift=1, scale=2),
    "loguniform": chaospy.LogUniform(0.1, 3),
    "lomax": chaospy.Pareto2(2, 3),
    "ncx2": chaospy.ChiSquared(3, 1),
    "norm": chaospy.Normal(1, 2),
    "pareto": chaospy.Pareto1(2, 3),
    "t": chaospy.StudentT(4, 1, 2),
    "triang": chaospy.Triangle(1, 2, 5),
    "truncnorm": chaospy.TruncNormal(lower=0, upper=4, mu=1, sigma=2),
    "uniform": chaospy.Uniform(-1, 3),
    "weibull_min": chaospy.Weibull(2, 3),
}
BY_FUNCTIONS = [
    chaospy.Normal(0, 1) + 3,
    chaospy.Kumaraswamy(2, 3),
    chaospy.GaussianKDE([1.0, 2.0, 3.0, 5.0]),
    chaospy.Trunc(chaospy.Normal(0, 1), lower=-1),
    chaospy.GaussianMixture([0, 3], [[[1]], [[2]]], weights=[0.3, 0.7]),
]


def agrees(measure: Measure, dist) -> None:
    x = dist.inv(P[:, 0])
    np.testing.assert_allclose(measure.cdf(x)[:, 0], P[:, 0], atol=2e-6)
    np.testing.assert_allclose(np.exp(measure.log_density(x)), dist.pdf(x), rtol=1e-6)


@pytest.mark.parametrize("family", KNOWN)
def test_families_are_those_of_scipy(family):
    known = from_chaospy(KNOWN[family])
    assert known.dist.name == family
    agrees(as_measure(known), KNOWN[family])


@pytest.mark.parametrize("dist", BY_FUNCTIONS, ids=lambda dist: type(dist).__name__)
def test_all_others_by_their_functions(dist):
    measure = as_measure(dist)
    assert isinstance(measure, ByFunctions)
    agrees(measure, dist)


@pytest.mark.parametrize("dist", [BY_FUNCTIONS[2], BY_FUNCTIONS[-1]])
def test_polynomials_of_kernels_take_few_evaluations(dist):
    """chaospy's quantiles, exact to 1e-12, made a million nodes of them: two minutes."""
    measure, asked = as_measure(dist), []
    cdf = measure.foreign.cdf
    measure.foreign = replace(measure.foreign, cdf=lambda x: asked.append(x.size) or cdf(x))
    marginal = measure.factors().components[0][0]
    polynomials = Orthonormal.of(marginal)
    assert polynomials is not None and polynomials.highest == 20
    assert 0 < sum(asked) < 300_000
    values = polynomials(measure.icdf((np.arange(4000) + 0.5)[:, None] / 4000)[:, 0], 3)
    np.testing.assert_allclose(values.T @ values / 4000, np.eye(4), atol=0.02)


def test_independent_coordinates_are_a_product():
    joint = chaospy.J(chaospy.Iid(chaospy.Normal(0, 2), 2), chaospy.Uniform(1, 3))
    measure = as_measure(joint)
    assert isinstance(measure, sq.Product) and measure.names == ("x0", "x1", "x2")
    x = measure.sample(30, seed=0)
    np.testing.assert_allclose(np.exp(measure.log_density(x)), joint.pdf(x.T), rtol=1e-9)
    np.testing.assert_allclose(measure.score(x), -x / 4 * [1, 1, 0], atol=1e-14)


def test_a_multivariate_normal_is_one():
    covariance = [[1.0, 0.5], [0.5, 2.0]]
    measure = as_measure(chaospy.MvNormal([0, 1], covariance))
    x = measure.sample(5, seed=0)
    np.testing.assert_allclose(measure.score(x), -np.linalg.solve(covariance, (x - [0, 1]).T).T)


@pytest.mark.parametrize(
    "dist",
    [
        chaospy.Clayton(chaospy.J(chaospy.Normal(), chaospy.Uniform()), 2),
        chaospy.Logistic(3),  # its density lacks a factor: what it draws is integrated over
    ],
    ids=lambda dist: type(dist).__name__,
)
def test_what_is_refused_has_a_line_that_works(dist):
    with pytest.raises(sq.InputError, match="integrate over independent coordinates") as error:
        as_measure(dist)
    line = str(error.value).partition("coordinates, ")[2].removesuffix(".")
    known = {"sq": sq, "scipy": __import__("scipy.stats"), "np": np, "measure": dist}
    known["f"] = lambda x: np.sin(x).sum(axis=1)
    est = eval(line.replace("...", "n=2000, method=sq.MonteCarlo()"), known)
    draws = np.atleast_2d(dist.sample(20_000, seed=1))
    truth = np.sin(draws).sum(axis=0)
    assert abs(est.mean - truth.mean()) < 5 * np.hypot(est.std, truth.std() / np.sqrt(20_000))


@pytest.mark.parametrize(
    ("dist", "words"),
    [
        (chaospy.DiscreteUniform(1, 4), "DiscreteUniform of chaospy is discrete"),
        (chaospy.J(chaospy.Normal(), chaospy.Binomial(3, 0.2)), "discrete"),
        (chaospy.Normal(chaospy.Uniform(), 1), r"parameters that are random; .*chaospy.J\("),
    ],
    ids=["discrete", "half discrete", "random parameter"],
)
def test_refusals(dist, words):
    with pytest.raises(sq.InputError, match=words):
        as_measure(dist)


def test_arithmetic_that_fails_in_chaospy_has_the_line_to_write():
    for broken in (3 * chaospy.Normal(0, 1) + 2, chaospy.J(3 * chaospy.Normal() + 2)):
        with pytest.raises(sq.InputError, match="of chaospy fails inside chaospy") as error:
            as_measure(broken)
    line = str(error.value).partition("such as ")[2].removesuffix(".")
    known = {"sq": sq, "chaospy": chaospy, "f": lambda x: x[:, 0] ** 2}
    assert abs(eval(line.replace("...", "n=50"), known).mean - 13) < 1e-6
    assert isinstance(as_measure(3 * chaospy.Normal(0, 1)), ByFunctions)


def test_a_name_with_another_meaning_does_no_harm():
    """chaospy calls Frechet what is a Weibull: its functions decide."""
    dist = chaospy.Frechet(2, 3)
    agrees(as_measure(dist), dist)
    np.testing.assert_allclose(as_measure(dist).cdf(P), st.weibull_min(2, scale=3).cdf(P))
