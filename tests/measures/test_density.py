"""Log densities given as JAX functions."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from steinquad.errors import InputError
from steinquad.measures import LogDensity
from steinquad.support import Support


@pytest.mark.parametrize("d", [1, 2, 5])
def test_score_against_the_formula(d):
    root = np.random.default_rng(d).normal(size=(d, d))
    precision = root @ root.T + np.eye(d)
    m = LogDensity(lambda x: -0.5 * x @ precision @ x - jnp.sum(x**4), d)
    x = np.random.default_rng(1).normal(size=(7, d))
    np.testing.assert_allclose(m.score(x), -x @ precision - 4 * x**3, rtol=1e-12)
    assert m.log_density(x).shape == (7,) and m.score(x).dtype == np.float64
    assert m.dim == d and m.provides == {"log_density"}
    assert jnp.ones(()).dtype == jnp.float32


def test_support_names_and_sampler():
    m = LogDensity(
        lambda x: -x[0] - x[1] ** 2,
        2,
        support={"rate": (0.0, None)},
        names=["rate", "level"],
        sample=lambda n, seed: np.abs(np.random.default_rng(seed).normal(size=(n, 2))),
    )
    assert m.support == Support.box([0.0, -np.inf], np.inf, 2)
    assert m.log_density(np.array([[-1.0, 0.0], [1.0, 0.0]])).tolist() == [-np.inf, -1.0]
    assert m.sample(3, seed=0).shape == (3, 2)
    assert m.provides == {"log_density", "sample"}


def test_traced_once_for_each_shape():
    traces = []

    def log_density(x):
        traces.append(x.shape)
        return -x @ x

    m = LogDensity(log_density, 2)
    x = np.ones((4, 2))
    m.score(x)
    before = len(traces)
    m.score(2 * x)
    with jax.enable_x64(True):
        m.score(3 * x)
    assert len(traces) == before


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda x: x, r"float64\[2\].*return one float|return one float"),
        (lambda x: jnp.sum(x, keepdims=True), "return one float"),
        (lambda x: (jnp.sum(x), 1.0), "return one float"),
        (lambda x: jnp.argmax(x), "return one float"),
        (lambda x: np.sum(np.asarray(x)), "not a JAX function"),
        (lambda x: x @ jnp.ones(3), r"fails on a point of shape \(2,\)"),
        ("normal", "log_density is a str"),
    ],
)
def test_refused_functions(function, words):
    with pytest.raises(InputError, match=words):
        LogDensity(function, 2)


def test_refused_arguments():
    def log_density(x):
        return -x @ x

    with pytest.raises(InputError, match="dim is 0"):
        LogDensity(log_density, 0)
    with pytest.raises(InputError, match="dim is '2'"):
        LogDensity(log_density, "2")
    with pytest.raises(InputError, match="names coordinate 'z'"):
        LogDensity(log_density, 2, support={"z": (0.0, 1.0)})
    with pytest.raises(InputError, match="has no sample"):
        LogDensity(log_density, 2).sample(3, seed=0)
    short = LogDensity(log_density, 2, sample=lambda n, seed: np.zeros((n - 1, 2)))
    with pytest.raises(InputError, match="2 rows for n = 3"):
        short.sample(3, seed=0)
