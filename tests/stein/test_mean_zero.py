"""E[S_m[u]] = 0 by quadrature, to 1e-10, and not where the operator is the wrong one.

Gauss-Legendre panels, graded towards the finite sides of the support, where a gamma density is a
power of x. Smooth fields are tanh networks; a CELU network gets its kinks as edges of panels.
"""

from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as nd
import pytest
import scipy.optimize
import scipy.stats as st
from helpers import random_network

from steinquad.measures import Measure, Product, Truncated, as_measure
from steinquad.measures.affine import Affine
from steinquad.networks.mlp import MLP
from steinquad.networks.stein_network import SteinNetwork, evaluate
from steinquad.stein.inputs import stein_inputs
from steinquad.stein.multipliers import (
    Boundary,
    Constant,
    Coordinate,
    Density,
    InverseQuadratic,
    InverseRoot,
    Multiplier,
    PaperBoundary,
    Points,
    ProductOf,
)

INF = np.inf
PANELS, NODES = 40, 12  # 480 points whatever the measure: each function compiles once
HALVINGS = 20  # panels that shrink by halves towards a finite side

run = jax.jit(evaluate)


def mixture():
    return nd.MixtureSameFamily(
        nd.Categorical(np.array([0.3, 0.7])),
        nd.Normal(np.array([-1.0, 2.0]), np.array([0.5, 1.0])),
    )


# The measure and an interval that holds all but 1e-17 of its mass.
MEASURES = {
    "normal": (lambda: nd.Normal(0.3, 1.2), (-10.5, 11.0)),
    "truncated normal": (lambda: nd.TruncatedNormal(0.5, 1.2, low=-1.0, high=2.0), (-1.0, 2.0)),
    "gamma": (lambda: nd.Gamma(2.2, 1.3), (0.0, 36.0)),
    "normal on a half-line": (lambda: Truncated(st.norm(0.5, 1.2), low=-0.4), (-0.4, 11.0)),
    "normal on a left half-line": (lambda: Truncated(st.norm(), high=0.7), (-9.0, 0.7)),
    "mixture": (mixture, (-6.0, 11.0)),
    "truncated mixture": (lambda: Truncated(mixture(), low=-1.2, high=3.0), (-1.2, 3.0)),
}
BOUNDED = [name for name in MEASURES if name not in ("normal", "mixture")]
MULTIPLIERS = [
    Constant(),
    Constant("std"),
    InverseQuadratic(),
    InverseRoot(),
    Density(),
    Coordinate(),
]


@lru_cache
def measure(name: str) -> Measure:
    return as_measure(MEASURES[name][0]())


def gauss(edges: np.ndarray, nodes: int = NODES) -> tuple[np.ndarray, np.ndarray]:
    t, w = np.polynomial.legendre.leggauss(nodes)
    half = np.diff(edges)[:, None] / 2
    return (edges[:-1, None] + half * (1 + t)).ravel(), (half * w).ravel()


@lru_cache
def rule(name: str, panels: int = PANELS) -> tuple[np.ndarray, np.ndarray]:
    """Points (n,) and weights of an expectation under a scalar measure."""
    m, (a, b) = measure(name), MEASURES[name][1]
    if a == m.support.low[0] and panels > HALVINGS:
        graded = a + (b - a) / (panels - HALVINGS) * 0.5 ** np.arange(HALVINGS, 0, -1)
        edges = np.concatenate([[a], graded, np.linspace(a, b, panels - HALVINGS + 1)[1:]])
    else:
        edges = np.linspace(a, b, panels + 1)
    x, w = gauss(edges)
    return x, w * np.exp(m.log_density(x[:, None]))


def draws(*names: str) -> np.ndarray:
    """Points of a rule drawn by its weights, (480, d): nothing more to compile than the rule."""
    rng = np.random.default_rng(1)
    columns = [rng.choice(x, size=480, p=w / w.sum()) for x, w in map(rule, names)]
    return np.stack(columns, axis=1)


def points_at(m: Measure, x: np.ndarray, multiplier: Multiplier, score=None) -> Points:
    """What the multiplier needs to know; the density only where it is one."""
    score = m.score(x) if score is None else score
    return Points(x, score, m.log_density(x) if "Density" in repr(multiplier) else None)


def fitted(
    m: Measure, x: np.ndarray, multiplier: Multiplier, boundary: Multiplier | None
) -> Multiplier:
    """The multiplier as an estimator fits it, to draws x."""
    factors = (multiplier,) if boundary is None else (multiplier, boundary)
    return ProductOf(factors).fit(points_at(m, x, multiplier), m.support)


def images(
    network: SteinNetwork,
    m: Measure,
    x: np.ndarray,
    multiplier: Multiplier,
    affine: Affine,
    score: np.ndarray | None = None,
) -> np.ndarray:
    """S_m[u] at points, (n, k)."""
    inputs, frame = stein_inputs(points_at(m, x, multiplier, score), multiplier, affine)
    return np.asarray(run(network, inputs, frame) - network.theta0)


def standardized(x: np.ndarray, kind: str = "diagonal") -> Affine:
    return Affine.fit(x, kind, np.ones(len(x)))


def mean(name: str, multiplier: Multiplier, boundary: Multiplier | None, score=None) -> np.ndarray:
    m, (x, w) = measure(name), rule(name)
    network = random_network(2, dim=1, outputs=2)
    fit = fitted(m, draws(name), multiplier, boundary)
    return w @ images(network, m, x[:, None], fit, standardized(draws(name)), score)


@pytest.mark.parametrize("name", MEASURES)
def test_smooth_fields_in_one_dimension(name):
    """Every multiplier with either boundary factor."""
    for boundary in (Boundary(), PaperBoundary()):
        for multiplier in MULTIPLIERS:
            value = mean(name, multiplier, boundary)
            np.testing.assert_allclose(value, 0.0, atol=1e-10, err_msg=str((multiplier, boundary)))


@pytest.mark.parametrize("name", [name for name in BOUNDED if name != "gamma"])
def test_without_the_boundary_factor_the_mean_is_not_zero(name):
    """A gamma of shape above 1 vanishes at 0 by itself."""
    assert np.abs(mean(name, Constant(), None)).min() > 1e-3


@pytest.mark.parametrize("name", MEASURES)
def test_with_the_score_of_another_measure_the_mean_is_not_zero(name):
    x, _ = rule(name)
    wrong = measure(name).score(x[:, None] + 0.05)
    assert np.abs(mean(name, Constant(), Boundary(), wrong)).min() > 1e-3


def kinks(network: SteinNetwork, affine: Affine, a: float, b: float) -> np.ndarray:
    """Where a pre-activation of a network of one or two layers changes sign, in x."""
    weights = [np.asarray(w) for w in network.field.weights]
    biases = [np.asarray(c) for c in network.field.biases]
    found = list(-biases[0] / weights[0][:, 0])
    if network.field.depth == 2:

        def second(z: float, unit: int) -> float:
            h = weights[0][:, 0] * z + biases[0]
            h = np.where(h > 0, h, np.expm1(np.minimum(h, 0)))
            return float(weights[1][unit] @ h + biases[1][unit])

        grid = np.linspace(*affine.points(np.array([[a], [b]]))[:, 0], 501)
        for unit in range(len(biases[1])):
            signs = np.sign([second(z, unit) for z in grid])
            for i in np.flatnonzero(signs[:-1] != signs[1:]):
                ends = grid[i], grid[i + 1]
                found.append(scipy.optimize.brentq(second, *ends, args=(unit,), xtol=1e-15))
    x = affine.shift[0] + affine.matrix[0, 0] * np.array(found)
    return np.sort(x[(x > a) & (x < b)])


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("name", ["normal", "truncated mixture"])
def test_celu_fields_in_one_dimension(name, depth):
    m, (a, b) = measure(name), MEASURES[name][1]
    network = random_network(6, dim=1, outputs=2, depth=depth, activation="celu")
    affine = standardized(draws(name))
    at = kinks(network, affine, a, b)
    assert len(at) >= 3  # the network does have kinks where the mass is
    edges = np.unique(np.concatenate([at, np.linspace(a, b, PANELS + 1 - len(at))]))
    x, w = gauss(edges)
    w = w * np.exp(m.log_density(x[:, None]))
    fit = fitted(m, draws(name), Constant("std"), Boundary())
    value = w @ images(network, m, x[:, None], fit, affine)
    np.testing.assert_allclose(value, 0.0, atol=1e-10)


SQUARES = {
    "normal x truncated mixture": ("normal", "truncated mixture"),
    "gamma x half-line": ("gamma", "normal on a half-line"),
    "interval x interval": ("truncated normal", "truncated mixture"),
    "mixture x mixture": ("mixture", "mixture"),
}


@pytest.mark.parametrize("name", SQUARES)
def test_smooth_fields_in_two_dimensions(name):
    """Tensor rule, whitened coordinates, boundary factors on their own and multiplied."""
    first, second = SQUARES[name]
    m = Product({"a": measure(first), "b": measure(second)})
    (x, w), (y, v) = rule(first, 28), rule(second, 28)
    grid = np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1).reshape(-1, 2)
    weights = np.outer(w, v).ravel()
    network = random_network(2, dim=2, outputs=2)
    some = draws(first, second)
    affine = standardized(some, "whiten")
    for multiplier, boundary in ((Constant(), Boundary()), (InverseRoot(), PaperBoundary())):
        fit = fitted(m, some, multiplier, boundary)
        value = weights @ images(network, m, grid, fit, affine)
        np.testing.assert_allclose(value, 0.0, atol=1e-10)
    if m.support.bounded:
        bare = fitted(m, some, Constant(), None)
        assert np.abs(weights @ images(network, m, grid, bare, affine)).max() > 1e-3


def test_smooth_fields_under_a_correlated_normal():
    """Gauss-Hermite in the coordinates of the Cholesky factor."""
    root = np.array([[1.3, 0.0], [0.9, 0.6]])
    m = as_measure(nd.MultivariateNormal(np.array([0.4, -0.2]), scale_tril=root))
    t, w = np.polynomial.hermite_e.hermegauss(80)
    nodes = np.stack(np.meshgrid(t, t, indexing="ij"), axis=-1).reshape(-1, 2)
    weights = np.outer(w, w).ravel() / (2 * np.pi)
    grid = np.array([0.4, -0.2]) + nodes @ root.T
    network = random_network(2, dim=2, outputs=2)
    some = np.array([0.4, -0.2]) + np.random.default_rng(1).normal(size=grid.shape) @ root.T
    affine = standardized(some, "whiten")
    for multiplier in (Constant("max"), Coordinate(), Density()):
        fit = fitted(m, some, multiplier, None)
        value = weights @ images(network, m, grid, fit, affine)
        np.testing.assert_allclose(value, 0.0, atol=1e-10)
    wrong = m.score(grid + np.array([0.05, 0.0]))
    value = weights @ images(network, m, grid, fitted(m, some, Constant(), None), affine, wrong)
    assert np.abs(value).min() > 1e-3


def separable(dim: int, width: int, outputs: int) -> SteinNetwork:
    """A network with u_i a function of x_i only: block-diagonal weights."""
    full = random_network(8, dim=dim, outputs=outputs, width=dim * width)
    unit = np.repeat(np.eye(dim), width, axis=0)  # (dim width, dim): which unit serves whom
    masks = (unit, unit @ unit.T, unit.T)
    # fewer inputs a unit: scale up what is left to the size that the bound would have given
    weights = tuple(
        jnp.asarray(np.asarray(w) * mask * np.sqrt(dim))
        for w, mask in zip(full.field.weights, masks, strict=True)
    )
    return SteinNetwork(full.theta0, MLP(weights, full.field.biases, "tanh"))


def test_separable_fields_in_five_dimensions():
    """S[u](x) is a sum of functions of one coordinate each, integrated one by one."""
    names = ("normal", "truncated normal", "gamma", "normal on a left half-line", "mixture")
    m = Product({f"c{i}": measure(name) for i, name in enumerate(names)})
    some = draws(*names)
    affine = standardized(some)
    network = separable(5, 3, outputs=2)
    center = np.array([0.1, 0.3, 1.2, -0.5, 0.4])
    fit = fitted(m, some, Constant(), Boundary())
    bare = fitted(m, some, Constant(), None)

    def along(i: int, values: np.ndarray) -> np.ndarray:
        points = np.tile(center, (len(values), 1))
        points[:, i] = values
        return points

    def expectation(multiplier: Multiplier) -> np.ndarray:
        at_center = images(network, m, along(0, np.full(480, 0.1)), multiplier, affine)[0]
        total = -4 * at_center
        for i, name in enumerate(names):
            x, w = rule(name)
            total = total + w @ images(network, m, along(i, x), multiplier, affine)
        return total

    parts = sum(images(network, m, along(i, some[:, i]), fit, affine) for i in range(5))
    parts = parts - 4 * images(network, m, along(0, np.full(480, 0.1)), fit, affine)
    np.testing.assert_allclose(images(network, m, some, fit, affine), parts, atol=1e-11)
    np.testing.assert_allclose(expectation(fit), 0.0, atol=1e-10)
    assert np.abs(expectation(bare)).min() > 1e-3
