"""Regression on features of one's own: exact in their span, any scale, orders by their worth."""

import numpy as np
import numpyro.distributions as dist
import pytest

import steinquad as sq
from steinquad.measures import as_measure
from steinquad.stein.cdf_legendre import CdfLegendre
from steinquad.stein.score_polynomials import ScorePolynomials


def normal(d):
    return as_measure(dist.Normal(0, 1).expand([d]).to_event(1))


def draws(d, n=120):
    return np.random.default_rng(d).standard_normal((n, d))


@pytest.mark.parametrize("d", [1, 2, 5])
def test_exact_in_the_span_of_the_features(d):
    """Stein images of quadratics span x_i^2 - 1 and x_i: their means are known."""
    x = draws(d)
    data = sq.Dataset(x, 4 + x.sum(axis=1) - (x**2).sum(axis=1), -x)
    method = sq.Regression(features=ScorePolynomials(), order=2)
    est = method.estimate(data, normal(d))
    assert est.mean == pytest.approx(4 - d, abs=1e-10) and est.std < 1e-8
    assert est.stats["order"] == 2


@pytest.mark.parametrize("features", [CdfLegendre(), ScorePolynomials()])
def test_a_polynomial_is_a_regression_on_its_features(features):
    x = draws(2)
    data = sq.Dataset(x, np.abs(x[:, 0]) + x[:, 1], -x)
    word = "cdf" if isinstance(features, CdfLegendre) else "score"
    ours = sq.Regression(features=features).estimate(data, normal(2))
    theirs = sq.Polynomial(features=word).estimate(data, normal(2))
    assert (ours.mean, ours.std, ours.dof) == (theirs.mean, theirs.std, theirs.dof)


def test_the_best_order_is_the_one_with_the_narrowest_interval():
    x = draws(1, 200)
    data = sq.Dataset(x, np.cos(3 * x[:, 0]), -x)
    best = sq.Regression(features=CdfLegendre()).estimate(data, normal(1))
    forced = [
        sq.Regression(features=CdfLegendre(), order=k).estimate(data, normal(1)) for k in (1, 2)
    ]
    assert best.stats["order"] > 2 and all(best.std < each.std for each in forced)
    errors = best.stats["left_out_by_order"]
    assert errors[best.stats["order"]] < errors[1]


@pytest.mark.parametrize("d", [1, 2, 5])
def test_leave_one_out_residuals_are_those_of_refits(d):
    """At the precisions of the full fit a refit differs little; the mean square is of its size."""
    x = draws(d, 40)
    data, method = (
        sq.Dataset(x, np.abs(x[:, 0]), -x),
        sq.Regression(features=CdfLegendre(), order=1),
    )
    full = method.estimate(data, normal(d))
    left = []
    for i in range(0, 40, 4):
        rest = method.estimate(data.take(np.delete(np.arange(40), i)), normal(d))
        left.append(data.fx[i, 0] - rest.predict(x[i : i + 1])[0])
    reported = full.stats["left_out_mean_square"] * data.fx.var()
    assert np.mean(np.square(left)) == pytest.approx(reported, rel=0.9)
    assert reported > np.mean((data.fx - full.fit.fitted) ** 2)


def test_few_points_and_bad_orders_are_refused_in_a_sentence():
    data = sq.Dataset([0.0, 1.0, 2.0], [1.0, 2.0, 4.0], [0.0, -1.0, -2.0])
    method = sq.Regression(features=ScorePolynomials())
    with pytest.raises(
        sq.InputError, match="^x has 3 points of positive weight; Regression needs"
    ):
        method.estimate(data)
    for order in (0, True, 1.5, "high"):
        with pytest.raises(sq.InputError, match="^order is .*; give an integer >= 1 or 'auto'"):
            sq.Regression(features=ScorePolynomials(), order=order)


@pytest.mark.parametrize("c", [0.1, 0.2, 0.28])
@pytest.mark.parametrize("n", [60, 100, 500])
def test_what_is_beyond_the_last_order_counts(c, n):
    """exp(c x^2) grows where no point is: residuals fall to 1e-9 while the integral errs by 1e-4.

    Six seeds each: at most 2.5 std off, where steps from the order before alone left 19.
    """
    truth = (1 - 2 * c) ** -0.5
    for seed in range(100, 106):
        est = sq.integrate(
            lambda x: np.exp(c * x[:, 0] ** 2),
            dist.Normal(0, 1),
            n=n,
            seed=seed,
            method=sq.Polynomial(features="score"),
        )
        assert abs(est.mean - truth) < 2.5 * est.std


@pytest.mark.parametrize("d, n", [(2, 20), (3, 40)])
def test_an_exact_polynomial_of_the_last_order_is_no_series(d, n):
    """Of order 4, beyond which there are too few points; not one step of the integral remains."""
    for seed in range(3):
        est = sq.integrate(
            lambda x: x[:, 0] ** 2 - x[:, 0] ** 4,
            dist.Normal(0, 1).expand([d]).to_event(1),
            n=n,
            seed=seed,
            method=sq.Polynomial(features="score"),
        )
        assert max(est.stats["left_out_by_order"]) == est.stats["order"] == 4
        assert est.mean == pytest.approx(-2, abs=1e-10) and est.std < 1e-5
