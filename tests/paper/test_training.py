"""Trainings as records: marks on the way, no integral of a plain network."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from steinquad.paper import workers
from steinquad.paper.record import Record, Run
from steinquad.paper.training import Training
from steinquad.paper.workers import execute
from steinquad.problems import genz
from steinquad.training.adam import Adam
from steinquad.training.hessian_free import HessianFree
from steinquad.training.lbfgs import LBFGS

SMALL = {"width": 4, "depth": 2}


def follow(training, d=1, n=24, seed=0):
    ticks = itertools.count()
    return training.follow(genz("continuous", d), n, seed, lambda: float(next(ticks)))


QUICK = [(True, 2), (False, 5)]
REST = [(True, 1), (True, 5), (False, 1), (False, 2)]


@pytest.mark.parametrize(
    ("stein", "d"), [*QUICK, *(pytest.param(*case, marks=pytest.mark.slow) for case in REST)]
)
def test_marks_on_the_way(stein, d):
    outcome = follow(Training(stein=stein, optimizer=Adam(max_steps=12), **SMALL), d)
    marks = outcome["trajectory"]
    assert [mark.iteration for mark in marks] == [1, 2, 5, 10, 12]
    assert [mark.condition is not None for mark in marks] == [True, False, False, True, True]
    assert [mark.seconds for mark in marks] == sorted(mark.seconds for mark in marks)
    assert marks[-1].loss == outcome["loss"] < marks[0].loss
    assert all(mark.condition >= 1 for mark in marks if mark.condition)
    assert (outcome["estimate"] is None) == (outcome["error"] is None) == (not stein)
    assert outcome["status"] == "max_steps"


@pytest.mark.parametrize("optimizer", [Adam(batch=8), LBFGS(rtol=0.0), HessianFree()])
def test_every_optimizer_is_followed_and_repeats(optimizer):
    # ReLU: no Hessian to compile
    few = replace(optimizer, max_steps=3)
    training = Training(stein=True, optimizer=few, activation="relu", **SMALL)
    one, again = follow(training), follow(training)
    assert one["trajectory"] == again["trajectory"]
    assert [mark.iteration for mark in one["trajectory"]] == [1, 2, 3]
    assert one["loss"] != follow(training, seed=1)["loss"]


def test_relu_has_no_condition():
    training = Training(
        stein=False, optimizer=Adam(max_steps=1), activation="relu", width=4, depth=2
    )
    assert [mark.condition for mark in follow(training)["trajectory"]] == [None]


def test_a_training_is_a_record(monkeypatch):
    """End to end, but on an integrand that costs nothing."""
    small = Training(stein=True, optimizer=LBFGS(max_steps=5, rtol=0.0), **SMALL)
    monkeypatch.setattr(workers, "build_method", lambda name, steps: small)
    record = execute(Run("genz-continuous", "BSN L-BFGS", 24, 1, 0, {"max_steps": 5}))
    assert Record.from_json(record.to_json()) == record
    assert record.error == abs(record.estimate - record.truth) and record.std is None
    assert record.trajectory[-1].iteration == 5 and np.isfinite(record.loss)
