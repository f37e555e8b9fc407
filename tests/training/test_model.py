"""Two roads to the residuals and their derivatives: they agree, in panels, with padding."""

import jax
import numpy as np
import pytest
from helpers import assert_close, normal_data, random_network

import steinquad.training.model as module
import steinquad.training.objective as objective
from steinquad.training.model import Device, Host, model
from steinquad.training.objective import TrainingSet, flatten, predict

N = 30
NOISE = np.array([0.6, 1.4])
WEIGHTS = np.random.default_rng(3).uniform(0.2, 3.0, size=N)


def problem(points=N):
    """Two outputs, unequal weights; fewer points are filled up, so that all compile once."""
    network = random_network(2, dim=2, outputs=2, width=4)
    data = normal_data(1, n=N, dim=2, outputs=2, weights=WEIGHTS)
    if points < N:
        block = jax.tree.map(lambda a: a[:points], data.merged())
        data = TrainingSet.build(block.inputs, data.frame, block.y, block.weights, room=N)
    return network, data, flatten(network)


def residuals(network, data) -> np.ndarray:
    """As the objective defines them, (n, k)."""
    block = data.merged()
    return np.sqrt(block.weights)[:, None] * (predict(network, data) - block.y)


@pytest.mark.parametrize("points", [N, 26])
def test_host_and_device_agree(points):
    network, data, vector = problem(points)
    assert data.blocks.weights.shape == (1, N) and data.n == N
    host, device = Host(network, data), Device(network, data)
    squares = np.sum(residuals(network, data) ** 2, axis=0)
    assert_close(host.squares(vector), squares, rtol=1e-13)
    assert_close(device.squares(vector), squares, rtol=1e-13)
    assert isinstance(host.gram(vector, NOISE)[0], np.ndarray)
    for found, want in zip(host.gram(vector, NOISE), device.gram(vector, NOISE), strict=True):
        assert_close(found, np.asarray(want), rtol=1e-12)
    rows = host.jacobian(vector)
    assert_close(rows, device.jacobian(vector)[: len(rows)], rtol=1e-12)
    assert (
        len(rows) == 2 * points
    )  # points that only fill up have no rows here, and rows of 0 there
    assert not device.jacobian(vector)[len(rows) :].any()
    gradient, sums = device.gradient(vector, NOISE)
    assert_close(gradient, host.gram(vector, NOISE)[1], rtol=1e-12)
    assert_close(sums, squares, rtol=1e-12)


def test_gram_is_that_of_the_jacobian():
    network, data, vector = problem()
    host = Host(network, data)
    matrix, gradient, squares = host.gram(vector, NOISE)
    rows = host.jacobian(vector) / np.tile(NOISE, N)[:, None]
    r = residuals(network, data) / NOISE
    assert_close(matrix, rows.T @ rows, rtol=1e-13)
    assert_close(gradient, rows.T @ r.ravel(), rtol=1e-13)
    assert_close(squares, np.sum(r**2, axis=0) * NOISE**2, rtol=1e-13)


def by_differences(host, vector, along):
    """J^T of the second derivative of the residuals along a direction."""
    step = 1e-4
    r = [host._residuals(vector + s * step * along) for s in (-1, 0, 1)]
    second = (r[0] - 2 * r[1] + r[2]) / step**2 / NOISE
    return (host.jacobian(vector) / np.tile(NOISE, N)[:, None]).T @ second.ravel()


def test_bend_is_the_second_derivative():
    network, data, vector = problem()
    host, device = Host(network, data), Device(network, data)
    along = 0.1 * np.random.default_rng(0).normal(size=len(vector))
    exact = device.bend(vector, NOISE, along)
    assert_close(exact, by_differences(host, vector, along), rtol=1e-6)  # rounding over step^2
    host.gram(vector, NOISE)
    assert_close(host.bend(vector, NOISE, along), exact, rtol=1e-2)  # a difference of tenths
    assert np.abs(exact).max() > 1e-3


def test_several_panels_change_nothing(monkeypatch):
    """Of Jacobian on the host, of blocks on the device."""
    network, data, vector = problem()
    along = 0.1 * np.random.default_rng(0).normal(size=len(vector))
    whole = Host(network, data)
    want = (*whole.gram(vector, NOISE), whole.bend(vector, NOISE, along))
    monkeypatch.setattr(module, "KEPT", 1)
    monkeypatch.setattr(module.host, "PANEL", 7)
    cut = Host(network, data)
    found = (*cut.gram(vector, NOISE), cut.bend(vector, NOISE, along))
    assert len(cut._panels()) == 5
    for a, b in zip(found, want, strict=True):
        assert_close(a, b, rtol=1e-13)
    monkeypatch.setattr(objective, "PANEL", 8)
    monkeypatch.setattr(objective, "BLOCK_CPU", 4)
    _, data, _ = problem()
    assert len(list(data.panels())) == 4
    for a, b in zip(Device(network, data).gram(vector, NOISE), want[:3], strict=True):
        assert_close(np.asarray(a), b, rtol=1e-12)


def test_bend_after_another_gram_is_that_of_the_last():
    """The host remembers rows: they must be those of the weights it was asked for last."""
    network, data, vector = problem()
    along = 0.1 * np.random.default_rng(0).normal(size=len(vector))
    fresh, used = Host(network, data), Host(network, data)
    used.gram(vector + 0.3, NOISE)
    used.gram(vector, NOISE)
    used.squares(vector - 0.2)
    fresh.gram(vector, NOISE)
    want = fresh.bend(vector, NOISE, along)
    assert np.array_equal(used.bend(vector, NOISE, along), want)


def test_points_of_weight_zero_say_nothing():
    network, data, vector = problem()
    block = data.merged()
    weights = np.where(np.arange(N) < 20, WEIGHTS, 0.0)
    some = TrainingSet.build(block.inputs, data.frame, block.y, weights)
    first = jax.tree.map(lambda a: a[:20], block)
    few = TrainingSet.build(first.inputs, data.frame, first.y, first.weights)
    for a, b in zip(
        Host(network, some).gram(vector, NOISE),
        Host(network, few).gram(vector, NOISE),
        strict=True,
    ):
        assert_close(a, b, rtol=1e-13)


@pytest.mark.parametrize(
    ("depth", "activation", "kind"),
    [(2, "tanh", Host), (2, "celu", Host), (2, "sine", Device), (3, "tanh", Device)],
)
def test_the_road_follows_the_network(monkeypatch, depth, activation, kind):
    network = random_network(1, dim=2, depth=depth, activation=activation)
    data = normal_data(1, n=5, dim=2)
    assert type(model(network, data)) is kind
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    assert type(model(network, data)) is Device


def test_a_large_damping_allows_a_curvature_of_single_precision(monkeypatch):
    """Of G alone, once its trace is known, and for large networks only."""
    network, data, vector = problem()
    want = Host(network, data).gram(vector, NOISE)
    monkeypatch.setattr(module, "LARGE", 0)
    host = Host(network, data)
    exact = [host.gram(vector, NOISE, damping) for damping in (1e9, 0.0)]
    for found in exact:
        assert all(np.array_equal(a, b) for a, b in zip(found, want, strict=True))
    matrix, gradient, squares = host.gram(vector, NOISE, damping=1e9)
    assert matrix.dtype == np.float64 and not np.array_equal(matrix, want[0])
    assert np.abs(matrix - want[0]).max() < 1e-6 * np.trace(want[0])
    assert np.array_equal(gradient, want[1]) and np.array_equal(squares, want[2])
