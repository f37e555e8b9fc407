"""Standard errors of averages against what is known of independent draws, AR(1) and replicates."""

import numpy as np
import pytest
import scipy.signal
from scipy.special import stdtrit

from steinquad.checking.standard_error import (
    autocorrelated,
    effective_sample_size,
    group_sums,
    standard_error,
)

PHI = 0.9
REPEATS = 200


def autoregression(seed, chains, n):
    """Stationary AR(1) chains of unit innovations, (chains * n, 1), and their groups."""
    noise = np.random.default_rng(seed).standard_normal((chains, n + 200))
    x = scipy.signal.lfilter([1.0], [1.0, -PHI], noise, axis=1)[:, 200:]
    return x.reshape(-1, 1), np.repeat(np.arange(chains), n)


def effective(weights):
    w = weights / weights.sum()
    return w / np.sum(w**2)


def repeat(make, truth):
    """Root mean square of std and of error, and coverage of the 95 % interval."""
    stds, errors, covered = [], [], []
    for seed in range(REPEATS):
        values, weights, groups = make(seed)
        std, dof = standard_error(values, weights, groups)
        error = (weights / weights.sum()) @ values - truth
        stds.append(std[0])
        errors.append(error[0])
        covered.append(abs(error[0]) < stdtrit(dof, 0.975) * std[0])
    return np.sqrt(np.mean(np.square(stds))), np.sqrt(np.mean(np.square(errors))), np.mean(covered)


@pytest.mark.parametrize("chains", [1, 4, 8, 16])
def test_chains_have_the_asymptotic_error_of_an_ar1(chains):
    """Var of the mean is 1 / (1 - phi)^2 / n; the std within 15 %, coverage within 4 sd of .95."""

    def make(seed):
        x, groups = autoregression(seed, chains, 1000)
        return x, np.ones(len(x)), groups

    std, error, coverage = repeat(make, 0.0)
    known = 1 / (1 - PHI) / np.sqrt(1000 * chains)
    assert std == pytest.approx(known, rel=0.15)
    assert error == pytest.approx(known, rel=0.2)  # 4 sd of a root mean square of 200
    assert abs(coverage - 0.95) < 4 * np.sqrt(0.95 * 0.05 / REPEATS)
    independent, _ = standard_error(*make(0)[:2])
    assert independent[0] < 0.35 * known  # what is reported without groups: sqrt(19) too small


@pytest.mark.parametrize("chains", [4, 16])
def test_weighted_chains(chains):
    """Tilted by exp(x / 2 sd): the mean moves by half a standard deviation."""
    deviation = 1 / np.sqrt(1 - PHI**2)

    def make(seed):
        x, groups = autoregression(seed, chains, 1000)
        return x, effective(np.exp(0.5 * x[:, 0] / deviation)), groups

    std, error, coverage = repeat(make, 0.5 * deviation)
    assert std == pytest.approx(error, rel=0.2)
    assert coverage > 0.95 - 4 * np.sqrt(0.95 * 0.05 / REPEATS)


def test_weighted_independent_draws():
    """From N(0, 1.5^2) to N(0, 1) with thirty draws."""

    def make(seed):
        x = 1.5 * np.random.default_rng(seed).standard_normal((30, 1))
        return x, effective(np.exp(-(x[:, 0] ** 2) * (1 - 1 / 1.5**2) / 2)), None

    std, error, coverage = repeat(make, 0.0)
    assert std == pytest.approx(error, rel=0.2)
    assert abs(coverage - 0.95) < 4 * np.sqrt(0.95 * 0.05 / REPEATS)


def test_equal_weights_are_the_textbook():
    x = np.random.default_rng(0).standard_normal((30, 3))
    std, dof = standard_error(x, np.ones(30))
    np.testing.assert_allclose(std, x.std(axis=0, ddof=1) / np.sqrt(30))
    assert dof == 29
    # for weights that do not depend on the values: sigma^2 sum w^2, exactly in expectation
    w = np.random.default_rng(1).uniform(0.1, 1, 8)
    draws = np.random.default_rng(2).standard_normal((8, 200_000))
    std, _ = standard_error(draws, effective(w))
    assert np.mean(std**2) == pytest.approx(np.sum(w**2) / w.sum() ** 2, rel=0.01)


def test_many_groups_are_their_spread():
    values, groups = autoregression(0, 10, 50)
    means = values.reshape(10, 50).mean(axis=1)
    std, dof = standard_error(values, np.ones(500), groups)
    assert std[0] == pytest.approx(means.std(ddof=1) / np.sqrt(10)) and dof == 9
    sums = group_sums(values, np.ones(500), groups)
    np.testing.assert_allclose(sums[:, 0], (means - means.mean()) / 10, atol=1e-15)


@pytest.mark.parametrize("scale", [1e-20, 1e20])
def test_units_do_not_matter(scale):
    """ArviZ takes a range below 1e-15 for a constant."""
    x, groups = autoregression(0, 4, 500)
    std, dof = standard_error(x, np.ones(2000), groups)
    scaled, scaled_dof = standard_error(scale * x, np.ones(2000), groups)
    assert scaled[0] == pytest.approx(scale * std[0]) and scaled_dof == pytest.approx(dof)


def test_special_cases():
    x, groups = autoregression(0, 4, 500)
    constant = np.column_stack([x, np.full(2000, 3.0)])
    std, _ = standard_error(constant, np.ones(2000), groups)
    assert std[1] == 0 and effective_sample_size(constant, groups)[1] == 2000
    # chains of unlike length: the effective size grows with the draws
    long = effective_sample_size(np.vstack([x, x[-500:]]), np.append(groups, groups[-500:]))
    assert long[0] > effective_sample_size(x, groups)[0]
    short, dof = standard_error(x[:9], np.ones(9), np.repeat(np.arange(3), 3))
    assert short[0] == pytest.approx(x[:9].std(ddof=1) / 3) and dof == 8
    alone = np.zeros(5)
    alone[2] = 1.0
    assert standard_error(x[:5], alone)[0][0] in (0.0, np.inf)


def test_autocorrelation_is_seen_and_rarely_imagined():
    alarms = [autocorrelated(np.random.default_rng(s).standard_t(3, (200, 4))) for s in range(500)]
    assert sum(alarms) <= 1  # 1e-4 each
    assert all(autocorrelated(autoregression(seed, 1, 200)[0]) for seed in range(20))
    assert not autocorrelated(np.full((100, 1), 2.0))
