"""The network in NumPy against autodiff of the same network: values, derivatives, extremes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import assert_close, random_network

from steinquad.networks import numpy_backend
from steinquad.networks.activations import ACTIVATIONS, NUMPY_ACTIVATIONS
from steinquad.networks.numpy_backend import Batch
from steinquad.networks.stein_network import evaluate
from steinquad.stein.inputs import NetworkFrame, SteinInputs
from steinquad.training.objective import flatten, unflatten

N = 9
# Dimension, outputs, coordinates with a multiplier of their own (the others share one).
CASES = [
    (1, 1, (), "celu"),
    (1, 2, (0,), "tanh"),
    (2, 1, (1,), "tanh"),
    (2, 2, (), "celu"),
    (2, 1, (0, 1), "celu"),
    (5, 1, (0, 3), "celu"),
    (5, 2, (0, 1, 2, 3, 4), "tanh"),
    (5, 1, (), "tanh"),
]


def problem(dim, outputs, varying, activation, n=N):
    """A random network and points in random coordinates, nothing of which is special."""
    rng = np.random.default_rng(dim)
    network = random_network(1, dim=dim, outputs=outputs, width=4, activation=activation)
    outer = rng.normal(size=(dim, dim)) + 2 * np.eye(dim)
    frame = NetworkFrame(jnp.asarray(np.linalg.inv(outer)), jnp.asarray(outer), varying)
    shapes = ((n, dim), (n, dim), (n,), (n, len(varying)))
    return network, SteinInputs(*(jnp.asarray(rng.normal(size=s)) for s in shapes)), frame


def by_autodiff(network, inputs, frame):
    def g(vector):
        return evaluate(unflatten(vector, network), inputs, frame)

    both = jax.jit(
        lambda vector: (g(vector), jax.jacrev(g)(vector)),
        compiler_options={"xla_backend_optimization_level": 0},  # compiles in half the time
    )
    return tuple(np.asarray(a) for a in both(jnp.asarray(flatten(network))))


def by_numpy(network, inputs, frame, **options):
    own = numpy_backend.own_weights(network)
    rows = np.full((len(own), len(inputs.z), own.shape[1]), np.nan)
    g = numpy_backend.jacobian(network, Batch.of(inputs, frame), rows, **options)
    full = np.zeros((len(inputs.z), len(own), flatten(network).size))
    for k, entries in enumerate(own):
        full[:, k, entries] = rows[k]
    return g, full


@pytest.mark.parametrize("diagonal", [False, True])
@pytest.mark.parametrize(("dim", "outputs", "varying", "activation"), CASES)
def test_against_autodiff(dim, outputs, varying, activation, diagonal):
    """Of a diagonal standardization most of every slot is zero, and is left out."""
    network, inputs, frame = problem(dim, outputs, varying, activation)
    if diagonal:
        scales = np.arange(1.0, dim + 1)
        frame = NetworkFrame(jnp.diag(1 / scales), jnp.diag(scales), frame.varying)
    assert numpy_backend.suits(network)
    want, derivative = by_autodiff(network, inputs, frame)
    assert_close(numpy_backend.values(network, Batch.of(inputs, frame)), want, rtol=1e-13)
    g, rows = by_numpy(network, inputs, frame)
    assert_close(g, want, rtol=1e-13)
    assert_close(rows, derivative, rtol=1e-13)


def test_panels_change_nothing():
    """Panels that do not divide n, in either function; rows that held other numbers before."""
    network, inputs, frame = problem(2, 2, (1,), "tanh", n=53)
    values = numpy_backend.values(network, Batch.of(inputs, frame))
    g, rows = by_numpy(network, inputs, frame)
    assert_close(
        numpy_backend.values(network, Batch.of(inputs, frame), panel=3), values, rtol=1e-14
    )
    again, cut = by_numpy(network, inputs, frame, panel=3)
    assert_close(again, g, rtol=1e-14)
    assert_close(cut, rows, rtol=1e-14)
    assert_close(values, g, rtol=1e-14)


@pytest.mark.parametrize("name", NUMPY_ACTIVATIONS)
def test_activations_against_those_of_jax(name):
    """Value and slope against the compiled one, the second derivative against its autodiff."""
    z = np.concatenate([np.linspace(-6, 6, 49), [-30.0, 30.0, -1e-9, 1e-9]])
    value, slope, second = NUMPY_ACTIVATIONS[name](z)
    want_value, want_slope = ACTIVATIONS[name](jnp.asarray(z))
    want_second = jax.vmap(jax.grad(lambda z: ACTIVATIONS[name](z)[1]))(jnp.asarray(z))
    assert_close(value, np.asarray(want_value), rtol=1e-14)
    assert_close(slope, np.asarray(want_slope), rtol=1e-14)
    assert_close(second, np.asarray(want_second), rtol=1e-14)


@pytest.mark.parametrize("name", NUMPY_ACTIVATIONS)
def test_second_derivative_by_differences(name):
    """Of the slopes, away from the kink of CELU."""
    z, step = np.linspace(-5, 5, 48), 1e-5
    ahead, behind = NUMPY_ACTIVATIONS[name](z + step)[1], NUMPY_ACTIVATIONS[name](z - step)[1]
    second = NUMPY_ACTIVATIONS[name](z)[2]
    np.testing.assert_allclose(second, (ahead - behind) / (2 * step), atol=1e-9)


@pytest.mark.parametrize("name", NUMPY_ACTIVATIONS)
@pytest.mark.parametrize("size", [700.0, 1e5, 1e300])
def test_nothing_overflows(name, size):
    """Warnings are errors here."""
    value, slope, second = NUMPY_ACTIVATIONS[name](np.array([-size, size]))
    low, high = (-1.0, size) if name == "celu" else (-1.0, 1.0)
    assert_close(value, np.array([low, high]), rtol=1e-15)
    flat = [slope[0], second[0], second[1]] + ([] if name == "celu" else [slope[1]])
    assert np.abs(flat).max() < 1e-200


def test_extreme_points_stay_finite():
    for activation in NUMPY_ACTIVATIONS:
        network, inputs, frame = problem(2, 1, (0,), activation)
        far = SteinInputs(700.0 * inputs.z, inputs.drift, inputs.scale, inputs.factors)
        g, rows = by_numpy(network, far, frame)
        assert np.isfinite(g).all() and np.isfinite(rows).all()
        assert np.isfinite(numpy_backend.values(network, Batch.of(far, frame))).all()


def test_other_networks_are_left_to_the_compiled_road():
    assert not numpy_backend.suits(random_network(1, dim=1, depth=1))
    assert not numpy_backend.suits(random_network(1, dim=1, depth=3))
    assert not numpy_backend.suits(random_network(1, dim=1, activation="sigmoid"))
    assert set(NUMPY_ACTIVATIONS) <= set(ACTIVATIONS)
