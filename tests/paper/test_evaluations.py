"""Chains and simulator runs are made once, survive a kill, and are the same for all methods."""

import os
import threading

import numpy as np
import pytest
import scipy.stats

import steinquad as sq
from steinquad.measures import as_measure
from steinquad.paper import evaluations as module
from steinquad.paper.evaluations import evaluations
from steinquad.paper.methods import DIMENSIONS
from steinquad.paper.record import Run
from steinquad.paper.workers import execute, records_of
from steinquad.problems.problem import Problem


def run(problem, method="MC", n=40, seed=0, **settings):
    design = "mala" if problem.startswith("goodwin") else "iid"
    return Run(problem, method, n, DIMENSIONS[problem], seed, {"design": design, **settings})


class Counted:
    """A cheap stand-in for the wind farm."""

    def __init__(self, fails=0):
        self.calls, self.fails = 0, fails

    def __call__(self, x):
        self.calls += 1
        if self.calls <= self.fails:
            raise KeyboardInterrupt
        return np.sin(x[:, 0])

    def problem(self):
        return Problem("cheap", self, as_measure(scipy.stats.norm()), 0.0, "")


@pytest.fixture
def normal(monkeypatch):
    """A stand-in for Goodwin's posterior, and how often its chains were begun."""
    measure = sq.LogDensity(lambda w: -w @ w / 2, 4)
    begun = []

    def chains(*, path, warmup, candidates):
        begun.append((warmup, candidates))
        design = sq.designs.MALA(5, warmup, step_size=0.1, candidates=candidates)
        return design if path is None else sq.designs.Resumable(design, path)

    monkeypatch.setattr(module, "goodwin_mala", chains)
    return [Problem(f"w{j}", lambda w, j=j: w[:, j], measure, 0.0, "") for j in range(2)], begun


def test_values_are_made_once_for_all_methods(tmp_path):
    f = Counted()
    problem = f.problem()
    first = evaluations(run("wind-farm", "MC"), problem, tmp_path)
    again = evaluations(run("wind-farm", "BSN.paper", max_steps=3), problem, tmp_path)
    assert f.calls == 1 and again.cpu_seconds == first.cpu_seconds >= 0
    np.testing.assert_array_equal(first.data.x, again.data.x)
    np.testing.assert_array_equal(first.data.fx, again.data.fx)
    bare = evaluations(run("wind-farm"), problem, None)  # the same without a directory
    np.testing.assert_array_equal(first.data.x, bare.data.x)
    np.testing.assert_array_equal(first.data.x, problem.measure.sample(40, seed=0))
    for other in (run("wind-farm", n=50), run("wind-farm", seed=1)):
        evaluations(other, problem, tmp_path)
    assert f.calls == 4 and first.measure is problem.measure and first.data.score is None


def test_a_stop_leaves_nothing_that_is_half_made(tmp_path):
    f = Counted(fails=1)
    with pytest.raises(KeyboardInterrupt):
        evaluations(run("wind-farm"), f.problem(), tmp_path)
    assert not list(tmp_path.glob("*.npz"))
    evaluations(run("wind-farm"), f.problem(), tmp_path)
    evaluations(run("wind-farm"), f.problem(), tmp_path)
    assert f.calls == 2


def test_two_at_a_time_make_it_once(tmp_path):
    f, kept = Counted(), []
    problem = f.problem()
    threads = [
        threading.Thread(
            target=lambda: kept.append(evaluations(run("wind-farm"), problem, tmp_path))
        )
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert f.calls == 1 and len(kept) == 2


def test_chains_are_shared_by_the_problems_of_a_family(tmp_path, normal):
    problems, begun = normal
    first = evaluations(run("goodwin-a1"), problems[0], tmp_path)
    other = evaluations(run("goodwin-a2", "Default"), problems[1], tmp_path)
    assert begun == [(0, 1)] and first.measure is None
    np.testing.assert_array_equal(first.data.x, other.data.x)
    np.testing.assert_array_equal(first.data.fx[:, 0], first.data.x[:, 0])
    np.testing.assert_array_equal(other.data.fx[:, 0], other.data.x[:, 1])
    np.testing.assert_allclose(first.data.score, -first.data.x)
    assert first.data.groups is not None and first.data.groups.max() == 4
    assert first.notes  # five short chains have not mixed
    answer = first.estimate(sq.MonteCarlo(), 0)
    assert answer.status.code == "suspect" and "R-hat" in answer.status.message


def test_chains_that_were_stopped_go_on(tmp_path, normal, monkeypatch):
    problems, _ = normal
    want = evaluations(run("goodwin-a1"), problems[0], None)
    made, replace = [], os.replace

    def stop(source, target):
        replace(source, target)
        made.append(target.name)
        if len(made) == 4:
            raise KeyboardInterrupt

    monkeypatch.setattr("os.replace", stop)
    with pytest.raises(KeyboardInterrupt):
        evaluations(run("goodwin-a1"), problems[0], tmp_path)
    done = [*made]
    again = evaluations(run("goodwin-a1"), problems[0], tmp_path)
    assert "run.npz" in done and not set(made[4:]) & set(done)  # no block is made twice
    np.testing.assert_array_equal(again.data.x, want.data.x)
    assert not list(tmp_path.glob("*.chains"))  # the file has it all


def test_a_file_of_something_else_is_named(tmp_path):
    evaluations(run("wind-farm"), Counted().problem(), tmp_path)
    (file,) = tmp_path.glob("*.npz")
    file.write_text("something else")
    with pytest.raises(sq.InputError, match=r"npz cannot be read; delete it"):
        evaluations(run("wind-farm"), Counted().problem(), tmp_path)


@pytest.mark.slow
def test_from_end_to_end(tmp_path):
    runs = [
        run("wind-farm", "MC"),
        run("wind-farm", "BSN.paper", max_steps=5),
        run("goodwin-a1", "BSN.paper C=std", max_steps=5),
        run("goodwin-alpha", "MC"),
    ]
    records = list(records_of(runs, 2, tmp_path))
    assert sorted(record.run.key for record in records) == sorted(each.key for each in runs)
    assert len(list(tmp_path.glob("*.npz"))) == 2
    for record in records:
        assert record.evaluation_seconds > 0 and record.error is not None
        assert execute(record.run, tmp_path).estimate == record.estimate


def test_cpu_seconds_count_work_and_not_waiting():
    start = module.cpu_seconds()
    threading.Event().wait(0.2)
    waited = module.cpu_seconds()
    while module.cpu_seconds() < waited + 0.1:
        pass
    assert 0 <= waited - start < 0.15
