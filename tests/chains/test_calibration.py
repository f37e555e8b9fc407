"""Errors over stds on known chains, 20 repetitions: honest, and far below the plain ones.

|error| / std lies between 0.3 and 3 in the median and below 6 at worst. The 95 % intervals cover
at least 85 % of 20 and more; that 17 or fewer of 20 would cover by chance has probability 7.5 %,
and the seeds are fixed. Negative control: the same ratios with a tenth of the std fail.
"""

import numpy as np
import pytest
from made_up_chains import normal, skewed
from scipy.stats import loggamma

import steinquad as sq

REPETITIONS = 20


def repeat(distribution, d, **settings):
    """Errors of plain and better answers, their stds and whether covered, (repetitions, ...)."""
    rows = []
    for seed in range(REPETITIONS):
        known = distribution(300 + seed, d, **settings)
        result = sq.posterior_expectation(known.draws, score=known.score)
        for i in range(d):
            mean, variance = result[f"x{i}"], result[f"x{i}", "variance"]
            for row, truth in ((mean, known.mean[i]), (variance, known.variance[i])):
                covered = row.low <= truth <= row.high
                rows.append((row.plain - truth, row.mcse, row.mean - truth, row.std, covered))
        if distribution is skewed:  # x0 is a logarithm of a gamma variable of shape 2
            for p in (5, 50, 95):
                row, truth = result["x0", f"{p}%"], loggamma.ppf(p / 100, 2.0)
                covered = row.low <= truth <= row.high
                rows.append((row.plain - truth, row.mcse, row.mean - truth, row.std, covered))
    return np.array(rows).reshape(REPETITIONS, -1, 5)


def honest(error, std):
    ratio = np.abs(error) / std
    return 0.3 < np.median(ratio) < 3 and ratio.max() < 6


@pytest.mark.parametrize(("d", "rho"), [(1, 0.5), (2, 0.8), (5, 0.5)])
def test_skewed_chains(d, rho):
    repeated = repeat(skewed, d, rho=rho, draws=500)
    plain, mcse, error, std, covered = np.moveaxis(repeated, 2, 0)
    assert honest(error, std)
    assert not honest(error, 0.1 * std)
    assert honest(plain, mcse)
    assert covered.mean() > 0.85
    ratio = np.sqrt(np.mean(error**2, axis=0) / np.mean(plain**2, axis=0))
    means, variances = ratio[: 2 * d : 2], ratio[1 : 2 * d : 2]
    assert means.max() < 0.05 and variances.max() < 0.3 and ratio.max() < 0.9


def test_normal_chains_are_exact_and_say_so():
    repeated = repeat(normal, 2, rho=0.8)
    plain, _, error, std, covered = np.moveaxis(repeated, 2, 0)
    assert np.abs(error).max() < 1e-10 < np.abs(plain).min() and std.max() < 1e-6
    assert covered.all()
