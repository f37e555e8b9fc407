"""Measures on all of R^d: the change of variables, and programs that outlive no measure."""

import gc

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as nd
import pytest
import scipy.stats as st
from sound_chains import N, excess

from steinquad.designs import MALA, NUTS
from steinquad.designs._target import PROGRAMS, as_target, compiled
from steinquad.errors import InputError
from steinquad.measures import Draws, LogDensity, Product, as_measure

SUPPORT = {"g": (0, None), "u": (-1, 3), "e": (None, 5)}


def every_kind(x):
    """A gamma, a uniform and a reflected exponential."""
    return 2 * jnp.log(x[0]) - 3 * x[0] + 2 * x[2]


def test_the_way_to_real_space_and_back():
    measure = LogDensity(every_kind, 3, SUPPORT, names=list(SUPPORT))
    target = as_target(measure)
    y = np.random.default_rng(0).normal(size=(5, 3))
    with jax.enable_x64(True):
        for point in jnp.asarray(y):
            x = target.to_x(point)
            assert measure.support.contains(np.asarray(x)[None]).all()
            np.testing.assert_allclose(target.to_y(x), point, rtol=1e-10, atol=1e-10)
            # The Jacobian by differentiation of the map.
            _, volume = np.linalg.slogdet(jax.jacfwd(target.to_x)(point))
            want = float(every_kind(x)) + volume
            assert float(target.log_density(point)) == pytest.approx(want, rel=1e-10)


@pytest.mark.parametrize("d", (1, 2, 5))
def test_without_bounds_nothing_is_changed(d):
    target = as_target(LogDensity(lambda x: -x @ x / 2, d))
    y = jnp.arange(1.0, d + 1)
    assert target.to_x(y) is y and target.to_y(y) is y
    assert float(target.log_density(y)) == pytest.approx(-float(y @ y) / 2)


def test_what_is_not_finite_is_no_place_to_go():
    target = as_target(LogDensity(lambda x: jnp.where(x[0] > 0, jnp.inf, jnp.nan), 1))
    assert float(target.log_density(jnp.ones(1))) == -np.inf
    assert float(target.log_density(-jnp.ones(1))) == -np.inf


def test_programs_are_built_once_and_die_with_their_measure():
    one, other = (LogDensity(lambda x: -x @ x / 2, 1) for _ in range(2))
    built = []
    for measure, name in ((one, "a"), (one, "b"), (other, "a"), (one, "a")):
        assert compiled(measure, name, lambda key=(name,): built.append(key) or key) == (name,)
    assert built == [("a",), ("b",), ("a",)]
    gc.collect()  # those of measures that other tests have left
    before = len(PROGRAMS)
    del one, measure
    gc.collect()
    assert len(PROGRAMS) == before - 1


def test_bounded_coordinates_of_every_kind():
    """Which the chain sees as logs and logits."""
    measure = LogDensity(every_kind, 3, SUPPORT, names=list(SUPPORT))
    sample = MALA(thin=2).draw(measure, N, seed=0)
    marginals = (st.gamma(3, scale=1 / 3), st.uniform(-1, 4), st.expon())
    uniform = np.column_stack([marginals[0].cdf(sample.x[:, 0]), marginals[1].cdf(sample.x[:, 1]),
                               marginals[2].sf((5 - sample.x[:, 2]) * 2)])  # fmt: skip
    below = (uniform[:, :, None] < [0.1, 0.25, 0.5, 0.75, 0.9]).reshape(N, -1).astype(float)
    assert excess(below, np.tile([0.1, 0.25, 0.5, 0.75, 0.9], 3), sample.groups) < 1
    assert measure.support.contains(sample.x).all()
    np.testing.assert_array_equal(sample.score, measure.score(sample.x))
    np.testing.assert_allclose(sample.score[:, 1:], np.broadcast_to([0, 2], (N, 2)), atol=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: MALA().draw(as_measure(st.norm()), 8, seed=0), "use design=IID"),
        (lambda: MALA().draw(Product({"a": nd.Normal()}), 8, seed=0), "LogDensity"),
        (lambda: NUTS().draw(Draws([1.0, 2.0], [1.0, 2.0]), 8, seed=0), "LogDensity"),
    ],
)
def test_bad_input_is_one_sentence(call, message):
    with pytest.raises(InputError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value) and str(caught.value).endswith(".")
