"""Cross-fitting: unbiased, honest standard errors, blocks for chains, disagreement seen."""

from dataclasses import dataclass

import numpy as np
import numpyro.distributions as dist
import pytest
import scipy.signal

import steinquad as sq
from steinquad.checking.folds import folds_of
from steinquad.fit import Constant


def normal(d):
    return dist.Normal(0, 1).expand([d]).to_event(1)


def rough(x):
    return np.abs(x[:, 0]) + np.exp(0.5 * x[:, 1])


TRUTH = np.sqrt(2 / np.pi) + np.exp(0.125)


def test_std_matches_the_spread_of_its_errors():
    """60 repetitions: rms of (check - truth)/std within a factor 1.5 of 1 (chance: 1e-4)."""
    ratios = []
    for seed in range(60):
        est = sq.integrate(
            rough, normal(2), n=200, method=sq.Polynomial(order=3), folds=5, seed=seed
        )
        assert est.check is not None and est.check.folds == 5
        ratios.append((est.check.mean - TRUTH) / est.check.std)
    assert 1 / 1.5 < np.sqrt(np.mean(np.square(ratios))) < 1.5
    assert abs(np.mean(ratios)) < 4 / np.sqrt(60)


def test_predictions_are_those_of_fits_that_have_not_seen_the_point():
    """Their residuals have the reported size, and are larger than those of the fit to all."""
    x = np.random.default_rng(0).normal(size=(60, 2))
    data, method = sq.Dataset(x, rough(x)), sq.Polynomial(order=3)
    est = sq.estimate(data, measure=normal(2), method=method, folds=3)
    left = est.values - est.check.predicted  # the residual is of theta0 + left, part by part
    assert np.sqrt(np.mean(left**2)) == pytest.approx(est.check.residual[0], rel=0.1)
    assert np.mean(left**2) > np.mean((est.values - est.fit.fitted) ** 2)
    assert "predicted" not in est.to_dict()["check"]


@dataclass(frozen=True)
class Overfitted(sq.Method):
    """Remembers its data and believes that their fit is perfect: what a check must expose."""

    name: str = "Overfitted"

    def fit(self, data, measure, context):
        wrong = data.fx.mean(axis=0) + 1.0
        return sq.Fit(
            theta0=wrong,
            covariance=np.array([[1e-6]]),
            model=Constant(wrong, np.zeros(1)),
            status=sq.Status("converged", "sure of itself"),
        )


def test_a_wrong_but_confident_method_is_suspect():
    est = sq.integrate(rough, normal(2), n=400, method=Overfitted(), folds=4)
    assert est.status.code == "suspect" and est.check.distance > 3
    assert abs(est.check.mean - TRUTH) < 5 * est.check.std
    sound = sq.integrate(rough, normal(2), n=400, method=sq.Polynomial(order=3), folds=4)
    assert sound.status.code == "converged" and sound.check.distance < 3


def test_parts_are_disjoint_random_or_in_blocks():
    x = np.arange(20.0)
    free = folds_of(sq.Dataset(x, x), 4, seed=0)
    assert sorted(np.concatenate(free)) == list(range(20)) and np.any(np.diff(free[0]) > 1)
    chain = folds_of(sq.Dataset(x, x, groups=np.zeros(20)), 4, seed=0)
    assert all(np.all(np.diff(part) == 1) for part in chain)
    replicates = folds_of(sq.Dataset(x, x, groups=np.repeat(np.arange(5), 4)), 2, seed=0)
    assert [len(part) for part in replicates] == [12, 8]


def test_chain_errors_count_autocorrelation():
    """AR(1) with phi = .9: errors sqrt(19) times those of as many independent draws."""
    ratios, naive = [], []
    for seed in range(40):
        noise = np.random.default_rng(seed).standard_normal(3000)
        x = scipy.signal.lfilter([np.sqrt(1 - 0.81)], [1.0, -0.9], noise)[500:, None]
        fx = np.abs(x[:, 0])  # not in the span of what is fitted
        data = sq.Dataset(x, fx, -x, groups=np.zeros(2500))
        check = sq.estimate(data, method=sq.Polynomial(order=1), folds=5).check
        ratios.append((check.mean - np.sqrt(2 / np.pi)) / check.std)
        iid = sq.estimate(sq.Dataset(x, fx, -x), method=sq.Polynomial(order=1), folds=5).check
        naive.append((iid.mean - np.sqrt(2 / np.pi)) / iid.std)
    assert 0.6 < np.sqrt(np.mean(np.square(ratios))) < 1.6
    assert np.sqrt(np.mean(np.square(naive))) > 2  # negative control


def test_bad_folds():
    x = np.random.default_rng(0).standard_normal(20)
    data = sq.Dataset(x, x**2, -x)
    for folds, message in ((1, "folds is 1"), (-2, "folds is -2"), (15, "folds is 15")):
        with pytest.raises(sq.InputError, match=message):
            sq.estimate(data, method=sq.Polynomial(order=1), folds=folds)
    grid = sq.Dataset(x, x**2, -x, sampled=False)
    with pytest.raises(sq.InputError, match="not a sample"):
        sq.estimate(grid, method=sq.Polynomial(order=1), folds=2)
