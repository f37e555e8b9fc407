"""Shared fixtures: a global JAX flag that a test changed by accident is a failure."""

import sys
from collections.abc import Callable, Iterator
from typing import Any

import jax
import pytest


@pytest.fixture(autouse=True)
def no_global_flag_changes() -> Iterator[None]:
    before = jax.config.jax_enable_x64
    yield
    assert jax.config.jax_enable_x64 == before


@pytest.fixture
def command(monkeypatch: Any, capsys: Any) -> Callable[..., tuple[Any, Any]]:
    """`steinquad` with these arguments, in this process: its exit code and what it printed."""
    from steinquad.cli.main import main

    def run(*arguments: Any) -> tuple[Any, Any]:
        monkeypatch.setattr(sys, "argv", ["steinquad", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            main()
        return stop.value.code, capsys.readouterr()

    return run
