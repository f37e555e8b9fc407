"""Runs in children: reused while that is honest, refusals recorded, deaths reported."""

import multiprocessing
import os
import signal
import threading

import pytest

from steinquad.paper import workers
from steinquad.paper.methods import METHODS, takes_steps
from steinquad.paper.record import Run
from steinquad.paper.workers import Death, execute, records_of


def test_a_killed_child_is_reported_and_another_does_the_rest(monkeypatch):
    runs = [Run("genz-corner", "MC", 50, 2, seed, {"design": "iid"}) for seed in range(3)]
    children = []
    begin = workers._Worker.begin
    monkeypatch.setattr(
        workers._Worker, "begin", lambda self, run: children.append(self) or begin(self, run)
    )

    def kill():
        (process,) = multiprocessing.active_children()
        os.kill(process.pid, signal.SIGKILL)

    timer = threading.Timer(0.2, kill)  # long before it has imported anything
    timer.start()
    death, *records = records_of(runs, jobs=1)
    timer.join()
    assert death == Death(runs[0], -signal.SIGKILL)
    assert children[0] is not children[1] is children[2]  # used again
    assert [record.run for record in records] == runs[1:]
    for record in records:
        here = execute(record.run)
        assert (record.estimate, record.std) == (here.estimate, here.std)
        assert record.error == abs(record.estimate - record.truth)
        assert 0 < record.cpu_seconds < 60 and record.status == here.status
        assert 50 < record.rest_mib <= record.peak_mib < 2000
        assert set(record.versions) == {"python", "steinquad", "jax", "numpy", "scipy"}
    assert not multiprocessing.active_children()


def test_a_peak_is_that_of_its_own_run(monkeypatch):
    if not workers._forget_peak():
        pytest.skip("no /proc/self/clear_refs")
    run = Run("genz-corner", "MC", 50, 2, 0)
    execute(run)
    problem = workers.build_problem("genz-corner", 2)

    def greedy(name, d):
        del name, d
        return type(problem)(**{**vars(problem), "integrand": spend})

    def spend(x):
        return problem.integrand(x) + 0 * bytearray(256 * 2**20)[0]

    monkeypatch.setattr(workers, "build_problem", greedy)
    large = execute(run)
    monkeypatch.undo()
    small = execute(run)
    assert large.peak_mib > large.rest_mib + 250
    assert small.peak_mib < small.rest_mib + 100


def test_a_refusal_is_a_record():
    record = execute(Run("genz-continuous", "MC", 16, 1, 0, {"design": "grid"}))
    assert record.status == "refused" and record.estimate is None and record.error is None
    assert "not a sample" in record.message


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "design"),
    [*((m, "iid") for m in METHODS), *((m, "grid") for m in ("MC", "BSN.paper", "Default"))],
)
def test_every_method_runs_or_says_why_not(method, design):
    settings = {"design": design, "max_steps": 3} if takes_steps(method) else {"design": design}
    record = execute(Run("genz-continuous", method, 32, 1, 0, settings))
    if method == "MC" and design == "grid":
        assert record.status == "refused" and "not a sample" in record.message
    elif method.startswith("plain "):  # no Stein operator: fits f, but has no integral
        assert record.estimate is record.std is record.error is None
        assert record.trajectory and record.status == "max_steps"
    else:
        assert record.error is not None and record.error < 0.5, record.message
    assert (record.loss is not None) == takes_steps(method)
