"""Outputs of two values: which they are, and what limits their points are worth."""

import numpy as np
import numpyro.distributions as dist
import pytest
from scipy.special import ndtri

import steinquad as sq
from steinquad.checking.few_events import few_events

GROUPS = np.repeat(np.arange(4), 50)  # four chains


def data_of(*columns, **options):
    fx = np.stack([np.asarray(column, float) for column in columns], axis=1)
    x = np.random.default_rng(0).standard_normal((len(fx), 2))
    return sq.Dataset(x, fx, -x, **options)


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
    few = few_events(data_of(normal, zeros, three, 2.0 - 5.0 * three, zeros + 2.5))
    assert few is not None
    assert few.applies.tolist() == [False, True, True, True, False]
    once = few_events(data_of(np.where(np.arange(50) == 7, 5.0, 2.0)))
    assert once is not None and once.limits(0.95)[0][0] >= 2.0  # not below the least value
    assert few_events(data_of(np.where(np.arange(50) == 7, 3.2, zeros))) is None  # a rare loss
    assert few_events(data_of(np.where(np.arange(50) == 7, 3.2, normal))) is None
    assert few_events(data_of(normal[:2])) is None  # of two values none repeats
    assert few_events(data_of(zeros, sampled=False)) is None
    assert few_events(data_of(zeros, noise=0.1)) is None


def importance_sampled(seed):
    """Of P[x > 3], by draws of two normal distributions, with their weights."""
    rng = np.random.default_rng(seed)
    x = np.concatenate([rng.standard_normal(500), 3 + rng.standard_normal(500)])
    x = rng.permutation(x)[:, None]
    weights = 1 / (0.5 + 0.5 * np.exp(3 * x[:, 0] - 4.5))
    return sq.Dataset(x, x[:, 0] > 3, -x, weights=weights)


def test_many_points_of_little_weight_are_not_few():
    data = importance_sampled(0)
    est = sq.estimate(data, method=sq.MonteCarlo())
    assert few_events(data) is None and est.std < 2e-4
    assert abs(est.mean - 0.00135) < 4 * est.std


def test_few_points_of_little_weight_have_limits_by_their_weights():
    event = np.arange(200) < 5
    few = few_events(data_of(event, weights=np.where(event, 1e-6, 1.0)))
    assert few is not None
    low, high = few.limits(0.95)
    assert 1e-9 < low[0] < few.mean[0] < 1e-7 and 0.01 < high[0] < 0.02


def test_draws_of_a_chain_count_as_what_they_are_worth():
    states = np.repeat(np.random.default_rng(3).random(40) < 0.05, 25)
    x, groups = np.random.default_rng(4).standard_normal((1000, 1)), np.repeat([0, 1], 500)
    few = few_events(sq.Dataset(x, states, groups=groups))
    assert few is not None and few.size[0] < 200
    # Where values do not vary, coordinates tell how the chain moves.
    never = few_events(sq.Dataset(x, np.zeros(1000), groups=groups))
    assert never is not None and never.size[0] > 700
    slow = np.repeat(x[:40], 25, axis=0)
    stuck = few_events(sq.Dataset(slow, np.zeros(1000), groups=groups))
    assert stuck is not None and stuck.size[0] < 100
    short = few_events(sq.Dataset(x, np.zeros(1000), groups=np.arange(1000) // 2))
    assert short is not None and short.size[0] == 500


def test_limits_rise_with_the_number_of_events_of_chains_and_replicates():
    x = np.random.default_rng(5).standard_normal((200, 1))
    ends = []
    for events in range(5):
        few = few_events(sq.Dataset(x, np.arange(200) * 37 % 200 < events, groups=GROUPS))
        ends.append([side[0] for side in few.limits(0.95)])
    assert np.all(np.diff(ends, axis=0) > 0) and ends[0][1] < 0.03
    design = sq.designs.Sobol(replicates=16)
    est = sq.integrate(lambda x: x[:, 0] > 9, dist.Normal(0, 1), n=128, design=design)
    assert est.interval()[1] == pytest.approx(1 - 0.025 ** (1 / 128), rel=1e-6)
