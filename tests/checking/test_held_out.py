"""Held-out points: unbiased, with honest standard errors, whatever the model is."""

import numpy as np
import numpyro.distributions as dist
import pytest
import scipy.signal

import steinquad as sq
from steinquad.checking.held_out import HeldOut, residuals
from steinquad.fit import ConstantModel


def normal(d):
    return dist.Normal(0, 1).expand([d]).to_event(1)


def rough(x):
    return np.abs(x[:, 0]) + np.exp(0.5 * x[:, 1])


TRUTH = np.sqrt(2 / np.pi) + np.exp(0.125)


def test_std_matches_the_spread_of_its_errors():
    """60 repetitions: rms of (check - truth)/std within a factor 1.5 of 1 (chance: 1e-4)."""
    ratios = []
    for seed in range(60):
        data = sq.designs.IID().draw(sq.measures.as_measure(normal(2)), 200, seed=seed)
        data, method = data.dataset(rough(data.x)), sq.Polynomial(order=3)
        est = sq.estimate(data, measure=normal(2), method=method, folds=5, seed=seed)
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


def constant(*values):
    mean = np.array(values)
    return sq.Fit(theta0=mean, covariance=np.eye(len(mean)), model=ConstantModel(mean, 0 * mean))


@pytest.mark.parametrize("d", [1, 2, 5])
def test_values_by_hand_in_the_order_of_the_data(d):
    """Constant models: theta0 + f - g is f itself, whichever fold a row is of."""
    x = np.random.default_rng(d).standard_normal((6, d))
    data = sq.Dataset(x, np.stack([x.sum(axis=1), np.arange(6.0)], axis=1))
    split = [np.array([5, 0]), np.array([3, 2])]  # rows 1 and 4 are in every fit
    held = HeldOut.of([constant(1.0, 2.0), constant(3.0, -4.0)], split, data, None)
    np.testing.assert_array_equal(held.rows, [0, 2, 3, 5])
    np.testing.assert_allclose(held.values, data.fx[held.rows], rtol=1e-15, atol=1e-15)
    np.testing.assert_array_equal(held.theta0[:, 1], [2, -4, -4, 2])
    np.testing.assert_allclose(held.predicted[[0, 2, 3, 5], 0], [1, 3, 3, 1], rtol=1e-14)
    assert np.isnan(held.predicted[[1, 4]]).all() and held.folds == 2
    np.testing.assert_allclose(held.mean, data.fx[held.rows].mean(axis=0), rtol=1e-14, atol=1e-15)
    # an offset of the model is an error of the model, but not of the corrected answer
    square = np.mean((data.fx[held.rows] - held.theta0) ** 2, axis=0)
    np.testing.assert_allclose(held.rms_of_model, np.sqrt(square))
    np.testing.assert_allclose(held.rms, data.fx[held.rows].std(axis=0))


def test_weights_and_groups_follow_their_rows():
    x, weights = np.arange(8.0), np.arange(1.0, 9.0)
    data = sq.Dataset(x, x, weights=weights, groups=np.repeat([0, 1], 4))
    held = HeldOut.of([constant(0.0)], [np.array([6, 1])], data, None)
    np.testing.assert_allclose(held.weights / held.weights.sum(), [2 / 9, 7 / 9])
    np.testing.assert_array_equal(held.groups, [0, 1])
    assert held.mean == pytest.approx((2 * 1 + 7 * 6) / 9)


def test_residuals_leave_the_values_and_the_rows_of_no_fold_alone():
    values = np.arange(5.0)[:, None]
    left = residuals(values, [np.array([4]), np.array([0, 1])], [np.full((1, 1), 9.0), values[:2]])
    np.testing.assert_array_equal(left[:, 0], [0, 0, 2, 3, -5])
    np.testing.assert_array_equal(values[:, 0], np.arange(5.0))
