"""Both divergences against `jax.jacfwd` and against each other."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import assert_close, random_network

from steinquad.stein.divergence import divergence, divergence_by_tangents, divergence_by_trace
from steinquad.stein.inputs import NetworkFrame, SteinInputs

OUTPUTS = 2


def whitened(dim: int) -> np.ndarray:
    """A lower triangular L far from diagonal."""
    rng = np.random.default_rng(dim)
    return np.tril(rng.normal(size=(dim, dim))) + 2 * np.eye(dim)


def at_one_point(
    dim: int, varying: tuple[int, ...]
) -> tuple[SteinInputs, NetworkFrame, np.ndarray]:
    """Inputs with a multiplier of its own for each of `varying`, and the whole diagonal."""
    rng = np.random.default_rng(10 + dim)
    matrix = whitened(dim)
    frame = NetworkFrame(jnp.asarray(np.linalg.inv(matrix)), jnp.asarray(matrix), varying)
    scale, factors = 1.7, rng.uniform(-1, 2, size=len(varying))
    diagonal = np.full(dim, scale)
    diagonal[list(varying)] = factors
    z, drift = rng.normal(size=(2, dim))
    inputs = SteinInputs(*(jnp.asarray(a) for a in (z, drift, scale, factors)))
    return inputs, frame, diagonal


def by_autodiff(network, z: jax.Array, matrix: np.ndarray, diagonal: np.ndarray) -> np.ndarray:
    """`sum_i m_i d(L w)_i / d x_i` from the Jacobian of x -> L w(L^-1 x)."""

    def field(x):
        return network.field(jnp.asarray(np.linalg.inv(matrix)) @ x) @ matrix.T

    jacobian = np.asarray(jax.jacfwd(field)(matrix @ z))
    return np.einsum("kii,i->k", jacobian, diagonal)


def multipliers(dim: int) -> list[tuple[int, ...]]:
    """A scalar one, one for each coordinate, and a mixture where there is room."""
    return [(), tuple(range(dim))] + ([(dim - 1,)] if dim > 1 else [])


@pytest.mark.parametrize("dim", [1, 2, 5])
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_against_the_jacobian(dim, depth):
    network = random_network(4, dim=dim, outputs=OUTPUTS, depth=depth)
    roads = [divergence, divergence_by_tangents] + [divergence_by_trace] * (depth < 3)
    for varying in multipliers(dim):
        inputs, frame, diagonal = at_one_point(dim, varying)
        _, slopes = network.field.hidden(inputs.z)
        want = by_autodiff(network, inputs.z, whitened(dim), diagonal)
        found = [np.asarray(road(network.field.weights, slopes, inputs, frame)) for road in roads]
        for value in found:
            assert_close(value, want, rtol=1e-12)
        for value in found:
            assert_close(value, found[0], rtol=1e-13)


def test_the_field_of_the_network_is_the_mlp():
    """`SteinNetwork` = theta0 + drift . w + div, term by term."""
    network = random_network(5, dim=5, outputs=OUTPUTS, depth=2)
    inputs, frame, diagonal = at_one_point(5, (1, 3))
    div = by_autodiff(network, inputs.z, whitened(5), diagonal)
    want = network.theta0 + network.field(inputs.z) @ inputs.drift + div
    assert_close(network(inputs, frame), want, rtol=1e-12)
