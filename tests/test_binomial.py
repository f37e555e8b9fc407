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


def test_limits_are_in_the_units_of_f():
    one = Binomial(*map(np.array, ([True], [-1.0], [5.0], [0.02], [100.0])))
    low, high = clopper_pearson(np.array([2.0]), np.array([100.0]))
    np.testing.assert_allclose(one.limits(0.95), (-1 + 6 * low, -1 + 6 * high))
    np.testing.assert_allclose(one.mean, -1 + 6 * 0.02)
    assert "5 at 2 of 100 points" in str(one)
