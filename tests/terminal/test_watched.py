"""What `progress=` may be, and that nothing is seen of it by who did not ask."""

import io
import subprocess
import sys

import numpy as np
import pytest
import scipy.stats as st
from rich.console import Console

import steinquad as sq
from steinquad._types import no_progress
from steinquad.errors import InputError
from steinquad.terminal import notebook, progress
from steinquad.terminal.watched import watched


@pytest.fixture
def screen(monkeypatch):
    """What a terminal is sent, in place of standard error."""
    sent = io.StringIO()
    console = Console(file=sent, force_terminal=True, width=100)
    monkeypatch.setattr(progress, "Console", lambda **_: console)
    return sent


@pytest.mark.parametrize("option", [None, False])
def test_nothing_by_default(option, screen):
    with watched(option) as report:
        assert report is no_progress
    assert screen.getvalue() == ""


def test_a_function_stays_what_it_is(screen):
    steps = []
    with watched(lambda *step: steps.append(step)) as report:
        report(1, 2, 0.5)
    assert steps == [(1, 2, 0.5)] and screen.getvalue() == ""


def test_a_bar_in_a_terminal(screen):
    with watched(True, label="fitting") as report:
        report(3, 10, 0.25)
    assert "fitting" in screen.getvalue() and "step 3" in screen.getvalue()


def test_a_bar_with_its_rate(screen):
    with watched(True, label="rows", rate=True) as report:
        report(3_000_000, 9_000_000, 0.25)
    assert "rows/s" in screen.getvalue() and "loss" not in screen.getvalue()


def test_a_bar_in_a_notebook(screen, monkeypatch):
    monkeypatch.setattr(notebook, "in_notebook", lambda: True)
    steps = []

    class Bar:
        def __init__(self, *, label):
            assert label == "fitting"

        def __enter__(self):
            return lambda *step: steps.append(step)

        def __exit__(self, *_):
            steps.append("gone")

    monkeypatch.setattr(notebook, "notebook_bar", Bar)
    with watched(True) as report:
        report(3, 10, 0.25)
    assert steps == [(3, 10, 0.25), "gone"] and screen.getvalue() == ""


@pytest.mark.parametrize("option", ["bar", 1, 0.0])
def test_anything_else_is_refused(option):
    with (
        pytest.raises(InputError, match="pass a function, True for a bar, or None"),
        watched(option),
    ):
        pass


class Trained(sq.MonteCarlo):
    """A method that takes steps."""

    def fit(self, data, measure, context):
        context.progress(1, 2, 0.5)
        return super().fit(data, measure, context)


X = np.random.default_rng(0).normal(size=(400, 1))
CALLS = {
    "integrate": lambda **o: sq.integrate(lambda x: x[:, 0], st.norm(), n=20, **o),
    "estimate": lambda **o: sq.estimate(sq.Dataset(X, X[:, 0], -X), **o),
    "distribution": lambda **o: sq.distribution(sq.Dataset(X, X[:, 0]), measure=st.norm(), **o),
    "posterior_expectation": lambda **o: sq.posterior_expectation(X[None], score=-X[None], **o),
}


@pytest.mark.parametrize("name", [name for name in CALLS if name != "distribution"])
def test_every_function_shows_a_bar_that_was_asked_for(name, screen):
    CALLS[name](method=Trained())
    assert screen.getvalue() == ""
    CALLS[name](method=Trained(), progress=True)
    assert "fitting" in screen.getvalue() and "loss 5.00e-01" in screen.getvalue()


@pytest.mark.parametrize("name", CALLS)
def test_every_function_refuses_what_is_no_progress(name):
    with pytest.raises(InputError, match="progress is 'bar'; pass a function"):
        CALLS[name](method=sq.MonteCarlo(), progress="bar")


def test_rich_is_not_imported_unasked():
    code = "import sys, steinquad; print('rich.progress' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
