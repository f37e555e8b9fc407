"""The loss: against a naive one, in blocks, with weights; and the flat vector of parameters."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import assert_close, normal_data, quick, random_network

from steinquad.networks.stein_network import evaluate
from steinquad.training.objective import (
    Penalty,
    Sizes,
    TrainingSet,
    flatten,
    predict,
    theta0_entries,
    unflatten,
    value_and_gradient,
)

N = 50


def rows(data, of) -> np.ndarray:
    """The first n rows of a blocked array, as one batch."""
    return np.concatenate(np.asarray(of))[: data.n]


def naive(network, data, penalty: Penalty):
    """The loss as the paper writes it, over one batch of all points."""
    inputs = jax.tree.map(lambda a: rows(data, a), data.blocks.inputs)
    y, w = rows(data, data.blocks.y), rows(data, data.blocks.weights)
    squares = sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(network.field))
    squares = squares + jnp.where(penalty.theta0, jnp.sum(network.theta0**2), 0.0)
    fit = jnp.sum(w[:, None] * (evaluate(network, inputs, data.frame) - y) ** 2) / np.sum(w)
    return fit + penalty.strength * squares


@pytest.mark.parametrize(("dim", "outputs"), [(1, 1), (2, 2), (5, 1)])
def test_against_a_naive_loss(dim, outputs):
    weights = np.random.default_rng(3).uniform(0.2, 3.0, size=N)
    data = normal_data(1, n=N, dim=dim, outputs=outputs, weights=weights)
    network = random_network(2, dim=dim, outputs=outputs)
    reference = quick(jax.value_and_grad(lambda net, penalty: naive(net, data, penalty)))
    for penalty in (Penalty(0.0, False), Penalty(0.3, False), Penalty(0.3, True)):
        want, gradient = reference(network, penalty)
        value, found = value_and_gradient(flatten(network), network, data, penalty)
        assert_close(np.asarray(value), np.asarray(want), rtol=1e-13)
        assert_close(np.asarray(found), np.asarray(flatten(gradient)), rtol=1e-12)


def test_the_penalty_leaves_theta0_out_unless_asked():
    network, data = random_network(2, dim=1), normal_data(1, n=N, dim=1)
    values = [
        float(value_and_gradient(flatten(network), network, data, penalty)[0])
        for penalty in (Penalty(1.0, False), Penalty(1.0, True))
    ]
    assert values[1] - values[0] == pytest.approx(float(network.theta0[0]) ** 2, rel=1e-12)


@pytest.mark.parametrize("block", [7, 25])
def test_blocks_change_nothing(block):
    """Blocks that do and do not divide n, against one block."""
    weights = np.random.default_rng(3).uniform(0.2, 3.0, size=N)
    network, penalty = random_network(2, dim=2, outputs=2), Penalty(0.1, False)
    whole = normal_data(1, n=N, dim=2, outputs=2, weights=weights)
    cut = normal_data(1, n=N, dim=2, outputs=2, weights=weights, sizes=Sizes(block))
    count, size = cut.blocks.weights.shape
    assert count > 1 and size <= block and count * size >= N and cut.n == N
    want = value_and_gradient(flatten(network), network, whole, penalty)
    found = value_and_gradient(flatten(network), network, cut, penalty)
    for a, b in zip(found, want, strict=True):
        assert_close(np.asarray(a), np.asarray(b), rtol=1e-12)
    assert_close(predict(network, cut), predict(network, whole), rtol=1e-13)


def test_points_of_weight_zero_are_left_out():
    weights = np.ones(N)
    weights[40:] = 0.0
    network, penalty = random_network(2, dim=2, outputs=2), Penalty(0.1, False)
    full = normal_data(1, n=N, dim=2, outputs=2, weights=weights)
    short = TrainingSet.build(
        jax.tree.map(lambda a: rows(full, a)[:40], full.blocks.inputs),
        full.frame,
        rows(full, full.blocks.y)[:40],
        np.ones(40),
    )
    want = value_and_gradient(flatten(network), network, short, penalty)
    found = value_and_gradient(flatten(network), network, full, penalty)
    for a, b in zip(found, want, strict=True):
        assert_close(np.asarray(a), np.asarray(b), rtol=1e-13)


def test_predictions_are_the_network_at_the_points():
    network, data = random_network(2, dim=2, outputs=2), normal_data(1, n=N, dim=2, outputs=2)
    found = predict(network, data)
    assert found.shape == (N, 2)
    for i in (0, 7, N - 1):
        point = jax.tree.map(lambda a, i=i: jnp.asarray(rows(data, a)[i]), data.blocks.inputs)
        assert_close(found[i], np.asarray(network(point, data.frame)), rtol=1e-13)


@pytest.mark.parametrize("outputs", [1, 3])
def test_theta0_entries_mark_theta0_and_nothing_else(outputs):
    network = random_network(2, dim=2, outputs=outputs)
    vector, marked = np.asarray(flatten(network)).copy(), theta0_entries(network)
    assert marked.shape == vector.shape and marked.sum() == outputs
    assert np.array_equal(vector[marked], network.theta0)
    vector[marked] += 1.0
    moved = unflatten(jnp.asarray(vector), network)
    assert np.array_equal(moved.theta0, network.theta0 + 1.0)
    same = zip(jax.tree.leaves(moved.field), jax.tree.leaves(network.field), strict=True)
    assert all(np.array_equal(a, b) for a, b in same)


def test_flatten_and_unflatten_are_inverses():
    network = random_network(2, dim=5, outputs=2, depth=3)
    back = unflatten(flatten(network), network)
    assert jax.tree.structure(back) == jax.tree.structure(network)
    for a, b in zip(jax.tree.leaves(back), jax.tree.leaves(network), strict=True):
        assert a.shape == b.shape and np.array_equal(a, b)
    vector = jnp.arange(float(flatten(network).size))
    assert np.array_equal(flatten(unflatten(vector, network)), vector)
