"""Shared fixtures: a global JAX flag that a test changed by accident is a failure."""

from collections.abc import Iterator

import jax
import pytest


@pytest.fixture(autouse=True)
def no_global_flag_changes() -> Iterator[None]:
    before = jax.config.jax_enable_x64
    yield
    assert jax.config.jax_enable_x64 == before
