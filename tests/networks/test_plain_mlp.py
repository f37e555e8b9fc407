"""The plain network, and why a Stein network cannot have its ReLU."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import assert_close, normal_data, quick, random_network

import steinquad as sq
from steinquad.networks.mlp import MLP
from steinquad.networks.plain_mlp import PlainMLP
from steinquad.networks.stein_network import SteinNetwork, evaluate
from steinquad.training.objective import Penalty, flatten, loss


def plain(network):
    return SteinNetwork(network.theta0, PlainMLP.like(network.field))


@pytest.mark.parametrize("dim", [1, 2, 5])
@pytest.mark.parametrize("activation", ["celu", "relu"])
def test_against_the_textbook(dim, activation):
    network = plain(random_network(1, dim=dim, outputs=2, depth=3, activation=activation))
    data = normal_data(1, n=12, dim=dim, outputs=2).merged()
    a = np.asarray(data.inputs.z)
    for w, b in zip(network.field.weights[:-1], network.field.biases, strict=True):
        z = a @ np.asarray(w).T + np.asarray(b)
        a = np.maximum(z, 0) + (np.minimum(np.expm1(z), 0) if activation == "celu" else 0)
    want = a @ np.asarray(network.field.weights[-1]).T + np.asarray(network.theta0)
    frame = normal_data(1, n=12, dim=dim).frame
    assert_close(np.asarray(quick(evaluate)(network, data.inputs, frame)), want, rtol=1e-12)
    assert len(network.field.biases) == 3


def test_it_has_the_layers_of_the_field():
    field = random_network(1, dim=1, width=32, depth=3, activation="celu").field
    network = SteinNetwork(jnp.zeros(1), PlainMLP.like(field))
    assert len(flatten(network)) == len(flatten(SteinNetwork(jnp.zeros(1), field))) - 1 == 2209


def values_along(activation, network_of):
    """g at one point as one bias of the first layer moves, finely."""
    network = network_of(random_network(1, dim=1, depth=2, activation=activation))
    data = normal_data(1, n=1, dim=1)
    inputs = jax.tree.map(lambda a: a[0], data.merged().inputs)
    shifts = np.linspace(-3, 3, 20001)

    def at(shift):
        biases = network.field.biases
        moved = (biases[0].at[0].add(shift), *biases[1:])
        field = type(network.field)(network.field.weights, moved, network.field.activation)
        return SteinNetwork(network.theta0, field)(inputs, data.frame)[0]

    return np.asarray(quick(jax.vmap(at))(jnp.asarray(shifts)))


def test_a_stein_network_of_relu_jumps_as_its_weights_move():
    """Its loss has cliffs, so that no gradient tells where it falls; others are continuous."""
    jumps = {
        (activation, kind): np.abs(np.diff(values_along(activation, network_of))).max()
        for activation in ("celu", "relu")
        for kind, network_of in (("stein", lambda network: network), ("plain", plain))
    }
    cliff = jumps.pop(("relu", "stein"))
    assert cliff > 0.02 and max(jumps.values()) < 1e-3, jumps


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_the_divergence_of_relu_is_blind_for_biases(dim):
    """a'' = 0: without a drift nothing of S[u] tells a bias how to move; for CELU it does."""
    data = normal_data(1, n=30, dim=dim)
    still = jax.tree.map(lambda a: a, data)
    inputs = still.blocks.inputs
    still = type(data)(
        type(data.blocks)(
            type(inputs)(inputs.z, jnp.zeros_like(inputs.drift), inputs.scale, inputs.factors),
            data.blocks.y,
            data.blocks.weights,
        ),
        data.frame,
        data.n,
        data.blocks_per_panel,
    )
    slopes = {}
    for activation in ("celu", "relu"):
        network = random_network(1, dim=dim, depth=3, activation=activation)
        penalty = Penalty(0.0, theta0=False)
        gradient = quick(jax.grad(loss))(jnp.asarray(flatten(network)), network, still, penalty)
        biases = jax.tree.map(lambda leaf: np.zeros(leaf.shape), network)
        assert isinstance(biases.field, MLP)
        mask = SteinNetwork(
            biases.theta0,
            MLP(biases.field.weights, tuple(b + 1 for b in biases.field.biases), activation),
        )
        slopes[activation] = np.abs(np.asarray(gradient) * flatten(mask)).max()
    assert slopes["relu"] == 0.0 and slopes["celu"] > 1e-4


def test_bsn_refuses_relu():
    with pytest.raises(sq.InputError, match="activation is 'relu'; choose one of auto, celu"):
        sq.BSN(activation="relu")
