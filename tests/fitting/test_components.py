"""Principal components: there and back, what is left out, which of them matter."""

import numpy as np
import pytest

import steinquad as sq
from steinquad.checking.standard_error import standard_error, weighted_mean
from steinquad.fitting.components import ComponentModel, Components
from steinquad.points import Points


def dataset(d, r=3, k=12, small=0.0, **options):
    """k outputs of different units that are combinations of r functions of d inputs."""
    rng = np.random.default_rng(10 * d + r)
    x = rng.standard_normal((40, d))
    base = np.stack([np.sin((j + 1) * x[:, j % d] + j) for j in range(r)], axis=1)
    loadings = rng.standard_normal((r, k)) * 10.0 ** rng.integers(-3, 4, k)
    fx = 2.0 + base @ loadings
    fx += small * fx.std(axis=0) * rng.standard_normal(fx.shape)
    return sq.Dataset(x, fx, -x, **options)


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("weighted", [False, True])
def test_values_go_down_and_come_back(d, weighted):
    weights = np.random.default_rng(0).uniform(0.1, 1.0, 40) if weighted else None
    data = dataset(d, weights=weights)
    components, w = Components.of(data), data.effective_weights / data.effective_weights.sum()
    assert components.count == 3 and components.shares.sum() == pytest.approx(1)
    np.testing.assert_allclose(components.axes.T @ components.axes, np.eye(3), atol=1e-12)
    z = components.data_of(data).fx
    np.testing.assert_allclose(w @ z, 0, atol=1e-12)
    # Uncorrelated, with the variances that they carry of 12 standardized outputs.
    np.testing.assert_allclose((z.T * w) @ z, 12 * np.diag(components.shares), atol=1e-9)
    np.testing.assert_allclose(components.up(z), data.fx, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(components.left_out(data) / components.scale, 0, atol=1e-12)
    np.testing.assert_allclose(components.carried.sum(axis=1), 1)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_covariance_and_std_by_brute_force(d):
    components = Components.of(dataset(d))
    draws = np.random.default_rng(1).standard_normal((50, 3)) @ np.diag([1.0, 2.0, 0.1])
    up = components.up_covariance(np.cov(draws, rowvar=False))
    np.testing.assert_allclose(up, np.cov(components.up(draws), rowvar=False), rtol=1e-8)
    std = np.array([1.0, 2.0, 0.1])
    expected = np.sqrt(np.diag(components.up_covariance(np.diag(std**2))))
    np.testing.assert_allclose(components.up_std(std), expected)

    def model(points, return_std):
        z = np.outer(points.x[:, 0], std)
        return z, np.broadcast_to(std, z.shape) if return_std else None

    points = Points(np.ones((2, d)))
    mean, spread = ComponentModel(model, components)(points, True)
    np.testing.assert_allclose(mean[1], components.up(std))
    np.testing.assert_allclose(spread[1], expected)
    assert ComponentModel(model, components)(points, False)[1] is None


def test_order_and_units_of_outputs_do_not_matter():
    data = dataset(2)
    order = np.random.default_rng(3).permutation(12)
    units = np.where(order % 2, -1.0, 1.0) * 10.0 ** (order % 5 - 2)
    other = data.with_values(units * data.fx[:, order] + order)
    one, two = Components.of(data), Components.of(other)
    np.testing.assert_allclose(two.down(other.fx), one.down(data.fx), atol=1e-9)
    theta = np.array([0.3, -1.0, 2.0])
    np.testing.assert_allclose(two.up(theta), units * one.up(theta)[order] + order, rtol=1e-9)


def test_what_is_left_out_is_counted():
    """Noise of 1e-6 is 1e-12 of the variance: it is left out, and its standard error is not."""
    data = dataset(2, small=1e-6)
    components = Components.of(data)
    assert components.count == 3
    rest = components.left_out(data)
    np.testing.assert_allclose(weighted_mean(rest, data.effective_weights), 0, atol=1e-9)
    share = np.mean((rest / components.scale) ** 2)
    assert 0.1e-12 < share < 2e-12
    error, _ = standard_error(rest, data.effective_weights)
    np.testing.assert_allclose(components.left_out_std(data), error)
    no_sample = dataset(2, small=1e-6, sampled=False)
    bound = components.left_out_std(no_sample)
    np.testing.assert_allclose(bound, np.sqrt(np.mean(rest**2, axis=0)))
    # Noise of 1e-3 is not left out.
    assert Components.of(dataset(2, small=1e-3)).count == 12


def test_constants_are_exact():
    data = dataset(1)
    data = data.with_values(np.insert(data.fx, [0, 5], [7.0, 0.0], axis=1))
    components = Components.of(data)
    still = np.array([0, 6])
    up = components.up(np.random.default_rng(0).standard_normal((4, 3)))
    np.testing.assert_array_equal(up[:, still], np.broadcast_to([7.0, 0.0], (4, 2)))
    assert not components.up_covariance(np.eye(3))[still].any()
    assert not components.left_out_std(data)[still].any()


def test_a_rotation_is_made_only_where_it_pays():
    assert Components.worthwhile(dataset(2, r=3, k=12)) is not None
    assert Components.worthwhile(dataset(2, r=2, k=8)) is None  # few outputs
    assert Components.worthwhile(dataset(2, r=3, k=12, small=0.1)) is None  # each its own
    assert Components.worthwhile(dataset(2, r=3, k=12, noise=0.1)) is None


@pytest.mark.parametrize("spared", [0.01, 0.05, 0.5])
def test_components_that_are_not_needed_leave_next_to_nothing(spared):
    components = Components.of(dataset(5, r=6, k=30, small=0.0))
    left = np.array([1e-3, 0.01, 0.3, 0.02, 1.0, 1e-4])
    needed = components.needed(left, spared, 0.0)
    squares = components.carried * left**2
    share = squares[:, ~needed].sum(axis=1) / squares.sum(axis=1)
    assert 0 < needed.sum() < 6 and share.max() <= spared
    np.testing.assert_allclose(components.left_of_outputs(left) ** 2, squares.sum(axis=1))
    assert not components.needed(np.zeros(6), spared, 0.0).any()  # nothing is left
    assert not components.needed(left, spared, 1.0).any()  # little enough
