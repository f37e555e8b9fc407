"""Orthonormal polynomials: against quadrature, classical families and what does not exist."""

import numpy as np
import pytest
import scipy.special
import scipy.stats as st
from numpy.polynomial import laguerre

from steinquad.measures import as_measure
from steinquad.measures.marginal import Marginal
from steinquad.stein.orthonormal import NormalScores, Orthonormal

DISTRIBUTIONS = {
    "normal": st.norm(2.0, 3.0),
    "uniform": st.uniform(-1.0, 4.0),
    "gumbel": st.gumbel_r(1.0, 2.0),
    "lognormal": st.lognorm(0.25),
    "beta": st.beta(0.5, 0.5),
    "gamma": st.gamma(2.5),
    "triangular": st.triang(0.3),
    "truncated normal": st.truncnorm(-1.0, 3.0),
    "weibull": st.weibull_min(1.5),
}


def marginal(distribution):
    return as_measure(distribution).factors().components[0][0]


def rule(distribution):
    """Nodes and weights by another road: Gauss panels of probabilities, halved to both ends."""
    ends = np.unique(np.concatenate([[0.0, 0.3], 0.5 ** np.arange(1.0, 200.0)]))  # a kink at .3
    nodes, weights = np.polynomial.legendre.leggauss(30)
    half = np.diff(ends)[:, None] / 2
    u, w = ((ends[1:, None] - half) + half * nodes).ravel(), (half * weights).ravel()
    return np.concatenate([distribution.ppf(u), distribution.isf(u)]), np.tile(w, 2)


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_polynomials_are_orthonormal(name):
    distribution = DISTRIBUTIONS[name]
    family = Orthonormal.of(marginal(distribution))
    nodes, weights = rule(distribution)
    values = family(nodes, 6)
    gram = values.T @ (weights[:, None] * values)
    np.testing.assert_allclose(gram, np.eye(7), atol=1e-10)


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_scores_are_orthonormal_too(name):
    distribution = DISTRIBUTIONS[name]
    nodes, weights = rule(distribution)
    inner = weights > 1e-14  # a probability next to 1 has no digits of its own
    values = NormalScores(marginal(distribution))(nodes[inner], 3)
    gram = values.T @ (weights[inner, None] * values)
    # Next to the upper side of this beta no x is left whose probability could be told.
    np.testing.assert_allclose(gram, np.eye(4), atol=1e-3 if name == "beta" else 1e-6)


def test_classical_families_are_found():
    x = np.linspace(0.1, 8.0, 7)
    exponential = Orthonormal.of(marginal(st.expon()))
    np.testing.assert_allclose(
        np.abs(exponential(x, 5)), np.abs(laguerre.lagvander(x, 5)), rtol=1e-8
    )
    u = np.linspace(0.01, 0.99, 7)
    jacobi = Orthonormal.of(marginal(st.beta(2.0, 3.0)))
    for k in range(1, 6):
        ratio = jacobi(u, k)[:, k] / scipy.special.eval_jacobi(k, 2.0, 1.0, 2 * u - 1)
        np.testing.assert_allclose(ratio, ratio[0], rtol=1e-9)


def test_polynomials_without_a_variance_are_left_out():
    assert Orthonormal.of(marginal(st.t(2.5))) is None
    few = Orthonormal.of(marginal(st.lognorm(1.0)))
    assert 0 < few.highest < Orthonormal.of(marginal(st.lognorm(0.1))).highest


def test_a_normal_that_is_cut_on_one_side_has_polynomials():
    """The parent's mean may be its side, or far outside."""
    nodes, weights = rule(st.halfnorm())
    values = Orthonormal.of(Marginal.normal(0.0, 1.0, low=0.0))(nodes, 6)
    np.testing.assert_allclose(values.T @ (weights[:, None] * values), np.eye(7), atol=1e-10)
    assert Orthonormal.of(Marginal.normal(0.0, 1.0, low=5.0)).highest > 5
