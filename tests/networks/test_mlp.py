"""Shapes, initialization and size of the networks."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import assert_close, random_network

from steinquad.networks.mlp import MLP, Layers
from steinquad.networks.stein_network import SteinNetwork
from steinquad.training.objective import flatten


def initialized(seed, *, dim=5, outputs=2, width=64, depth=1) -> MLP:
    layers = Layers(dim=dim, outputs=outputs, width=width, depth=depth, activation="celu")
    return MLP.initialize(seed, layers)


def test_the_papers_network_has_2275_weights():
    field = initialized(0, dim=2, outputs=1, width=32, depth=3)
    assert flatten(SteinNetwork(jnp.zeros(1), field)).shape == (2275,)


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_shapes(dim):
    field = initialized(0, dim=dim, outputs=3, width=7, depth=2)
    assert [w.shape for w in field.weights] == [(7, dim), (7, 7), (3, dim, 7)]
    assert [b.shape for b in field.biases] == [(7,), (7,), (3, dim)]
    assert field.depth == 2
    assert all(leaf.dtype == jnp.float64 for leaf in jax.tree.leaves(field))


def test_initial_weights_fill_the_box_of_the_fan_in():
    """Uniform on +-1/sqrt(fan in): inside, near both ends, and with the variance bound^2 / 3."""
    field = initialized(0)
    for w, b in zip(field.weights, field.biases, strict=True):
        bound = 1 / np.sqrt(w.shape[-1])
        for array in (np.asarray(w).ravel(), np.asarray(b).ravel()):
            assert np.abs(array).max() <= bound
            # 4 standard errors of the mean square of n uniforms (their squares: std .298 bound^2)
            off = np.mean(array**2) / bound**2 - 1 / 3
            assert abs(off) < 4 * 0.298 / np.sqrt(len(array))
            if len(array) >= 300:  # a gap of 5 % at an end has a probability below 1e-3
                assert array.min() < -0.95 * bound and array.max() > 0.95 * bound


def test_layers_are_drawn_independently_and_seeds_matter():
    field, again, other = initialized(0), initialized(0), initialized(1)
    assert all(np.array_equal(a, b) for a, b in zip(field.weights, again.weights, strict=True))
    assert not np.isin(other.weights[1], field.weights[1]).any()
    unit = [
        np.asarray(a).ravel() * np.sqrt(w.shape[-1])
        for w, b in zip(field.weights, field.biases, strict=True)
        for a in (w, b)
    ]
    # not the same stream of numbers stretched to each bound
    assert len(np.unique(np.round(np.concatenate(unit), 9))) == sum(map(len, unit))


@pytest.mark.parametrize("depth", [1, 3])
def test_value_by_hand(depth):
    field = random_network(1, dim=2, outputs=3, depth=depth).field
    z = np.array([0.4, -1.1])
    h = z
    for w, b in zip(field.weights[:-1], field.biases[:-1], strict=True):
        h = np.tanh(np.asarray(w) @ h + np.asarray(b))
    want = np.asarray(field.weights[-1]) @ h + np.asarray(field.biases[-1])
    assert_close(np.asarray(field(jnp.asarray(z))), want, rtol=1e-14)
    values, slopes = field.hidden(jnp.asarray(z))
    assert len(values) == len(slopes) == depth
    assert_close(np.asarray(slopes[-1]), 1 - h**2, rtol=1e-13)


@pytest.mark.parametrize(("dim", "width"), [(1, 3), (2, 5), (5, 5), (8, 5)])
def test_aligned_units_see_one_coordinate_each_and_all_in_turn(dim, width):
    layers = Layers(dim=dim, width=width, activation="celu")
    field = MLP.initialize(3, layers, aligned=True)
    first = np.asarray(field.weights[0])
    assert np.count_nonzero(first, axis=1).tolist() == [1] * width
    seen = np.count_nonzero(first, axis=0)
    assert seen.max() - seen.min() <= 1
    sizes = np.abs(first[first != 0])
    assert sizes.min() >= 0.5 and sizes.max() <= 1.0
    assert np.abs(field.biases[0]).max() <= 0.5
    # the other layers are those of a random start
    plain = MLP.initialize(3, layers)
    assert all(
        np.array_equal(a, b) for a, b in zip(field.weights[1:], plain.weights[1:], strict=True)
    )
    assert not np.array_equal(first, MLP.initialize(4, layers, aligned=True).weights[0])
