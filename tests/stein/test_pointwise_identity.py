"""`pi S_m[u] = div(pi m u)` at every point: the library's road against automatic differentiation.

The right side is written here from the definitions, in the user's coordinates x, and shares no
code with the library: the field `u(x) = L w(L^-1 (x - mu))`, the density, and each multiplier.
Nothing is jitted: the many small cases share their compiled primitives, which is faster.
"""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import assert_close, random_network

from steinquad.measures.affine import Affine
from steinquad.networks.stein_network import evaluate
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
from steinquad.support import Support

N = 12
INF = np.inf

ACTIVATIONS = {
    "celu": lambda z: jnp.where(z > 0, z, jnp.expm1(jnp.minimum(z, 0.0))),
    "tanh": jnp.tanh,
    "gauss": lambda z: jnp.exp(-(z**2)),
    "sigmoid": lambda z: 1 / (1 + jnp.exp(-z)),
    "tanhshrink": lambda z: z - jnp.tanh(z),
    "softplus": lambda z: jnp.log1p(jnp.exp(z)),
    "sine": jnp.sin,
}

# Sides of the first coordinates; the others are open.
SIDES = {
    "line": ((-INF, INF),),
    "interval": ((-1.0, 2.0),),
    "left half-line": ((-INF, 1.5),),
    "right half-line": ((-1.0, INF),),
    "box": ((-1.0, 2.0), (0.5, 1.5), (-2.0, -0.5), (0.0, 3.0), (-1.0, 1.0)),
    "mixed": ((-INF, INF), (0.5, 1.5), (-2.0, INF), (-INF, INF), (-INF, 1.0)),
}


@dataclass(frozen=True)
class Case:
    dim: int = 2
    outputs: int = 2
    depth: int = 2
    activation: str = "tanh"
    multiplier: tuple[Multiplier, ...] = ()
    support: str = "line"
    standardize: str = "diagonal"

    def __str__(self) -> str:
        names = "*".join(
            type(m).__name__ + (f"({m.c})" if isinstance(m, Constant) else "")
            for m in self.multiplier
        )
        return (
            f"d{self.dim}-k{self.outputs}-depth{self.depth}-{self.activation}-{names or 'one'}-"
            f"{self.support}-{self.standardize}"
        )


BASE = Case()
EVERY = (
    Constant(2.0),
    Constant("std"),
    Constant("max"),
    InverseQuadratic(),
    InverseRoot(),
    Density(),
    Coordinate(),
)
CASES = [
    *(replace(BASE, multiplier=(m,)) for m in EVERY),
    *(
        replace(BASE, dim=5 if side in ("box", "mixed") else 1, support=side, multiplier=(b,))
        for side in SIDES
        if side != "line"
        for b in (Boundary(), PaperBoundary())
    ),
    *(replace(BASE, activation=a) for a in ACTIVATIONS),
    *(replace(BASE, depth=depth, dim=dim) for depth in (1, 3) for dim in (1, 2, 5)),
    *(replace(BASE, dim=dim) for dim in (1, 5)),
    *(replace(BASE, standardize=s) for s in ("none", "whiten")),
    replace(BASE, outputs=1),
    # whitened coordinates mix those that have a boundary with those that have none
    Case(5, 2, 1, "gauss", (InverseRoot(), Boundary()), "mixed", "whiten"),
    Case(5, 2, 2, "celu", (Constant("std"), Boundary()), "mixed", "whiten"),
    Case(5, 2, 3, "sine", (Density(), Boundary()), "mixed", "whiten"),
    Case(2, 2, 3, "softplus", (Coordinate(), PaperBoundary()), "box", "whiten"),
    Case(2, 2, 1, "sigmoid", (Coordinate(), Boundary()), "box", "none"),
    Case(2, 2, 2, "celu", (Coordinate(),), "line", "whiten"),
    Case(1, 2, 2, "tanhshrink", (InverseQuadratic(), Density(), Boundary()), "interval"),
    Case(2, 2, 2, "celu", (InverseQuadratic(), PaperBoundary()), "mixed", "whiten"),
]


def sides(case: Case) -> tuple[np.ndarray, np.ndarray]:
    given = SIDES[case.support][: case.dim]
    given = given + ((-INF, INF),) * (case.dim - len(given))
    low, high = np.array(given).T
    return low, high


def points_in(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Points inside, correlated where there is room."""
    rng = np.random.default_rng(7)
    a, b = np.maximum(low, np.where(high < INF, high - 2, -1)), 0.0
    b = np.minimum(high, np.where(low > -INF, low + 2, 1))
    uniform = rng.uniform(size=(N, len(low)))
    uniform[:, 1:] = 0.7 * uniform[:, 1:] + 0.3 * uniform[:, :1]
    return a + (b - a) * uniform


def center_and_precision(dim: int) -> tuple[np.ndarray, np.ndarray]:
    return np.linspace(-0.4, 0.6, dim), np.eye(dim) + 0.4


def log_density(x):
    """Of no normalized measure, with correlated coordinates and quartic tails."""
    center, precision = center_and_precision(len(x))
    c = x - center
    return -c @ precision @ c / 2 - (x**4).sum() / 20


def score_of(x: np.ndarray) -> np.ndarray:
    center, precision = center_and_precision(x.shape[1])
    return -(x - center) @ precision - x**3 / 5


def diagonal(m: Multiplier, x, scores: np.ndarray, low: np.ndarray, high: np.ndarray, spread):
    """The diagonal of one multiplier, from its definition."""
    one = np.ones(len(x))
    match m:
        case Constant("std"):
            return one / np.std(scores)
        case Constant("max"):
            return one / np.max(np.abs(scores))
        case Constant(c):
            return one / c
        case InverseQuadratic():
            return one / (x @ x + 1)
        case InverseRoot():
            return one / jnp.sqrt(x @ x + 1)
        case Density():
            return one * jnp.exp(log_density(x))
        case Coordinate():
            return x
        case Boundary():
            return (1 - jnp.exp((low - x) / spread)) * (1 - jnp.exp((x - high) / spread))
        case PaperBoundary():
            left = jnp.where(np.isfinite(low), x - low, 1.0)
            right = jnp.where(np.isfinite(high), high - x, 1.0)
            return one * jnp.prod(left * right)
    raise AssertionError(m)


# Each is compiled for seconds: two thirds run with make test-all only.
@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=str(case), marks=[pytest.mark.slow] * (i % 3 > 0))
        for i, case in enumerate(CASES)
    ],
)
def test_density_times_stein_image_is_a_divergence(case):
    low, high = sides(case)
    x = points_in(low, high)
    score, log_pi = score_of(x), np.array([log_density(point) for point in x])
    network = random_network(
        3, dim=case.dim, outputs=case.outputs, depth=case.depth, activation=case.activation
    )
    points = Points(x, score, log_pi)
    multiplier = ProductOf(case.multiplier).fit(points, Support(low, high))
    affine = Affine.fit(x, case.standardize, np.ones(N))
    inputs, frame = stein_inputs(points, multiplier, affine)
    stein = evaluate(network, inputs, frame) - network.theta0
    left = np.exp(log_pi)[:, None] * np.asarray(stein)

    mean, spread = x.mean(axis=0), x.std(axis=0)
    matrix = {
        "none": np.eye(case.dim),
        "diagonal": np.diag(spread),
        "whiten": np.linalg.cholesky(np.cov(x.T, bias=True).reshape(case.dim, case.dim)),
    }[case.standardize]
    if case.standardize == "none":
        mean = np.zeros(case.dim)

    def flux(x):
        act = ACTIVATIONS[case.activation]
        h = jnp.asarray(np.linalg.inv(matrix)) @ (x - mean)
        for w, b in zip(network.field.weights[:-1], network.field.biases[:-1], strict=True):
            h = act(w @ h + b)
        w, b = network.field.weights[-1], network.field.biases[-1]
        u = (w @ h + b) @ matrix.T
        for m in case.multiplier:
            u = u * diagonal(m, x, score, low, high, spread)
        return jnp.exp(log_density(x)) * u

    @jax.vmap
    def divergence(x):
        return jnp.trace(jax.jacfwd(flux)(x), axis1=1, axis2=2)

    assert_close(left, np.asarray(divergence(x)))
