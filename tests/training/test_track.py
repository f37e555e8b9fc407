"""What a track remembers of training, and when it has seen enough."""

import numpy as np
import pytest
from helpers import normal_data, random_network

from steinquad.training import track as module
from steinquad.training.model import model
from steinquad.training.objective import flatten, theta0_entries
from steinquad.training.track import Step, Track

NETWORK = random_network(0, dim=2, outputs=2)
START = flatten(NETWORK)


def moved(size: float) -> np.ndarray:
    return START + size * np.sin(np.arange(START.size))


def followed(noises, **options) -> Track:
    track = Track(NETWORK, None, **options)
    for i, noise in enumerate(noises):
        track.add(Step(moved(i), 1.0 / (i + 1), noise))
    return track


def test_without_held_out_points_and_noise_the_last_weights_are_the_best():
    track = Track(NETWORK, None)
    assert np.array_equal(track.best, START) and len(track) == 0
    for size in (3.0, 1.0, 2.0):
        track.add(Step(moved(size), loss=size))
    assert np.array_equal(track.best, moved(2.0)) and track.losses == [3.0, 1.0, 2.0]
    assert track.errors == [] and track.corrected == [] and track.gives_up(1) == ""


def test_the_least_noise_has_the_best_weights():
    track = followed([0.5, 0.2, 0.3])
    assert np.array_equal(track.best, moved(1)) and track.errors == [0.5, 0.2, 0.3]
    entries = theta0_entries(NETWORK)
    np.testing.assert_array_equal(track.theta0, [moved(i)[entries] for i in range(3)])


def test_weights_that_an_optimizer_uses_again_are_copied():
    track, vector = Track(NETWORK, None), moved(1.0)
    track.add(Step(vector, 1.0, 0.1))
    vector[:] = 7.0
    assert np.array_equal(track.best, moved(1.0)) and not np.any(track.theta0[0] == 7.0)


@pytest.mark.parametrize("outputs", [1, 2])
def test_held_out_errors_and_corrections_by_hand(outputs):
    network = random_network(1, dim=2, outputs=outputs)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 30)
    data = normal_data(5, n=30, dim=2, outputs=outputs, weights=weights)
    track = Track(network, data)
    track.add(Step(flatten(network), 1.0, noise=1e9))  # the points speak, not the noise
    squares, sums = model(network, data).moments(flatten(network))
    mean = squares / weights.sum()
    np.testing.assert_allclose(track.errors[0], np.exp(np.mean(np.log(mean))), rtol=1e-12)
    expected = np.asarray(network.theta0) - sums / weights.sum()
    np.testing.assert_allclose(track.corrected[0], expected, rtol=1e-12)


def test_one_output_fitted_exactly_does_not_make_the_error_nan(monkeypatch):
    track = Track(NETWORK, normal_data(5, n=10, dim=2, outputs=2))
    held = track._held_out
    monkeypatch.setattr(held, "moments", lambda vector: (np.array([0.0, 1.0]), np.zeros(2)))
    track.add(Step(START, 1.0))
    assert 0 <= track.errors[0] < 1e-100
    assert track.gives_up(10**6) == "the held-out error is below a millionth of the spread of f"


def test_later_steps_are_looked_at_now_and_then():
    always = module.ALWAYS_VALIDATED
    track = followed(np.linspace(1.0, 0.1, always + 25), interval=10)
    errors = np.array(track.errors)
    assert len(errors) == len(track) == always + 25
    assert len(set(errors[: always - 1])) == always - 1
    assert list(np.flatnonzero(np.diff(errors[always - 2 :]))) == [0, 10, 20]


def test_patience_counts_from_the_last_clear_improvement():
    falls = [1.0, 0.8, 0.75, 0.74]  # only the second is a tenth lower than the last mark
    assert followed(falls).gives_up(3) == ""
    assert followed(falls).gives_up(2) == "the noise was not a tenth lower after 2 more steps"
    assert followed([*falls, 0.6]).gives_up(2) == ""
    # Half of the steps so far, where those are more than the patience.
    long = list(np.geomspace(1.0, 1e-3, 40))
    assert followed([*long, *[1e-3] * 19]).gives_up(2) == ""
    assert "after 20 more steps" in followed([*long, *[1e-3] * 20]).gives_up(2)
