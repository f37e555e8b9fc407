"""Genz integrals: closed forms against high precision, integrands against quadrature."""

import math
from itertools import product

import mpmath as mp
import numpy as np
import pytest

from steinquad.errors import InputError
from steinquad.problems import FAMILIES, Problem, genz

A = {"continuous": 1.3}
U = {"continuous": 0.55}


def one_dimensional(family: str, a: mp.mpf, u: mp.mpf) -> mp.mpf:
    """The factor of one coordinate by quadrature, for the families that are products."""
    factors = {
        "continuous": lambda x: mp.exp(-a * abs(x - u)),
        "discontinuous": lambda x: mp.exp(a * x) if x <= u else mp.mpf(0),
        "gaussian": lambda x: mp.exp(-(a**2) * (x - u) ** 2),
        "product": lambda x: 1 / (a**-2 + (x - u) ** 2),
        "oscillatory": lambda x: mp.expj(a * x),
    }
    return mp.quad(factors[family], [0, u, 1])


def reference(family: str, d: int, a: float, u: float) -> mp.mpf:
    a, u = mp.mpf(a), mp.mpf(u)
    if family == "corner":
        # (1 + s)^-(d+1) is a Laplace transform: integrate the product of d equal factors in t.
        return mp.quad(
            lambda t: t**d * mp.exp(-t) * ((1 - mp.exp(-a * t)) / (a * t)) ** d,
            [mp.mpf("1e-60"), 0.5, 2, 8, 32, 200],
        ) / mp.factorial(d)
    if family == "oscillatory":
        return mp.re(mp.expj(2 * mp.pi * u) * one_dimensional(family, a, u) ** d)
    return one_dimensional(family, a, u) ** d


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("d", [1, 2, 5, 10, 20])
def test_truth_against_high_precision(family, d):
    with mp.workdps(30):
        want = reference(family, d, A.get(family, 5.0), U.get(family, 0.5))
        assert abs(mp.mpf(genz(family, d).truth) / want - 1) < 2e-13


@pytest.mark.parametrize("family", FAMILIES)
def test_truth_for_other_parameters(family):
    with mp.workdps(30):
        want = reference(family, 3, 2.5, 0.3)
        assert abs(mp.mpf(genz(family, 3, a=2.5, u=0.3).truth) / want - 1) < 1e-13


def test_corner_is_the_beta_function_of_the_paper():
    for d, a in product((1, 2, 5, 20), (0.7, 5.0)):
        want = mp.beta(1 / mp.mpf(a), d + 1) / (mp.mpf(a) ** (d + 1) * mp.factorial(d))
        assert genz("corner", d, a=a).truth == pytest.approx(float(want), rel=1e-13)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("d", [1, 2])
def test_integrand_against_quadrature(family, d):
    """Tensor Gauss-Legendre in z = Phi(x), cut at u where the integrand kinks or jumps."""
    from scipy.special import ndtri

    problem = genz(family, d)
    u = U.get(family, 0.5)
    t, w = np.polynomial.legendre.leggauss(40)
    nodes = np.concatenate([u * (1 + t) / 2, u + (1 - u) * (1 + t) / 2])
    weights = np.concatenate([u * w / 2, (1 - u) * w / 2])
    z = np.stack(np.meshgrid(*[nodes] * d, indexing="ij"), -1).reshape(-1, d)
    total = np.prod(np.stack(np.meshgrid(*[weights] * d, indexing="ij"), -1), -1).reshape(-1)
    value = problem.integrand(ndtri(z))
    assert value.shape == (len(z),) and value.dtype == np.float64
    assert total @ value == pytest.approx(problem.truth, rel=1e-12)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("d", [1, 2, 5])
def test_plain_monte_carlo_agrees(family, d):
    problem = genz(family, d)
    x = problem.measure.sample(20_000, seed=8)
    f = problem.integrand(x)
    error = f.std() / math.sqrt(len(f))
    # Five standard errors: a false alarm in one of two million; the control is a shifted truth.
    assert abs(f.mean() - problem.truth) < 5 * error
    assert abs(f.mean() - (problem.truth + 12 * error)) > 5 * error


def test_discontinuous_cuts_every_coordinate():
    f = genz("discontinuous", 3).integrand
    assert f(np.array([[-1.0, -1.0, 0.1], [-1.0, -1.0, -1.0]]))[0] == 0.0
    assert f(np.array([[-1.0, -1.0, -1.0]]))[0] > 0.0


def test_problem_is_complete():
    problem = genz("product", 2)
    assert isinstance(problem, Problem)
    assert problem.name == "genz-product-2d" and "Genz" in problem.source
    assert problem.measure.dim == 2 and "cdf" in problem.measure.provides
    x = np.array([[0.3, -1.0]])
    np.testing.assert_allclose(problem.measure.score(x), -x)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("cosine", 2), "family is 'cosine'; choose one of continuous, "),
        (("corner", 0), "d is 0"),
        (("corner", 2.0), "d is 2.0"),
        (("corner", True), "d is True"),
        (("corner", 2, -1.0), "a is -1"),
        (("corner", 2, "x"), "a is 'x'"),
        (("gaussian", 2, 5.0, 1.5), "u is 1.5"),
    ],
)
def test_refusals(arguments, words):
    with pytest.raises(InputError, match=words):
        genz(*arguments)


def test_wrong_points():
    with pytest.raises(InputError, match=r"pass points of shape \(n, 2\)"):
        genz("corner", 2).integrand(np.zeros((3, 4)))
