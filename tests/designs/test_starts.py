"""Where chains begin: given points, a prior, the likeliest of some candidates."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as nd
import pytest
import scipy.stats as st
from sound_chains import NORMAL

from steinquad.designs import MALA
from steinquad.designs._starts import HALF_WIDTH, as_start, start_points
from steinquad.designs._target import as_target
from steinquad.errors import InputError
from steinquad.measures import LogDensity, Product, as_measure


def test_starts():
    def prior(chains, seed):
        return np.random.default_rng(seed).uniform(0, 1, (chains, 2)) * [[1], [-1]]

    # half of the starts from the prior have no density, and are drawn again
    half = LogDensity(lambda x: jnp.where(x[0] > 0, -x @ x / 2, jnp.nan), 2)
    calls = []

    def either(chains, seed):
        calls.append(seed)
        points = prior(chains, seed)
        return points if len(calls) < 2 else np.abs(points)

    options = {"chains": 2, "warmup": 0, "step_size": 1e-12}
    sample = MALA(start=either, **options).draw(half, 4, seed=0)
    assert sample.stats["redrawn_starts"] == 1 and len(calls) == 2
    np.testing.assert_allclose(sample.x[0], prior(2, calls[0])[0], atol=1e-4)
    np.testing.assert_allclose(sample.x[2], np.abs(prior(2, calls[1])[1]), atol=1e-4)
    box = as_measure(nd.Uniform(2.0, 3.0).expand([2]).to_event(1))
    for start in (box, box.dist, Product({"a": st.uniform(2, 1), "b": st.uniform(2, 1)})):
        x = MALA(start=start, **options).draw(half, 4, seed=0).x
        assert np.all((x > 1.9) & (x < 3.1))


def test_a_chain_starts_at_the_likeliest_of_its_candidates():
    normal = LogDensity(lambda x: -x @ x / 2, 2)
    drawn = []

    def prior(count, seed):
        drawn.append(np.random.default_rng(seed).normal(size=(count, 2)))
        return drawn[-1]

    options = {"chains": 3, "warmup": 0, "step_size": 1e-14, "start": prior}
    x = MALA(candidates=7, **options).draw(normal, 3, seed=0).x
    groups = drawn[0].reshape(3, 7, 2)
    nearest = np.linalg.norm(groups, axis=2).argmin(axis=1)
    np.testing.assert_allclose(x, groups[np.arange(3), nearest], atol=1e-5)
    with pytest.raises(InputError, match="candidates is 2, but start is an array"):
        MALA(candidates=2, start=np.zeros((4, 2))).draw(normal, 8, seed=0)
    with pytest.raises(InputError, match="candidates"):
        MALA(candidates=0)


def test_without_anything_to_go_by_it_is_a_box():
    bounded = LogDensity(lambda x: -jnp.sum(x), 2, {0: (0, None)})
    with jax.enable_x64(True):
        start = start_points(None, bounded, as_target(bounded), 50, 0)
    assert np.all(np.abs(start.y) < HALF_WIDTH) and np.ptp(start.y) > HALF_WIDTH
    np.testing.assert_allclose(start.value, start.y[:, 0] - np.exp(start.y[:, 0]) - start.y[:, 1])
    np.testing.assert_allclose(start.slope[:, 0], 1 - np.exp(start.y[:, 0]), atol=1e-12)


def test_arrays_become_tuples_and_laws_stay():
    assert as_start(np.array([1.0, 2.0])) == ((1.0,), (2.0,)) and as_start(None) is None
    law = nd.Normal()
    assert as_start(law) is law and as_start(max) is max


NOWHERE = LogDensity(lambda x: jnp.log(-(x[0] ** 2)), 1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: MALA(start=np.zeros((3, 2))).draw(NORMAL, 8, seed=0), r"shape \(3, 2\)"),
        (lambda: MALA(start=np.full((4, 2), np.nan)), "start contains NaN"),
        (lambda: MALA(start=-np.ones(4)).draw(as_measure(nd.Gamma(2.0)), 8, seed=0), "outside"),
        (lambda: MALA(start=np.zeros(4)).draw(as_measure(nd.Gamma(2.0)), 8, seed=0), "in row 0"),
        (lambda: MALA().draw(NOWHERE, 8, seed=0), "no point of finite log density"),
    ],
)
def test_bad_input_is_one_sentence(call, message):
    with pytest.raises(InputError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value) and str(caught.value).endswith(".")
