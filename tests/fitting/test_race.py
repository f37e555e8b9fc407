"""Which kind of network: validated on the first fold, trained once, and only where it can pay."""

from dataclasses import replace

import jax
import numpy as np
import pytest

import steinquad as sq
from steinquad._types import no_progress
from steinquad.checking.folds import folds_of
from steinquad.fitting.ensemble import Split, Trainer, splits
from steinquad.fitting.race import choose_shape, deepened, is_rough
from steinquad.fitting.shapes import Limits, Shape
from steinquad.fitting.standard_frame import StandardFrame
from steinquad.fitting.trajectory import Trajectory
from steinquad.stein.multipliers import Boundary, Constant


def dataset(n=150, d=2, f=lambda x: np.cos(x[:, 0]), **options):
    x = np.random.default_rng(0).standard_normal((n, d))
    return sq.Dataset(x, f(x), -x, **options)


def trainer(f, n=120, d=1, folds=3, **limits):
    data = dataset(n=n, d=d, f=f)
    frame = StandardFrame.fit(
        data, None, multiplier=Constant(), boundary=Boundary(), standardize="diagonal"
    )
    made = splits(folds_of(data, folds, 0), n, 0) if folds > 1 else [Split.everything(n)]
    trajectory = Trajectory(no_progress, frame.outputs)
    return Trainer(frame, made, True, 0, Limits(**limits), trajectory)


def steps(runner):
    return runner.trajectory.steps


def trained(runner, shape, **options):
    """By itself, on the first fold."""
    return runner.train(runner.splits[0], shape, **options)


SHORT = sq.GaussNewton(max_steps=40)


@pytest.fixture
def x64():
    with jax.enable_x64(True):
        yield


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("f", [lambda x: np.abs(x[:, 0] - 0.3), lambda x: np.tanh(2 * x[:, 0])])
def test_the_race_is_won_by_the_lower_held_out_error(f):
    fixed = {"width": 4, "optimizer": SHORT}
    alone = {}
    for activation in ("tanh", "celu"):
        shape = Shape(activation, 4, 2, SHORT)
        short = trained(trainer(f), shape, steps=SHORT.pilot_steps)
        alone[activation] = short.validation_errors.min()
    runner = trainer(f)
    shape, training = choose_shape(runner, fixed)
    assert shape == Shape(min(alone, key=alone.get), 4, 2, SHORT)
    assert training.validation_errors.min() == min(alone.values())
    raced = steps(runner)
    assert raced == 2 * SHORT.pilot_steps and training.stop == "max_steps"
    # the winner goes on from where the race ended, and nothing is trained twice
    member = runner.finished(runner.splits[0], shape, training)
    assert np.array_equal(member.training.losses[: len(training.losses)], training.losses)
    assert steps(runner) == raced + len(member.training.losses) - len(training.losses)
    history = runner.trajectory.history()
    assert len(history["held_out"]) == len(history["theta0"]) == steps(runner)
    runner = trainer(f, race_points=50)
    assert choose_shape(runner, fixed)[1] is None  # raced on a part of the points


@pytest.mark.usefixtures("x64")
def test_a_deeper_network_is_tried_where_the_integrand_stays_rough():
    small = {"narrow": 4, "deep": Shape("celu", 4, 3, sq.LBFGS(max_steps=1200))}

    def jump(x):
        return np.where((x > 0).any(axis=1), 0.0, np.exp(x.sum(axis=1)))

    def chosen(runner):
        shape, training = choose_shape(runner, {})
        return deepened(runner, shape, training) if is_rough(runner) else (shape, training)

    runner = trainer(jump, n=400, d=2, **small)
    shape, training = chosen(runner)
    assert (
        shape == Shape("celu", 4, 3, sq.LBFGS(max_steps=1200))
        and training.network.field.depth == 3
    )
    least = training.validation_errors.min()
    assert least == np.nanmin(runner.trajectory.history()["held_out"])
    # it has been trained to its end, and is not trained again
    before = steps(runner)
    assert (
        runner.finished(runner.splits[0], shape, training).training is training
        and steps(runner) == before
    )
    for f, n in (
        (jump, 60),  # 40 points for 71 weights
        (lambda x: x[:, 0], 400),  # u is constant
    ):
        assert chosen(trainer(f, n=n, d=2, **small))[0].depth == 2
    # tried on everything, it has to win
    easy = trainer(lambda x: np.tanh(x[:, 0]), n=400, d=2, rough=0.0, **small)
    assert chosen(easy)[0].depth == 2
    # only if nothing is given
    given = sq.BSN(activation="tanh", optimizer=sq.GaussNewton(max_steps=20))
    assert sq.estimate(dataset(n=400, d=2, f=jump), method=given).stats["depth"] == 2


@pytest.mark.usefixtures("x64")
def test_what_is_given_is_not_raced():
    runner = trainer(np.cos)
    for activation, width in (("celu", 5), ("tanh", 3)):
        shape, training = choose_shape(runner, {"activation": activation, "width": width})
        assert shape == Shape(activation, width, 2, sq.GaussNewton()) and training is None
    assert steps(runner) == 0
    # nothing to validate by
    alone = choose_shape(trainer(np.cos, folds=1), {})
    assert alone == (Shape("tanh", 16, 2, sq.GaussNewton()), None)


@pytest.mark.usefixtures("x64")
def test_a_race_of_lbfgs_is_run_again_to_its_end():
    optimizer = sq.LBFGS(max_steps=40)
    runner = trainer(lambda x: np.cos(x[:, 0]))
    shape, training = choose_shape(runner, {"width": 3, "optimizer": optimizer})
    assert shape.optimizer == optimizer and steps(runner) == 80
    assert training is None  # it cannot go on from a race


def product(x):
    return np.prod(1 / (1 + np.abs(np.tanh(x) - 0.2)), axis=1)


def ridge(x):
    return np.cosh(x.sum(axis=1) / 3)  # along no coordinate, and growing


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize(("f", "separate"), [(product, True), (ridge, False)])
def test_in_many_dimensions_held_out_points_choose_the_first_layer(f, separate):
    wide = Shape("celu", 12, 2, sq.LBFGS(max_steps=300), aligned=True)
    many = {"n": 1500, "d": 8, "in_many_dimensions": wide}
    runner = trainer(f, **many)
    shape, training = choose_shape(runner, {})
    assert shape == replace(wide, separate=separate)
    alone = trained(trainer(f, **many), replace(wide, separate=not separate))
    assert training.validation_errors.min() < alone.validation_errors.min()
    # nothing is trained twice
    before = steps(runner)
    assert before == len(training.losses) + len(alone.losses)
    assert (
        runner.finished(runner.splits[0], shape, training).training is training
        and steps(runner) == before
    )
    assert choose_shape(runner, {"aligned": True, "separate": not separate}) == (
        replace(wide, separate=not separate),
        None,
    )
    assert choose_shape(trainer(f, folds=1, **many), {}) == (wide, None)  # nothing to validate by


@pytest.mark.usefixtures("x64")
def test_the_shape_for_few_points_in_many_dimensions():
    few, _ = choose_shape(trainer(lambda x: x[:, 0], n=300, d=8), {})
    assert few == Shape("celu", 16, 2, sq.GaussNewton(), aligned=True)
    given = {"width": 8, "aligned": False, "separate": False, "activation": "tanh"}
    shape, _ = choose_shape(trainer(lambda x: x[:, 0], n=300, d=8), given)
    assert shape == Shape("tanh", 8, 2, sq.GaussNewton())
