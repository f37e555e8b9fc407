"""The answer from weighted points: unbiased whatever the model, and left alone where it may be."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.stats as st

import steinquad as sq
from steinquad._types import no_progress
from steinquad.measures import Product
from steinquad.points import Points
from steinquad.studies.adaptive import SCOUTS, choose, folds_of
from steinquad.studies.corrected import corrected
from steinquad.studies.points import NumberedPoints

NORMAL = Product({"x0": st.norm()})


def outside(x):
    """A strong preference for one side, as if f were hard to predict there."""
    return np.exp(2.0 * x[:, 0])


def weighted_points(seed):
    """Scouts and pairs, their weights, and the folds of the pairs."""
    points = NumberedPoints(NORMAL, "adaptive", seed=seed)
    rows = [row for block in range(2) for row in choose(points, block, outside)]
    x = np.array([points[i] for i in range(SCOUTS)] + [row.input for row in rows])
    weights = np.array([1.0] * SCOUTS + [row.weight for row in rows])
    return x, weights, folds_of(np.arange(len(x)), seed)


def both(data, method, split, seed=0):
    """The estimate of a method, and the corrected one."""
    est = sq.estimate(data, measure=NORMAL, method=method, seed=seed)
    settings = SimpleNamespace(measure=NORMAL, method=method, seed=seed)
    return est, corrected(est, data, split, settings, no_progress)


def answers(seed, method):
    """Error over truth and z of the corrected estimate, and of one that takes all points alike."""
    x, weights, split = weighted_points(seed)
    found = []
    for w in (weights, None):
        _, est = both(sq.Dataset(x, np.exp(1.5 * x[:, 0]), weights=w), method, split, seed)
        low, high = est.interval(0.95)
        truth = np.exp(1.5**2 / 2)
        found += [est.mean / truth - 1, low < truth < high]
    return found


def test_the_corrected_estimate_is_unbiased_and_covers():
    """A model that cannot be right, a line for an exponential: the points have to correct it."""
    found = np.array([answers(seed, sq.Polynomial(order=1)) for seed in range(32)])
    error, covered, naive_error, naive_covered = found.T
    assert abs(error.mean()) < 4 * error.std() / np.sqrt(32)  # false alarm: 1e-4
    assert covered.mean() > 0.85
    assert naive_error.mean() > naive_error.std() and naive_covered.mean() < 0.6


def test_the_correction_is_the_weighted_mean_of_the_held_out_residuals():
    x, weights, split = weighted_points(3)
    data = sq.Dataset(x, np.exp(1.5 * x[:, 0]), weights=weights)
    est, answer = both(data, sq.Polynomial(order=1), split)
    score, by_hand = -x, 0.0
    rows = np.concatenate(split)
    for fold in split:
        rest = np.setdiff1d(np.arange(len(x)), fold)
        own = sq.Dataset(x[rest], data.fx[rest, 0], score[rest], weights=weights[rest])
        model = sq.Polynomial(order=1).estimate(own, measure=NORMAL).fit
        g, _ = model.predict(Points(x[fold], score[fold]), return_std=False)
        by_hand += weights[fold] @ (model.theta0[0] + data.fx[fold, 0] - g[:, 0])
    np.testing.assert_allclose(answer.mean, by_hand / weights[rows].sum(), rtol=1e-10)
    np.testing.assert_allclose(answer.stats["uncorrected"], est.fit.mean, rtol=0)
    assert answer.mean != est.mean and answer.status == est.status
    assert answer.std > 0 and answer.n == est.n


@pytest.mark.parametrize(
    ("method", "values"),
    [
        (sq.MonteCarlo(), lambda x: np.exp(x[:, 0])),
        (sq.Polynomial(), lambda x: np.full(len(x), 2)),
    ],
    ids=["average", "constant"],
)
def test_averages_and_constants_come_back_as_they_are(method, values):
    x, weights, split = weighted_points(0)
    est, answer = both(sq.Dataset(x, values(x), weights=weights), method, split)
    assert answer is est


def test_an_event_that_is_counted_is_no_part_of_the_correction():
    x, weights, split = weighted_points(1)
    curve, event = np.exp(1.5 * x[:, 0]), x[:, 0] > np.sort(x[:, 0])[-4]
    _, alone = both(sq.Dataset(x, curve[:, None], weights=weights), sq.Polynomial(order=1), split)
    data = sq.Dataset(x, np.stack([event, curve], 1), weights=weights)
    est, answer = both(data, sq.Polynomial(order=1), split)
    assert (answer.mean[1], answer.std[1], answer.dof) == (alone.mean[0], alone.std[0], alone.dof)
    assert answer.mean[0] == est.mean[0] and answer.std[0] == est.std[0] > 0
    assert [side[0] for side in answer.interval()] == [side[0] for side in est.interval()]
    assert answer.binomial is not None and answer.check.mean.shape == (2,)
