"""Adam: downhill, the same again by seed, by hand for two steps, every point once in a pass."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest
from helpers import assert_close, normal_data, random_network

import steinquad as sq
from steinquad._types import no_progress
from steinquad.training.adam import Adam
from steinquad.training.objective import Penalty, flatten, value, value_and_gradient

PENALTY = Penalty(1e-8, theta0=False)


def fit(optimizer, network, data, progress=no_progress, **more):
    return optimizer.fit(network, data, flat=True, progress=progress, **more)


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_two_steps_by_hand(dim):
    network, data = random_network(1, dim=dim), normal_data(1, n=20, dim=dim)
    seen = {}
    result = fit(Adam(max_steps=2), network, data, watch=seen.__setitem__)
    at, first, second = flatten(network), 0.0, 0.0
    for step in (1, 2):
        gradient = np.asarray(value_and_gradient(jnp.asarray(at), network, data, PENALTY)[1])
        first, second = 0.9 * first + 0.1 * gradient, 0.999 * second + 0.001 * gradient**2
        mean, square = first / (1 - 0.9**step), second / (1 - 0.999**step)
        at = at - 1e-3 * mean / (np.sqrt(square) + 1e-8)
        assert_close(seen[step], at, rtol=1e-12)
        loss = float(value(jnp.asarray(at), network, data, PENALTY))
        assert result.losses[step - 1] == pytest.approx(loss, rel=1e-12)
    assert (result.stop, result.reason, result.evaluations) == ("max_steps", "reached 2 steps", 3)


@pytest.mark.parametrize("batch", [None, 8])
def test_downhill_and_the_same_again(batch):
    network, data = random_network(1, dim=2), normal_data(1, n=30, dim=2)
    optimizer = Adam(batch=batch, max_steps=200, learning_rate=1e-2)
    calls = []
    one = fit(optimizer, network, data, progress=lambda *call: calls.append(call))
    again = fit(optimizer, network, data)
    assert one.losses[-1] < 0.5 * one.losses[0]
    assert np.array_equal(one.losses, again.losses)
    assert np.array_equal(flatten(one.network), flatten(again.network))
    assert calls == [(i + 1, 200, loss) for i, loss in enumerate(one.losses)]
    last = float(value(jnp.asarray(flatten(one.network)), network, data, PENALTY))
    assert one.losses[-1] == pytest.approx(last, rel=1e-12)
    other = fit(replace(optimizer, seed=1), network, data)
    assert np.array_equal(one.losses, other.losses) == (batch is None)


def test_a_pass_sees_every_point_once():
    """The weighted mean of the batches' losses is the loss of all points, padding or not."""
    network, data = random_network(1, dim=2), normal_data(1, n=30, dim=2)
    parts = Adam(batch=8).batches(data)
    at = jnp.asarray(flatten(network))
    first = [next(parts) for _ in range(4)]
    assert [passed for _, passed in first] == [True, False, False, False] and next(parts)[1]
    counts = [float(part.blocks.weights.sum()) for part, _ in first]
    assert counts == [8, 8, 8, 6] and {part.blocks.y.shape for part, _ in first} == {(1, 8, 1)}
    none = Penalty(0.0, theta0=False)
    losses = [float(value(at, network, part, none)) for part, _ in first]
    want = float(value(at, network, data, none))
    assert np.average(losses, weights=counts) == pytest.approx(want, rel=1e-12)


def test_held_out_points_stop_it():
    network, data = random_network(1, dim=1), normal_data(1, n=20, dim=1)
    optimizer = Adam(max_steps=400, patience=20, learning_rate=0.05)
    result = fit(optimizer, network, data, validation=normal_data(2, n=30, dim=1))
    assert result.stop == "converged" and "held-out error" in result.reason
    assert len(result.validation_errors) == len(result.losses) == len(result.corrected) < 400


@pytest.mark.parametrize(
    ("option", "given"),
    [("batch", 0), ("penalty", -1), ("learning_rate", 0)],
)
def test_wrong_options_are_refused(option, given):
    with pytest.raises(sq.InputError, match=f"{option} is {given}"):
        Adam(**{option: given})
