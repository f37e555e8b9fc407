"""A bar in a notebook: what IPython is asked to show, and that little is sent."""

import sys
from types import ModuleType

import pytest

from steinquad.terminal import notebook
from steinquad.terminal.notebook import in_notebook, notebook_bar


class Shown(ModuleType):
    """In place of IPython.display: what was drawn, in its order."""

    def __init__(self):
        super().__init__("IPython.display")
        self.drawn = []

    def HTML(self, text):
        return text

    def display(self, first, *, display_id):
        assert display_id
        self.drawn.append(first)
        return self

    def update(self, text):
        self.drawn.append(text)


@pytest.fixture
def shown(monkeypatch):
    fake = Shown()
    monkeypatch.setitem(sys.modules, "IPython", ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", fake)
    return fake


def test_a_bar_that_moves_and_goes(shown, monkeypatch):
    clock = iter([0.0, 1.0, 1.01, 1.02])
    monkeypatch.setattr(notebook, "monotonic", lambda: next(clock))
    with notebook_bar(label="<b>runs</b>", reading="spread") as move:
        move(1, 10, 0.5)
        move(2, 10, 0.4)  # too soon
        move(10, 10, 0.25)  # the last one is always shown
    first, second, last, end = shown.drawn
    assert "<progress style" in first and "&lt;b&gt;runs&lt;/b&gt;" in first
    assert 'value="1" max="10"' in second and "step 1, spread 5.00e-01, 1 s" in second
    assert 'value="10" max="10"' in last and end == ""


def test_it_goes_with_an_error_too(shown):
    with pytest.raises(ZeroDivisionError), notebook_bar():
        raise ZeroDivisionError
    assert shown.drawn[-1] == ""


def test_this_is_none():
    assert not in_notebook()
