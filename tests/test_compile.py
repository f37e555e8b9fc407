"""Compiled functions: same numbers, traced once, with the options of `jax.jit`."""

import jax.numpy as jnp
import numpy as np
import pytest

from steinquad._compile import compiled


@pytest.mark.parametrize("d", [1, 2, 5])
def test_same_numbers_and_one_trace_for_each_shape(d):
    traces = []

    def norm(x):
        """Length of x."""
        traces.append(x.shape)
        return jnp.sqrt(jnp.sum(x**2))

    fast, x = compiled(norm), np.arange(1.0, d + 1, dtype=np.float32)
    assert float(fast(x)) == pytest.approx(float(np.linalg.norm(x)), rel=1e-6)
    assert float(fast(2 * x)) == pytest.approx(2 * float(fast(x)), rel=1e-6)
    assert traces == [(d,)] and fast.__name__ == "norm" and fast.__doc__ == "Length of x."
    fast(np.append(x, x))
    assert traces == [(d,), (2 * d,)]


def test_options_are_those_of_jit():
    def power(x, k):
        return x**k if k > 1 else x  # a branch in k needs its value when it is traced

    fast = compiled(power, static_argnames="k")
    assert float(fast(3.0, k=2)) == 9.0 and float(fast(3.0, k=1)) == 3.0
