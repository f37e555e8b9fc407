"""A small part of benchmarks/calibration.py: intervals hold, or the status warns."""

import numpy as np
import pytest

import steinquad as sq

FAMILIES = ("continuous", "discontinuous", "gaussian", "corner", "oscillatory", "product")


def cells(n):
    """Families and dimensions, with sd(f) / (|truth| sqrt(n)) of each."""
    for family in FAMILIES:
        for d in (1, 2, 5):
            problem = sq.problems.genz(family, d)
            x = np.random.default_rng(0).standard_normal((50_000, d))
            ratio = problem.integrand(x).std() / (abs(problem.truth) * np.sqrt(n))
            yield problem, d, ratio


@pytest.mark.slow
@pytest.mark.parametrize("method", [sq.BSN(), sq.Stack()], ids=["BSN", "default"])
def test_intervals_cover(method):
    """Scored cells at n = 200, two seeds: about 14 runs a method. Honest 95 % intervals cover in
    fewer than 11 of 14 with probability 4e-3; none is further off than 8 std.
    """
    covered, z = [], []
    for problem, d, ratio in cells(200):
        if ratio >= 0.1 or d == 5:
            continue
        for seed in (200, 201):
            est = sq.integrate(problem.integrand, problem.measure, n=200, seed=seed, method=method)
            low, high = est.interval(0.95)
            covered.append(low <= problem.truth <= high)
            z.append(abs(est.mean - problem.truth) / est.std)
    assert len(covered) >= 12 and max(z) < 8
    assert np.mean(covered) > 0.75


def test_the_status_warns_where_few_points_see_the_integrand():
    """Every cell too hard to score warns: by the values alone, so a plain average will do."""
    hard = 0
    for n in (200, 1000, 5000):
        for problem, d, ratio in cells(n):
            if ratio < 0.1:
                continue
            for seed in (200, 201, 202):
                x = np.random.default_rng(seed).standard_normal((n, d))
                data = sq.Dataset(x, problem.integrand(x))
                est = sq.estimate(data, method=sq.MonteCarlo())
                words = ("few informative points", "nearly cancels out")
                assert any(w in est.status.message for w in words), (problem.name, d, n, seed)
                hard += 1
    assert hard >= 60
