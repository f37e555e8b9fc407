"""The template that makes an answer of a fit, on methods of a few lines."""

from dataclasses import dataclass, replace

import numpy as np
import numpyro.distributions as dist
import pytest

import steinquad as sq
from steinquad.checking.folds import folds_of
from steinquad.fit import ConstantModel

NORMAL = dist.Normal(0, 1)
QUICK = sq.GaussNewton(max_steps=3)


def f(x):
    return np.exp(0.3 * x[:, 0])


@dataclass(frozen=True)
class Sure(sq.Method):
    """The average, of whose error it knows nothing."""

    name: str = "Sure"

    def fit(self, data, measure, context):
        mean = data.fx.mean(axis=0)
        return sq.Fit(
            theta0=mean, covariance=np.zeros((1, 1)), model=ConstantModel(mean, mean * 0)
        )


def test_a_fit_that_claims_no_error_gets_that_of_its_check():
    plain = sq.integrate(f, NORMAL, n=200, method=sq.MonteCarlo(), seed=1)
    alone = sq.integrate(f, NORMAL, n=200, method=Sure(), seed=1)
    chosen = sq.integrate(f, NORMAL, n=200, method=sq.Stack([Sure()]), seed=1)
    assert alone.std == 0 and chosen.std == pytest.approx(plain.std, rel=0.1)
    short = sq.integrate(f, NORMAL, n=50, method=Sure(), rtol=1e-9, max_n=100)
    assert short.status.code == "max_n" and short.std > 0


def test_a_choice_among_choices_is_held_out():
    inner = sq.Stack([sq.MonteCarlo(), sq.Polynomial()], name="inner")
    est = sq.integrate(f, NORMAL, n=100, method=sq.Stack([inner]))
    assert est.check is not None and est.status.code == "converged"
    method = sq.Stack([inner])
    rows = np.arange(20)
    data = sq.Dataset(np.linspace(-1, 1, 60), np.ones(60))
    constant = method.checked_fit(data, None, sq.Context())
    again = method.refit_without(rows, data, None, constant, sq.Context())
    assert again.status.code == "constant"


@pytest.mark.parametrize("kind", ["folds", "choose", "subset"])
def test_held_out_points_know_the_density_of_the_measure(kind):
    """A multiplier that needs it is asked at points that the network has not seen."""
    network = sq.BSN(
        width=2,
        activation="tanh",
        folds=1,
        optimizer=QUICK,
        multiplier=sq.multipliers.Density(),
    )
    method = {"folds": network, "choose": sq.Stack([network]), "subset": sq.Subset(network, 40)}
    est = sq.integrate(f, NORMAL, n=80, method=method[kind], folds=2 * (kind == "folds"))
    assert np.isfinite(est.mean) and est.std > 0


def test_a_method_with_nothing_but_fit_has_every_other_member():
    method = Sure()
    assert not (method.expensive or method.averages or method.holds_out or method.warm_folds)
    assert method.light is method and method.with_folds(3) is method
    assert method.obstacle(sq.Dataset([0.0, 1.0], [0.0, 1.0]), None) is None
    assert method.design(sq.measures.as_measure(NORMAL)) == sq.designs.Sobol()


@pytest.mark.parametrize(
    "method", [sq.MonteCarlo(), sq.BayesianQuadrature()], ids=lambda m: m.name
)
def test_copies_of_points_make_no_smaller_std(method):
    """Eight points, ten times each, were 13 std off and converged."""
    x = np.random.default_rng(0).standard_normal(8)
    many = np.random.default_rng(1).permutation(np.repeat(x, 10))
    normal = dist.Normal(0, 1)
    once = sq.estimate(sq.Dataset(x, np.exp(x)), measure=normal, method=method)
    copies = sq.estimate(sq.Dataset(many, np.exp(many)), measure=normal, method=method)
    assert copies.std == pytest.approx(once.std, rel=1e-3)
    assert copies.mean == pytest.approx(once.mean, rel=1e-6) and copies.n == 8
    assert "only 8 of 80 points are distinct" in copies.status.message


class NoStd(sq.Method):
    name = "NoStd"

    def fit(self, data, measure, context):
        return sq.Fit(theta0=data.fx[0], covariance=np.full((1, 1), np.inf), model=None)


def test_an_answer_without_a_finite_std_is_not_converged():
    status = NoStd().estimate(sq.Dataset([0.0, 1.0], [1.0, 2.0])).status
    assert status.code == "not_finite" and "finite mean and std" in status.message


@pytest.mark.parametrize("d", [1, 2, 5])
def test_held_out_values_in_closed_form_by_refits_and_of_averages(d):
    x = np.random.default_rng(d).standard_normal((60, d))
    data = sq.Dataset(x, np.exp(0.3 * x[:, 0]), -x)
    split = folds_of(data, 5, 0)
    closed = sq.Polynomial(order=1)
    fit = closed.fit(data, None, sq.Context(split=split))
    values = closed.held_out_values(fit, data, None, sq.Context())
    assert values is fit.held_out
    refitted = closed.held_out_values(replace(fit, held_out=None), data, None, sq.Context())
    by_hand = closed.hold_out(split, data, None, fit, sq.Context())
    np.testing.assert_allclose(refitted.values, by_hand.values, rtol=1e-12)
    assert refitted.theta0.shape == (5, 1)
    average = sq.MonteCarlo()
    fit = average.fit(data, None, sq.Context())
    assert average.held_out_values(fit, data, None, sq.Context()).values is data.fx
