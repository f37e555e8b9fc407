"""Log densities in JAX over dicts, vectors and other pytrees."""

from typing import Any, NamedTuple

import blackjax
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import steinquad as sq
from steinquad import InputError
from steinquad.chains.targets import as_target


class Place(NamedTuple):
    a: Any
    b: Any


@pytest.mark.parametrize("d", [1, 2, 5])
def test_a_vector_is_one_variable(d):
    a = np.cov(np.random.default_rng(0).normal(size=(d + 3, d)), rowvar=False).reshape(d, d)
    target = sq.targets.JaxDensity(lambda x: -x @ a @ x / 2, jnp.zeros(d))
    x = np.random.default_rng(1).normal(size=(4, d))
    points = target.unconstrain({"x": x})
    np.testing.assert_array_equal(points, x)
    np.testing.assert_allclose(target.score(points), -x @ a, rtol=1e-12)


def density(place):
    return -(place.a**2) - jnp.sum(place.b["deep"] ** 4)


def test_leaves_are_named_by_their_path():
    target = sq.targets.JaxDensity(density, Place(jnp.zeros(()), {"deep": jnp.zeros((2, 2))}))
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=3), rng.normal(size=(3, 2, 2))
    points = target.unconstrain({"b.deep": b, "a": a, "other": np.zeros(3)})
    expected = np.column_stack([-2 * a, -4 * b.reshape(3, 4) ** 3])
    np.testing.assert_allclose(target.score(points), expected, rtol=1e-12)


def test_the_gradients_of_blackjax_states_agree():
    def log_density(q):
        return -jnp.cosh(q["u"]) - jnp.sum((q["v"] - q["u"]) ** 2)

    draws = {"v": np.linspace(-1, 1, 6).reshape(2, 3), "u": np.array([0.3, -0.8])}
    target = as_target(log_density)
    scores = target.score(target.unconstrain(draws))
    for i, row in enumerate(scores):
        with jax.enable_x64(True):
            place = {name: jnp.asarray(values[i]) for name, values in draws.items()}
            state = blackjax.nuts(log_density, 0.1, jnp.ones(4)).init(place)
        parts = [np.ravel(state.logdensity_grad[name]) for name in ("u", "v")]
        np.testing.assert_allclose(np.sort(row), np.sort(np.concatenate(parts)), rtol=1e-12)


def test_without_a_position_the_order_of_the_draws_does_not_matter():
    def log_density(q):
        return -(q["a"] ** 2) - 2 * jnp.sum(q["b"] ** 2)

    a, b = np.array([1.0, 2.0]), np.array([[3.0, 4.0], [5.0, 6.0]])
    first, second = as_target(log_density), as_target(log_density)
    points = first.unconstrain({"a": a, "b": b})
    np.testing.assert_array_equal(second.unconstrain({"b": b, "a": a}), points)
    np.testing.assert_allclose(first.score(points), [[-2, -12, -16], [-4, -20, -24]])
    np.testing.assert_allclose(second.score(points), first.score(points))


def test_wrong_functions_and_draws_are_refused():
    with pytest.raises(InputError, match="log_density is a float"):
        sq.targets.JaxDensity(1.0)  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputError, match="without a position"):
        as_target(lambda q: -(q["a"] ** 2)).score(np.zeros((1, 1)))
    with pytest.raises(InputError, match="does not depend on 'total'"):
        as_target(lambda q: -(q["a"] ** 2)).unconstrain({"a": [1.0, 2.0], "total": [0.0, 1.0]})
    with pytest.raises(InputError, match=r"fails on a position.*NumPyro\(model, \*args\)"):
        as_target(lambda q: -(q["b"] ** 2)).unconstrain({"a": [1.0]})
    with pytest.raises(InputError, match="return one float"):
        sq.targets.JaxDensity(lambda x: x, jnp.zeros(2))
    with pytest.raises(InputError, match="draws has no variable 'x'"):
        sq.targets.JaxDensity(lambda x: -x @ x, jnp.zeros(2)).unconstrain({"y": np.zeros((3, 2))})
    with pytest.raises(InputError, match="model is a dict; pass a target of sq.targets"):
        as_target({})
    target = sq.targets.Stored([0.0], [0.0])
    assert as_target(target) is target
