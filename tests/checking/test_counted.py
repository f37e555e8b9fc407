"""Outputs whose events are counted: what the answer, its model and its sentences say of them."""

import numpy as np
import pytest
from scipy.special import ndtri

import steinquad as sq
from steinquad.checking.counted import with_counted
from steinquad.checking.few_events import few_events
from steinquad.fit import Fit, HeldOutValues, Status

RNG = np.random.default_rng(2)
X = RNG.standard_normal((200, 1))
SMALL = sq.Stack([sq.MonteCarlo(), sq.Polynomial(), sq.BayesianQuadrature()])


def data_of(*columns, x=X, **options):
    return sq.Dataset(x, np.stack(np.broadcast_arrays(*columns), axis=1), -x, **options)


def test_no_event_at_all_is_no_exact_answer():
    est = sq.estimate(data_of(np.zeros(100), x=X[:100]))
    low, high = est.interval(0.95)
    assert est.mean[0] == 0 and low[0] == 0
    np.testing.assert_allclose(high[0], 1 - 0.025**0.01, rtol=1e-10)
    assert est.std[0] == pytest.approx(high[0] / (2 * -ndtri(0.025)))
    assert est.status.code == "constant" and "f is 0 at all 100 points" in est.status.message
    assert "for an indicator" in est.status.message
    ones = sq.estimate(data_of(np.ones(100), x=X[:100]))
    assert "f is 1 at all 100 points" in ones.status.message
    np.testing.assert_allclose(ones.interval()[0], 1 - high)


def test_a_constant_that_is_no_indicator_says_what_it_leaves_open():
    est = sq.estimate(data_of(np.full(100, 2.5), x=X[:100]))
    assert est.status.code == "constant" and est.mean[0] == 2.5
    assert "up to 3.0% of the probability" in est.status.message
    grid = sq.estimate(data_of(np.full(200, 2.5), sampled=False)).status.message
    assert "proves little" in grid and "probability" not in grid


@pytest.mark.parametrize("method", [sq.MonteCarlo(), sq.Polynomial(), SMALL])
def test_each_output_is_told_by_itself(method):
    data = data_of(X[:, 0] ** 2, np.zeros(200), np.full(200, 2.5), X[:, 0] > X[:, 0].max() - 1e-9)
    est = sq.estimate(data, method=method)
    low, high = est.interval()
    assert low[1] == 0 and high[1] == pytest.approx(1 - 0.025 ** (1 / 200))
    assert 0 < low[3] < 1 / 200 < high[3]
    for part in (
        "output 1 of f is 0 at all 200 points",
        "output 2 of f is constant at all 200 points, which proves little: up to 1.5%",
        "output 3 of f is 1 at 1 of 200 points",
    ):
        assert part in est.status.message
    record = est.to_dict()
    assert record["constant"] == [False, True, True, False]
    assert record["binomial"] == [False, True, False, True]


def test_what_is_counted_is_not_fitted():
    """The answer to the other output is that without it: to the last digit, dof included."""
    square = np.exp(X[:, 0])
    alone = sq.estimate(data_of(square), method=SMALL)
    for event in (np.zeros(200), X[:, 0] > 1.8):
        est = sq.estimate(data_of(event, square), method=SMALL)
        assert (est.mean[1], est.std[1], est.dof) == (alone.mean[0], alone.std[0], alone.dof)
        assert est.mean[0] == pytest.approx(event.mean())
        assert est.covariance[0, 1] == 0 and est.covariance.shape == (2, 2)
        assert est.fit.fitted.shape == (200, 2) and est.check.mean.shape == (2,)
        assert est.check.mean[0] == est.mean[0] and est.check.residual.shape == (2,)
        np.testing.assert_array_equal(est.fit.held_out.values[:, 0], event)
        row = est.candidates[1]
        assert np.isnan(row["weight"][0]) and row["mean"][1] == alone.candidates[1]["mean"][0]
        assert est.to_dict()["candidates"][1]["mean"][0] is None
        mean, std = est.predict(X[:3], -X[:3], return_std=True)
        np.testing.assert_array_equal(mean[:, 1:], alone.predict(X[:3], -X[:3]))
        assert (mean[:, 0] == est.mean[0]).all() and (std[:, 0] == est.std[0]).all()


def test_a_check_on_request_is_of_the_others():
    data = data_of(X[:, 0] > 1.8, np.exp(X[:, 0]))
    est = sq.estimate(data, method=sq.Polynomial(order=2), folds=4)
    alone = sq.estimate(data.of_outputs(np.array([1])), method=sq.Polynomial(order=2), folds=4)
    assert est.check.mean[1] == alone.check.mean[0] and est.check.distance == alone.check.distance
    assert est.check.predicted.shape == (200, 2)
    events = sq.estimate(data_of(X[:, 0] > 1.8), method=sq.Polynomial(), folds=4)
    assert events.check is None


def test_every_part_of_a_fit_is_of_all_outputs():
    data = data_of(X[:, 0], X[:, 0] > 1.8)
    few = few_events(data)
    part = Fit(
        theta0=np.ones(1),
        covariance=np.full((1, 1), 4.0),
        model=None,
        status=Status("converged", "went well"),
        correction=np.full(1, 0.5),
        held_out=HeldOutValues(np.zeros((200, 1)), np.ones((3, 1))),
        history={"theta0": np.ones((7, 1)), "loss": np.ones(7)},
    )
    fit = with_counted(part, few, data)
    assert fit.mean.tolist() == [1.5, few.mean[1]] and fit.std.tolist() == [2.0, few.std[1]]
    assert fit.held_out.theta0.tolist() == [[1.0, few.mean[1]]] * 3
    assert fit.history["theta0"].shape == (7, 2) and fit.history["loss"].shape == (7,)
    assert fit.model is None and fit.fitted is None and fit.check is None


def test_few_events_of_chains_weights_and_other_values_are_told_as_they_are():
    groups = np.repeat([0, 1, 2, 3], 50)
    slow = np.repeat(X[:40], 5, axis=0)
    event = np.repeat(np.arange(40) == 7, 5)
    told = sq.estimate(sq.Dataset(slow, event, groups=groups)).status.message
    assert "f is 1 at 5 of 200 points, which are worth" in told
    weights = np.where(event, 1e-6, 1.0)
    told = sq.estimate(sq.Dataset(X, event, weights=weights)).status.message
    assert "f is 1 at 5 of 200 points with 2.6e-08 of the weight" in told
    several = data_of(2.0 - event, np.where(event, 5.0, 2.0), *[np.zeros(200)] * 5)
    told = sq.estimate(several).status.message
    assert "outputs 2, 3, 4 and 2 more of f are 0 at all 200 points" in told
    assert "and 1 more output likewise" in told and "no third value" in told
