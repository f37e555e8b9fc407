"""`python -m steinquad` is the command."""

import runpy
import sys

import pytest

import steinquad as sq


def test_the_module_runs_the_command(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["steinquad", "--version"])
    with pytest.raises(SystemExit) as stop:
        runpy.run_module("steinquad", run_name="__main__")
    assert stop.value.code == 0 and sq.__version__ in capsys.readouterr().out


def test_importing_it_runs_nothing(capsys):
    runpy.run_module("steinquad.__main__", run_name="steinquad.__main__")
    assert capsys.readouterr().out == ""
