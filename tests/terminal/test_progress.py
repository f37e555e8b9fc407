"""A bar for people, and not a sign of it anywhere else."""

import io

import pytest
from rich.console import Console
from rich.progress import MofNCompleteColumn, TimeElapsedColumn

from steinquad.terminal import progress
from steinquad.terminal.progress import drawn_bar, per_second, progress_bar


@pytest.fixture
def screen(monkeypatch):
    """What a terminal is sent, in place of standard error."""
    sent = io.StringIO()
    console = Console(file=sent, force_terminal=True, width=100)
    monkeypatch.setattr(progress, "Console", lambda **_: console)
    return sent


def test_a_terminal_shows_label_count_and_reading(screen):
    with progress_bar(label="[b]runs[/b]", reading="spread") as move:
        move(3, 10, 0.25)
    text = screen.getvalue()
    assert "[b]runs[/b]" in text and "step 3" in text and "spread 2.50e-01" in text


def test_a_total_may_come_later(screen):
    columns = MofNCompleteColumn(), TimeElapsedColumn()
    with drawn_bar("points", *columns, enabled=True) as move:
        move(total=7)
        move(completed=2, note="1 failed")
    assert "2/7" in screen.getvalue() and "1 failed" in screen.getvalue()


def test_nothing_is_drawn_for_json_or_into_a_log(screen, capsys, monkeypatch):
    with progress_bar(enabled=False) as move:
        move(1, 2, 0.5)
    assert screen.getvalue() == ""
    monkeypatch.undo()
    with progress_bar() as move:  # standard error is no terminal here
        move(1, 2, 0.5)
    assert capsys.readouterr() == ("", "")


def test_an_error_in_the_block_is_not_swallowed(screen):
    with pytest.raises(ZeroDivisionError), progress_bar():
        raise ZeroDivisionError


def test_steps_a_second_in_place_of_the_number(monkeypatch):
    clock, steps = iter([10.0, 12.0, 18.0]), []
    monkeypatch.setattr(progress, "monotonic", lambda: next(clock))
    move = per_second(lambda *step: steps.append(step))
    move(100, 900, 0.5)
    move(800, 900, 0.5)
    assert steps == [(100, 900, 50.0), (800, 900, 100.0)]
