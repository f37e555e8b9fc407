"""Outputs of two values: which they are, and the answer with their limits."""

import numpy as np
import numpyro.distributions as dist
import pytest
from scipy.special import ndtri

import steinquad as sq
from steinquad.checking.few_events import few_events


def data_of(*columns, **options):
    fx = np.stack([np.asarray(column, float) for column in columns], axis=1)
    x = np.random.default_rng(0).standard_normal((len(fx), 2))
    return sq.Dataset(x, fx, -x, **options)


def test_no_event_at_all_is_no_exact_answer():
    est = sq.estimate(data_of(np.zeros(100)))
    low, high = est.interval(0.95)
    assert est.mean[0] == 0 and low[0] == 0
    np.testing.assert_allclose(high[0], 1 - 0.025**0.01, rtol=1e-10)
    assert est.std[0] == pytest.approx(high[0] / (2 * -ndtri(0.025)))
    assert est.status.code == "constant" and "1 at 0 of 100 points" in est.status.message


def test_a_constant_that_is_no_indicator_says_what_it_leaves_open():
    est = sq.estimate(data_of(np.full(100, 2.5)))
    assert est.status.code == "constant" and est.mean[0] == 2.5
    assert "up to 3.0% of the probability" in est.status.message


@pytest.mark.parametrize("method", [sq.MonteCarlo(), sq.Polynomial(), None])
def test_few_events_have_limits_whatever_the_method(method):
    """P[x > q] = 0.005 from 300 points: 40 seeds, of which 95 % intervals should miss two; more
    than five have a chance below 2 %.
    """
    limit, missed = -ndtri(0.005), 0
    for seed in range(40):
        est = sq.integrate(
            lambda x: x[:, 0] > limit, dist.Normal(0, 1), n=300, method=method, seed=seed
        )
        low, high = est.interval()
        missed += not low <= 0.005 <= high
        assert est.status.code in ("converged", "constant")
    assert missed <= 5


def test_ten_events_are_left_to_the_method():
    event = np.arange(100) < 10
    assert few_events(data_of(event)) is None
    assert few_events(data_of(event[1:])) is not None


def test_which_outputs_take_two_values():
    zeros, three = np.zeros(50), np.arange(50) < 3
    normal = np.random.default_rng(1).standard_normal(50)
    few = few_events(data_of(normal, zeros, three, 2.0 - 5.0 * three))
    assert few is not None
    # Beside other values, zeros are more likely one of them than an event that did not happen.
    assert few.applies.tolist() == [False, False, True, True]
    assert few_events(data_of(np.where(np.arange(50) == 7, 3.2, 0.0))) is None  # one other value
    assert few_events(data_of(zeros, sampled=False)) is None
    assert few_events(data_of(zeros, noise=0.1)) is None


def test_outputs_beside_events_keep_their_answer():
    rng = np.random.default_rng(2)
    x = rng.standard_normal((200, 1))
    both = np.stack([x[:, 0] ** 2, x[:, 0] > 2.3], axis=1)
    alone = sq.estimate(sq.Dataset(x, both[:, 0], -x), method=sq.Polynomial())
    est = sq.estimate(sq.Dataset(x, both, -x), method=sq.Polynomial())
    assert abs(est.mean[0] - alone.mean) < 1e-6
    assert est.mean[1] == pytest.approx(both[:, 1].mean())
    assert est.covariance[0, 1] == 0
    low, high = est.interval()
    assert low[1] < 0.0107 < high[1] and low[0] < 1 < high[0]


def test_draws_of_a_chain_count_as_what_they_are_worth():
    states = np.repeat(np.random.default_rng(3).random(40) < 0.05, 25)
    x = np.random.default_rng(4).standard_normal((1000, 1))
    few = few_events(sq.Dataset(x, states, groups=np.repeat([0, 1], 500)))
    assert few is not None and few.size[0] < 200
    never = few_events(sq.Dataset(x, np.zeros(1000), groups=np.repeat([0, 1], 500)))
    assert never is not None and never.size[0] == 2
