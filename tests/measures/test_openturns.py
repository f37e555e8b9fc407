"""What OpenTURNS has: taken as it is, or refused with a line that works."""

import numpy as np
import openturns as ot
import pytest

import steinquad as sq
from steinquad.measures import Measure, as_measure
from steinquad.measures.by_functions import ByFunctions
from steinquad.measures.openturns import FAMILIES, from_openturns

P = np.linspace(0.001, 0.999, 25)
CORRELATION = ot.CorrelationMatrix([[1, 0.5], [0.5, 1]])
KNOWN = [
    ot.Arcsine(-1, 2),
    ot.Beta(2, 3, 1, 5),
    ot.Chi(3),
    ot.ChiSquare(3),
    ot.Exponential(2, 0.5),
    ot.FisherSnedecor(3, 4),
    ot.Frechet(2, 3, 1),
    ot.Gamma(2.5, 0.5, 1),
    ot.GeneralizedExtremeValue(0, 1, 0.1),
    ot.Gumbel(2, 1),
    ot.InverseGamma(3, 2),
    ot.InverseNormal(1, 2),
    ot.Laplace(1, 2),
    ot.LogNormal(0.5, 0.3, 1),
    ot.LogUniform(-1, 3),
    ot.Logistic(1, 2),
    ot.Normal(1, 2),
    ot.Pareto(2, 3, 1),
    ot.Rayleigh(2, 1),
    ot.Student(4, 1, 2),
    ot.Trapezoidal(0, 1, 2, 4),
    ot.Triangular(1, 2, 5),
    ot.TruncatedNormal(1, 2, 0, 4),
    ot.Uniform(-1, 3),
    ot.WeibullMax(3, 2, 1),
    ot.WeibullMin(3, 2, 1),
]
BY_FUNCTIONS = [
    ot.TruncatedDistribution(ot.Normal(), -1.0, 2.0),
    ot.Mixture([ot.Normal(), ot.Normal(3, 1)], [0.3, 0.7]),
    ot.KernelSmoothing().build(ot.Normal().getSample(30)),
    ot.LinearCombinationDistribution([ot.Normal(), ot.Uniform(0, 1)], [1.0, 2.0], 0.5),
    ot.ParametrizedDistribution(ot.LogNormalMuSigma(3, 1)),
]


def agrees(measure: Measure, dist) -> None:
    x = np.array(dist.computeQuantile(P))
    np.testing.assert_allclose(measure.cdf(x)[:, 0], P, rtol=1e-6)
    density = np.array(dist.computePDF(x))[:, 0]
    np.testing.assert_allclose(np.exp(measure.log_density(x)), density, rtol=1e-6)
    low, high = dist.getRange().getFiniteLowerBound()[0], dist.getRange().getFiniteUpperBound()[0]
    assert np.isfinite([measure.support.low[0], measure.support.high[0]]).tolist() == [low, high]


def test_every_family_is_that_of_scipy():
    assert {dist.getClassName() for dist in KNOWN} == set(FAMILIES)
    for dist in KNOWN:
        known = from_openturns(ot.Distribution(dist))
        assert hasattr(known, "dist"), dist  # a frozen distribution of scipy.stats
        agrees(as_measure(known), dist)


@pytest.mark.parametrize("dist", BY_FUNCTIONS, ids=lambda dist: type(dist).__name__)
def test_all_others_by_their_functions(dist):
    measure = as_measure(dist)
    assert isinstance(measure, ByFunctions)
    agrees(measure, dist)


@pytest.mark.parametrize("dist", BY_FUNCTIONS, ids=lambda dist: type(dist).__name__)
def test_the_default_integrates_over_them(dist):
    """Every method asks in its own way: quadratures of no points too, which OpenTURNS refuses."""
    est = sq.integrate(lambda x: x[:, 0] ** 2, dist, n=60)
    truth = dist.getMean()[0] ** 2 + dist.getCovariance()[0, 0]
    assert abs(est.mean - truth) < 1e-6 * truth and est.status.code == "converged"


def test_independent_coordinates_are_a_product_with_their_names():
    joint = ot.JointDistribution([ot.Normal(0, 2), ot.Uniform(1, 3)])
    assert as_measure(joint).names == ("x0", "x1")
    joint.setDescription(["load", "length"])
    measure = as_measure(joint)
    assert isinstance(measure, sq.Product) and measure.names == ("load", "length")
    x = measure.sample(30, seed=0)
    density = np.array(joint.computePDF(x))[:, 0]
    np.testing.assert_allclose(np.exp(measure.log_density(x)), density, rtol=1e-9)


@pytest.mark.parametrize(
    "dist",
    [
        ot.Normal([0, 1], [1, 2], CORRELATION),
        ot.JointDistribution([ot.Normal(0, 1), ot.Normal(1, 2)], ot.NormalCopula(CORRELATION)),
    ],
    ids=["normal", "copula"],
)
def test_a_multivariate_normal_is_one(dist):
    measure = as_measure(dist)
    x = measure.sample(5, seed=0)
    covariance = np.array([[1.0, 1.0], [1.0, 4.0]])
    np.testing.assert_allclose(measure.score(x), -np.linalg.solve(covariance, (x - [0, 1]).T).T)


@pytest.mark.parametrize(
    "dist",
    [
        ot.JointDistribution([ot.Normal(), ot.Uniform()], ot.ClaytonCopula(2)),
        ot.Student(5, [0, 1], [1, 2], CORRELATION),
        ot.Histogram(0, [1, 1], [0.3, 0.7]),  # its density jumps
    ],
    ids=["copula", "student", "histogram"],
)
def test_what_is_refused_has_a_line_that_works(dist):
    with pytest.raises(sq.InputError, match="integrate over independent normals") as error:
        as_measure(dist)
    made, line = str(error.value).partition("T = ")[2].removesuffix(".").split(" and ")
    known = {"sq": sq, "scipy": __import__("scipy.stats"), "numpy": np, "measure": dist}
    known |= {"f": lambda x: np.sin(x).sum(axis=1), "openturns": ot}
    known["T"] = eval(made, known)
    est = eval(line.replace("...", "n=2000, method=sq.MonteCarlo()"), known)
    ot.RandomGenerator.SetSeed(0)
    truth = np.sin(np.array(dist.getSample(20_000))).sum(axis=1)
    assert abs(est.mean - truth.mean()) < 5 * np.hypot(est.std, truth.std() / np.sqrt(20_000))


@pytest.mark.parametrize(
    ("obj", "words"),
    [
        (ot.Poisson(3), "Poisson of openturns is discrete"),
        (ot.Point([1, 2]), "Point of openturns; pass a distribution"),
    ],
    ids=["discrete", "no distribution"],
)
def test_refusals(obj, words):
    with pytest.raises(sq.InputError, match=words):
        as_measure(obj)
