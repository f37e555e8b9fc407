"""The field of separate units: against autodiff, of mean zero, and the same as an MLP."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import assert_close, quick

import steinquad as sq
from steinquad.measures.affine import Affine
from steinquad.networks import stein_network
from steinquad.networks.activations import ACTIVATIONS
from steinquad.networks.mlp import MLP, Layers
from steinquad.networks.separate_mlp import SeparateMLP, first_width
from steinquad.networks.stein_network import SteinNetwork
from steinquad.points import Points
from steinquad.stein.inputs import stein_inputs, to_cube
from steinquad.stein.multipliers import Boundary, Constant, Coordinate, ProductOf
from steinquad.support import Support
from steinquad.training.objective import flatten

RNG = np.random.default_rng(0)
evaluate = quick(stein_network.evaluate)


def network(dim: int, outputs: int = 1, activation: str = "tanh") -> SteinNetwork:
    layers = Layers(dim=dim, outputs=outputs, width=6, activation=activation)
    field = SeparateMLP.initialize(3, layers)
    return SteinNetwork(jnp.full(outputs, 0.4), field)


def as_mlp(separate: SteinNetwork, dim: int) -> SteinNetwork:
    """The same function with a full first layer."""
    field = separate.field
    first = np.zeros((len(field.seen), dim))
    first[np.arange(len(field.seen)), np.asarray(field.seen)] = np.asarray(field.weights[0])
    weights = (jnp.asarray(first), *field.weights[1:])
    return SteinNetwork(separate.theta0, MLP(weights, field.biases, field.activation))


@pytest.mark.parametrize("dim", [1, 2, 5])
@pytest.mark.parametrize("multiplier", [Constant(2.0), Coordinate()], ids=["shared", "own"])
@pytest.mark.parametrize("activation", ["tanh", "celu"])
def test_it_is_a_perceptron_with_zeros_in_its_first_layer(dim, multiplier, activation):
    x = RNG.normal(size=(9, dim))
    affine = Affine(x.mean(axis=0), np.diag(x.std(axis=0)), np.diag(1 / x.std(axis=0)))
    inputs, frame = stein_inputs(Points(x, -x), multiplier, affine)
    separate = network(dim, 2, activation)
    assert_close(
        evaluate(separate, inputs, frame), evaluate(as_mlp(separate, dim), inputs, frame), 1e-13
    )


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_bent_coordinates_are_those_of_a_bent_field(dim):
    """pi S[u] = div(pi u) with u from its definition, some coordinates with ends, some without."""
    low = np.where(np.arange(dim) % 2, -2.0, -np.inf)
    high = np.where(np.arange(dim) % 2, 3.0, np.inf)
    x = RNG.uniform(-1.9, 2.9, size=(11, dim))
    spread, mean = x.std(axis=0), x.mean(axis=0)

    def log_density(x):
        return -jnp.sum(x**2) / 2 - jnp.sum(x) ** 4 / 50

    logs, score = quick(jax.vmap(jax.value_and_grad(log_density)))(jnp.asarray(x))
    score = np.asarray(score)
    support = Support(low, high)
    points = Points(x, score)
    multiplier = ProductOf((Constant(0.7), Boundary())).fit(points, support)
    affine = Affine(mean, np.diag(spread), np.diag(1 / spread))
    endless = np.isinf(low)
    inputs, frame = to_cube(*stein_inputs(points, multiplier, affine), endless)
    separate = network(dim, 2)
    left = np.asarray(evaluate(separate, inputs, frame) - separate.theta0)
    field = separate.field

    def flux(x):
        z = (x - mean) / spread
        below = jax.scipy.special.ndtr(z)
        factor = 4 * below * (1 - below) / jax.scipy.stats.norm.pdf(z)
        t = jnp.where(endless, jnp.sqrt(12.0) * (below - 0.5), z)
        act = ACTIVATIONS[field.activation]
        (w1, w2, w3), (b1, b2, b3) = field.weights, field.biases
        w = w3 @ act(w2 @ act(w1 * t[np.asarray(field.seen)] + b1)[0] + b2)[0] + b3
        ends = (1 - jnp.exp((low - x) / spread)) * (1 - jnp.exp((x - high) / spread))
        return jnp.exp(log_density(x)) * spread * jnp.where(endless, factor, ends) / 0.7 * w

    @quick
    @jax.vmap
    def divergence(x):
        return jnp.trace(jax.jacfwd(flux)(x), axis1=1, axis2=2)

    density = np.exp(np.asarray(logs))
    assert_close(density[:, None] * left, np.asarray(divergence(jnp.asarray(x))))


def rule(half_width: float) -> tuple[np.ndarray, np.ndarray]:
    t, w = np.polynomial.legendre.leggauss(20)
    edges = np.linspace(-half_width, half_width, 41)
    half = np.diff(edges)[:, None] / 2
    return (edges[:-1, None] + half * (1 + t)).ravel(), (half * w).ravel()


@pytest.mark.parametrize("wrong", [False, True])
def test_the_mean_is_zero(wrong):
    """Under a measure that is not normal, by quadrature; not with the score of another one."""
    x, w = rule(5.0)
    density = np.exp(-(x**4) / 4)
    score = -x if wrong else -(x**3)
    affine = Affine(np.array([0.2]), np.array([[0.8]]), np.array([[1.25]]))
    bent = stein_inputs(Points(x[:, None], score[:, None]), Constant(), affine)
    separate = network(1)
    image = np.asarray(evaluate(separate, *to_cube(*bent, np.array([True]))) - 0.4)[:, 0]
    mean = w @ (density * image) / (w @ density)
    assert abs(mean) > 1e-3 if wrong else abs(mean) < 1e-10


def test_far_out_points_stay_finite():
    x = np.array([[-1e6], [-60.0], [0.0], [45.0], [1e9]])
    affine = Affine(np.zeros(1), np.eye(1), np.eye(1))
    inputs, frame = to_cube(*stein_inputs(Points(x, -x), Constant(), affine), np.array([True]))
    # of a normal: 4 (1 - 2 P), whatever the distance
    assert np.abs(np.asarray(inputs.drift)).max() <= 4.0
    assert np.isfinite(np.asarray(evaluate(network(1), inputs, frame))).all()


@pytest.mark.parametrize("dim", [1, 2, 30])
def test_every_coordinate_is_seen_about_as_often(dim):
    separate = network(dim)
    times = np.bincount(separate.field.seen, minlength=dim)
    assert times.sum() == first_width(dim) and np.ptp(times) <= 1 and times.min() >= 2
    again = network(dim)
    assert np.array_equal(flatten(separate), flatten(again))


def product(x):
    return np.prod(1 / (1 + np.abs(np.tanh(x) - 0.2)), axis=1)


def test_estimates_of_a_product_and_its_predictions():
    rng = np.random.default_rng(100)
    x = rng.normal(size=(800, 4))
    fx = product(x)
    method = sq.BSN(directions="separate", width=12, folds=2, optimizer=sq.LBFGS(max_steps=200))
    est = sq.estimate(sq.Dataset(x, fx, -x), method=method)
    assert est.stats["separate"] and est.stats["width"] == 12
    fresh = rng.normal(size=(500, 4))
    missed = product(fresh) - est.predict(fresh, score=-fresh)
    assert np.mean(missed**2) < 0.02 * fx.var()
    truth = np.mean(1 / (1 + np.abs(np.tanh(rng.normal(size=10**6)) - 0.2))) ** 4
    assert abs(est.mean - truth) < 4 * (est.std + 4 * truth * 3e-4)


def test_bad_requests_are_refused():
    with pytest.raises(sq.InputError, match="depth is 3"):
        sq.BSN(directions="separate", depth=3)
    x = RNG.normal(size=(40, 2))
    method = sq.BSN(directions="separate", standardize="whiten")
    with pytest.raises(sq.InputError, match="not mixed"):
        sq.estimate(sq.Dataset(x, x[:, 0], -x), method=method)
