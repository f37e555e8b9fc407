"""Wide types inside, the caller's settings outside, whatever happens between."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from steinquad._float64 import float64


@float64
def third(x):
    """A third of x."""
    return jnp.asarray(x) / 3


def test_computes_in_float64_and_keeps_the_name():
    assert third(1.0).dtype == jnp.float64 and float(third(1.0)) == 1 / 3
    assert third.__name__ == "third" and third.__doc__ == "A third of x."
    assert jnp.asarray(1.0).dtype == jnp.float32  # negative control: outside nothing changed


def test_strict_settings_of_the_caller_neither_matter_nor_change():
    @float64
    def mixed():
        return jnp.ones((2, 2)) + jnp.arange(2)  # ranks and types differ

    with jax.numpy_rank_promotion("raise"), jax.numpy_dtype_promotion("strict"):
        np.testing.assert_array_equal(mixed(), [[1, 2], [1, 2]])
        with pytest.raises((ValueError, TypeError)):
            jnp.ones((2, 2)) + jnp.arange(2)


def test_settings_come_back_after_an_error():
    @float64
    def broken():
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        broken()
    assert not jax.config.jax_enable_x64
