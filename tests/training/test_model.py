"""Two roads to the residuals and their derivatives: they agree, in panels, with padding."""

import jax
import numpy as np
import pytest
from helpers import assert_close, normal_data, random_network

from steinquad.training.model import CompiledModel, NumpyModel, model
from steinquad.training.objective import Sizes, TrainingSet, flatten, predict

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
def test_the_two_roads_agree(points):
    network, data, vector = problem(points)
    assert data.blocks.weights.shape == (1, N) and data.n == N
    by_numpy, compiled = NumpyModel(network, data), CompiledModel(network, data)
    squares = np.sum(residuals(network, data) ** 2, axis=0)
    assert_close(by_numpy.squares(vector), squares, rtol=1e-13)
    assert_close(compiled.squares(vector), squares, rtol=1e-13)
    assert isinstance(by_numpy.gram(vector, NOISE)[0], np.ndarray)
    roads = (road.gram(vector, NOISE) for road in (by_numpy, compiled))
    for ours, theirs in zip(*roads, strict=True):
        assert_close(ours, np.asarray(theirs), rtol=1e-12)
    rows = by_numpy.jacobian(vector)
    assert_close(rows, compiled.jacobian(vector)[: len(rows)], rtol=1e-12)
    # points that only fill up have no rows here, and rows of 0 there
    assert len(rows) == 2 * points
    assert not compiled.jacobian(vector)[len(rows) :].any()
    gradient, sums = compiled.gradient(vector, NOISE)
    assert_close(gradient, by_numpy.gram(vector, NOISE)[1], rtol=1e-12)
    assert_close(sums, squares, rtol=1e-12)


def test_gram_is_that_of_the_jacobian():
    network, data, vector = problem()
    by_numpy = NumpyModel(network, data)
    matrix, gradient, squares = by_numpy.gram(vector, NOISE)
    rows = by_numpy.jacobian(vector) / np.tile(NOISE, N)[:, None]
    r = residuals(network, data) / NOISE
    assert_close(matrix, rows.T @ rows, rtol=1e-13)
    assert_close(gradient, rows.T @ r.ravel(), rtol=1e-13)
    assert_close(squares, np.sum(r**2, axis=0) * NOISE**2, rtol=1e-13)


def by_differences(by_numpy, vector, along):
    """J^T of the second derivative of the residuals along a direction."""
    step = 1e-4
    r = [by_numpy._residuals(vector + s * step * along) for s in (-1, 0, 1)]
    second = (r[0] - 2 * r[1] + r[2]) / step**2 / NOISE
    return (by_numpy.jacobian(vector) / np.tile(NOISE, N)[:, None]).T @ second.ravel()


def test_bend_is_the_second_derivative():
    network, data, vector = problem()
    by_numpy, compiled = NumpyModel(network, data), CompiledModel(network, data)
    along = 0.1 * np.random.default_rng(0).normal(size=len(vector))
    exact = compiled.bend(vector, NOISE, along)
    assert_close(exact, by_differences(by_numpy, vector, along), rtol=1e-6)  # rounding over step^2
    by_numpy.gram(vector, NOISE)
    assert_close(by_numpy.bend(vector, NOISE, along), exact, rtol=1e-2)  # a difference of tenths
    assert np.abs(exact).max() > 1e-3


def test_several_panels_of_jacobian_change_nothing():
    network, _, vector = problem()
    data = normal_data(1, n=600, dim=2, outputs=2)
    along = 0.1 * np.random.default_rng(0).normal(size=len(vector))
    whole, cut = NumpyModel(network, data), NumpyModel(network, data, kept=1)
    want = (*whole.gram(vector, NOISE), whole.bend(vector, NOISE, along))
    found = (*cut.gram(vector, NOISE), cut.bend(vector, NOISE, along))
    assert len(whole._panels()) == 1 and len(cut._panels()) == 5
    for a, b in zip(found, want, strict=True):
        assert_close(a, b, rtol=1e-12)


def test_several_panels_of_blocks_change_nothing():
    network, data, vector = problem()
    block = data.merged()
    sizes = Sizes(block=4, panel=8)
    cut = TrainingSet.build(block.inputs, data.frame, block.y, block.weights, sizes=sizes)
    assert len(list(cut.panels())) == 4
    want = NumpyModel(network, data).gram(vector, NOISE)
    for a, b in zip(CompiledModel(network, cut).gram(vector, NOISE), want, strict=True):
        assert_close(np.asarray(a), b, rtol=1e-12)


def test_bend_after_another_gram_is_that_of_the_last():
    """NumPy's road remembers rows: they must be those of the weights it was asked for last."""
    network, data, vector = problem()
    along = 0.1 * np.random.default_rng(0).normal(size=len(vector))
    fresh, used = NumpyModel(network, data), NumpyModel(network, data)
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
        NumpyModel(network, some).gram(vector, NOISE),
        NumpyModel(network, few).gram(vector, NOISE),
        strict=True,
    ):
        assert_close(a, b, rtol=1e-13)


@pytest.mark.parametrize(
    ("depth", "activation", "kind"),
    [
        (2, "tanh", NumpyModel),
        (2, "celu", NumpyModel),
        (2, "sine", CompiledModel),
        (3, "tanh", CompiledModel),
    ],
)
def test_the_road_follows_the_network(monkeypatch, depth, activation, kind):
    network = random_network(1, dim=2, depth=depth, activation=activation)
    data = normal_data(1, n=5, dim=2)
    assert type(model(network, data)) is kind
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    assert type(model(network, data)) is CompiledModel


def test_a_large_damping_allows_a_curvature_of_single_precision():
    """Of G alone, once its trace is known, and for large networks only."""
    network, data, vector = problem()
    want = NumpyModel(network, data).gram(vector, NOISE)
    by_numpy = NumpyModel(network, data, large=0)
    exact = [by_numpy.gram(vector, NOISE, damping) for damping in (1e9, 0.0)]
    for found in exact:
        assert all(np.array_equal(a, b) for a, b in zip(found, want, strict=True))
    matrix, gradient, squares = by_numpy.gram(vector, NOISE, damping=1e9)
    assert matrix.dtype == np.float64 and not np.array_equal(matrix, want[0])
    assert np.abs(matrix - want[0]).max() < 1e-6 * np.trace(want[0])
    assert np.array_equal(gradient, want[1]) and np.array_equal(squares, want[2])
