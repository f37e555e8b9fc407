"""Sound data pass the flux test, broken ones do not."""

import numpy as np
import pytest
import scipy.signal

import steinquad as sq
from steinquad.checking.standard_error import robust_standard_error
from steinquad.checking.stein_identities import FALSE_ALARM, flux_violation

N = 2000
PHI = 0.9


def violation(x, drift, *, value=1.0, **options):
    names = [f"c{i}" for i in range(x.shape[1])]
    data = sq.Dataset(x, x[:, 0], names=names, **options)
    return flux_violation(data, drift, np.broadcast_to(value, x.shape))


def normal(seed: int, dim: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(N, dim))


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_sound_draws_raise_no_alarm(dim):
    """600 data sets at a rate of 1e-4: one or more alarms has probability 6 %, seeds are fixed."""
    assert FALSE_ALARM == 1e-4
    assert [s for s in range(200) if violation(x := normal(s, dim), -x)] == []


def test_sound_markov_chains_raise_no_alarm():
    """Autocorrelation 0.9: the naive standard error is four times too small."""
    alarms = []
    for seed in range(50):
        shocks = np.sqrt(1 - PHI**2) * normal(seed, 2)
        shocks[0] /= np.sqrt(1 - PHI**2)
        x = scipy.signal.lfilter([1.0], [1.0, -PHI], shocks, axis=0)
        alarms.append(violation(x, -x))
    assert alarms == [None] * 50


def test_sound_weighted_draws_raise_no_alarm():
    """Draws of N(0, 4) weighted to N(0, 1)."""
    for seed in range(50):
        x = 2 * normal(seed, 1)
        assert violation(x, -x, weights=np.exp(-0.375 * x[:, 0] ** 2)) is None


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_an_undeclared_boundary_is_flagged(dim):
    for seed in range(20):
        x = normal(seed, dim)
        x[:, -1] = np.abs(x[:, -1])
        message = violation(x, -x)
        assert "E[score] = 0" in message and f"coordinate c{dim - 1} " in message


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_a_declared_boundary_is_not(dim):
    """The same draws with the factor b(x) = x / (1 + x) that vanishes on the face."""
    for seed in range(20):
        x = np.abs(normal(seed, dim))
        b, slope = x / (1 + x), 1 / (1 + x) ** 2
        assert violation(x, -b * x + slope, value=b) is None


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_shifted_scores_are_flagged(dim):
    for seed in range(20):
        x = normal(seed, dim)
        shift = np.zeros(dim)
        shift[0] = 0.3
        message = violation(x, -(x - shift))
        assert "E[score] = 0" in message and "coordinate c0 " in message


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_doubled_scores_are_flagged(dim):
    for seed in range(20):
        x = normal(seed, dim)
        assert "E[(x - E[x]) score] = -1" in violation(x, -2 * x)


def test_points_that_are_no_sample_pass_unseen():
    x = normal(0, 2)
    assert violation(x, -3 * x) is not None and violation(x, -3 * x, sampled=False) is None


def test_standard_error_of_independent_draws():
    """For few draws that of the textbook; for many within the noise of 44 batches of it."""
    x = normal(1, 3)
    few, dof = robust_standard_error(x[:80], np.ones(80))
    np.testing.assert_allclose(few, x[:80].std(axis=0, ddof=1) / np.sqrt(80))
    assert dof == 79
    many, dof = robust_standard_error(x, np.ones(N))
    ratio = many * np.sqrt(N) / x.std(axis=0, ddof=1)
    assert dof == 43 and np.all(ratio >= 1 - 1e-12) and np.all(ratio < 1.5)


def test_standard_error_sees_autocorrelation():
    """The asymptotic variance of an AR(1) mean is (1 + phi) / (1 - phi) = 19 times larger."""
    errors = []
    for seed in range(30):
        x = scipy.signal.lfilter([1.0], [1.0, -PHI], normal(seed, 1), axis=0)
        error, _ = robust_standard_error(x, np.ones(N))
        errors.append(error[0] * np.sqrt(N) / x.std())
    # batches of 45 catch most of the correlation: sqrt(19) = 4.4
    assert 3.3 < np.mean(errors) < 4.6
