"""One count of steps and one best answer, over all networks of a fit."""

from types import SimpleNamespace

import numpy as np
import pytest

import steinquad as sq
from steinquad._types import no_progress
from steinquad.fitting.outputs import Outputs
from steinquad.fitting.trajectory import Trajectory

DATA = sq.Dataset(np.arange(4.0), [8.0, 8.0, 12.0, 12.0])  # mean 10, std 2


def result(losses, errors, theta0, corrected=None, evaluations=5):
    return SimpleNamespace(
        losses=np.array(losses),
        validation_errors=np.array(errors),
        theta0=np.array(theta0)[:, None],
        corrected=None if corrected is None else np.array(corrected)[:, None],
        evaluations=evaluations,
    )


@pytest.fixture
def trajectory():
    return Trajectory(no_progress, Outputs.fit(DATA))


def test_the_answer_shown_is_that_of_the_least_held_out_error(trajectory):
    assert trajectory.steps == 0 and np.isnan(trajectory.loss) and trajectory.least == np.inf
    trajectory.add(result([3.0, 2.0, 1.0], [0.5, 0.2, 0.4], [1.0, 2.0, 3.0]), None)
    trajectory.add(result([9.0, 8.0], [0.3, 0.1], [4.0, 5.0]), None)
    history = trajectory.history()
    np.testing.assert_allclose(history["theta0"][:, 0], [12, 14, 14, 14, 20])
    np.testing.assert_array_equal(history["held_out"], [0.5, 0.2, 0.4, 0.3, 0.1])
    assert trajectory.least == 0.1 and trajectory.loss == 8.0 and trajectory.evaluations == 10


def test_without_held_out_points_the_last_step_counts(trajectory):
    trajectory.add(result([3.0, 2.0], [], [1.0, 2.0]), None)
    np.testing.assert_allclose(trajectory.history()["theta0"][:, 0], [12, 14])
    assert np.isnan(trajectory.history()["held_out"]).all()
    assert not 0 < trajectory.least < np.inf  # nothing is known that could be called rough


def test_a_corrected_path_is_shown_instead(trajectory):
    trajectory.add(result([1.0], [0.5], [1.0], corrected=[-1.0]), None)
    assert trajectory.history()["theta0"][0, 0] == pytest.approx(8.0)


def test_a_training_that_goes_on_is_not_counted_twice(trajectory):
    first = result([3.0], [0.5], [1.0], evaluations=2)
    trajectory.add(first, None)
    trajectory.add(result([3.0, 2.0], [0.5, 0.4], [1.0, 2.0], evaluations=7), first)
    assert trajectory.steps == 2 and trajectory.evaluations == 7


def test_a_settled_answer_stands(trajectory):
    trajectory.settle(np.array([99.0]))
    trajectory.add(result([3.0], [1e-9], [1.0]), None)
    trajectory.step(1, 5, 0.25)
    assert (trajectory.history()["theta0"] == 99.0).all() and trajectory.loss == 0.25


def test_steps_of_all_networks_are_numbered_on():
    seen = []
    trajectory = Trajectory(lambda *report: seen.append(report), Outputs.fit(DATA))
    first = result([3.0, 2.0], [], [1.0, 2.0])
    trajectory.add(first, None)
    trajectory.reporter(None)(1, 4, 0.5)
    trajectory.reporter(first)(3, 4, 0.4)  # goes on with the two that were added
    trajectory.step(2, 6, 0.3)
    assert seen == [(3, 6, 0.5), (3, 4, 0.4), (3, 7, 0.3)]
