"""Compiled functions: same numbers, traced once; a new number of points compiles nothing."""

import logging

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as nd
import pytest
import scipy.stats as st

import steinquad as sq
from steinquad._compile import compiled, filled_up


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


@pytest.mark.parametrize("d", [1, 2, 5])
def test_batches_of_any_size_have_few(d):
    """Four sizes an octave, a quarter more rows at most; the first n are those of the batch."""
    sizes = set()
    for n in range(1, 1025):
        rows = np.arange(float(n * d)).reshape(n, d)
        filled = filled_up(rows)
        assert n <= len(filled) <= max(1.25 * n, 8)
        np.testing.assert_array_equal(filled[:n], rows)
        assert (filled[n:] == rows[-1]).all()
        sizes.add(len(filled))
    assert len(sizes) == 8 + 4 * 7


@pytest.fixture
def programs(caplog):
    """Names of the programs that were compiled since it was cleared."""

    class Names(list):
        def look(self):
            said = [record.getMessage() for record in caplog.records]
            self[:] = [text.split()[3] for text in said if text.startswith("Finished XLA")]
            caplog.clear()
            return list(self)

    with jax.log_compiles(), caplog.at_level(logging.WARNING):
        yield Names()


def rough(x):
    """What no polynomial fits: processes and networks are fitted too."""
    return np.logaddexp(0.0, 9.0 * (x.sum(axis=1) - 0.5)) + np.cos(7.0 * x[:, 0])


@pytest.mark.parametrize("method", [sq.Stack(), sq.BSN()], ids=lambda method: method.name)
def test_independent_distributions_of_scipy_compile_nothing(programs, method):
    """The default and networks, and at no number of points."""
    measure = sq.Product([st.uniform(), st.norm(), st.gamma(3.0)])
    for n in (40, 41, 57):
        sq.integrate(rough, measure, n=n, seed=0, method=method)
        assert programs.look() == []


@pytest.mark.parametrize(
    "measure",
    [
        nd.Normal(0.0, 1.0).expand([2]).to_event(1),
        sq.LogDensity(lambda x: -x @ x, 2, sample=lambda n, seed: _normal(n, seed)),
    ],
    ids=["numpyro", "log density"],
)
def test_programs_of_a_measure_serve_many_numbers_of_points(programs, measure):
    """Of 15 numbers of points there are four sizes; a program for each would be 45."""
    sq.integrate(rough, measure, n=64, seed=0, method=sq.Polynomial())
    programs.look()
    traces = []
    for n in range(50, 65):
        sq.integrate(rough, measure, n=n, seed=0, method=sq.Polynomial())
        traces.append(len(programs.look()))
    assert sum(traces[-8:]) == 0 and sum(map(bool, traces)) <= 2


def _normal(n, seed):
    return np.random.default_rng(seed).normal(size=(n, 2))
