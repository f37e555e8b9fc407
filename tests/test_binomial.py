"""Intervals of Clopper and Pearson: against the binomial distribution, and their coverage."""

import numpy as np
import pytest
from scipy.stats import binom

from steinquad.binomial import Binomial, clopper_pearson


@pytest.mark.parametrize(("events", "n"), [(0, 10), (1, 50), (7, 100), (10, 10)])
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_each_limit_leaves_half_of_the_rest(events, n, level):
    low, high = clopper_pearson(np.array([float(events)]), np.array([float(n)]), level)
    tail = (1 - level) / 2
    if events > 0:
        np.testing.assert_allclose(binom.sf(events - 1, n, low[0]), tail, rtol=1e-8)
    else:
        assert low[0] == 0
    if events < n:
        np.testing.assert_allclose(binom.cdf(events, n, high[0]), tail, rtol=1e-8)
    else:
        assert high[0] == 1


@pytest.mark.parametrize("p", [0.001, 0.03, 0.4])
def test_they_cover_at_least_as_often_as_they_say(p):
    """Exact coverage: summed over all numbers of events."""
    events = np.arange(81.0)
    low, high = clopper_pearson(events, np.full(81, 80.0))
    covered = (low <= p) & (p <= high)
    assert binom.pmf(events, 80, p) @ covered >= 0.95


def binomial(share, size, heaviest, low=0.0, high=1.0):
    return Binomial(*map(np.array, ([True], [low], [high], [share], [size], [heaviest])))


def test_limits_are_in_the_units_of_f():
    one = binomial(0.02, 100.0, 0.01, -1.0, 5.0)
    low, high = clopper_pearson(np.array([2.0]), np.array([100.0]))
    np.testing.assert_allclose(one.limits(0.95), (-1 + 6 * low, -1 + 6 * high))
    np.testing.assert_allclose(one.mean, -1 + 6 * 0.02)


@pytest.mark.parametrize("events", [0, 1, 7, 79, 80])
def test_equal_weights_have_the_limits_of_clopper_and_pearson(events):
    want = clopper_pearson(np.array([events]), np.array([80]))
    np.testing.assert_allclose(binomial(events / 80, 80.0, 1 / 80).limits(0.95), want, atol=1e-12)


def test_events_of_little_weight_leave_room_for_one_of_the_largest():
    """Five events of weight 1e-6 among 200 points: none of the 195 others was one."""
    low, high = binomial(5e-6 / 195, 195 / 1e-6, 1 / 195).limits(0.95)
    assert 5e-9 < low[0] < 5e-6 / 195 and 3.6 / 195 < high[0] < 3.8 / 195


@pytest.mark.parametrize("chance", [0.002, 0.01])
def test_limits_of_weighted_events_cover(chance):
    """Half of the events weigh 4, the others 0.5, by proposals that take them so often: 2000
    samples, of which 95 % intervals should miss 100; more than 130 have a chance below 0.1 %.
    """
    rng, n, missed = np.random.default_rng(0), 200, 0
    heavy, light = chance / 2 / 4, chance / 2 / 0.5
    for _ in range(2000):
        k = rng.multinomial(n, [heavy, light, 1 - heavy - light])
        rare, square = (4 * k[0] + 0.5 * k[1]) / n, (16 * k[0] + 0.25 * k[1]) / n**2
        one = binomial(rare, rare / square if rare else n / 4, 4 / n)
        low, high = one.limits(0.95)
        missed += not low[0] <= chance <= high[0]
    assert missed <= 130
