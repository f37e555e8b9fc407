"""Plausible input at the edge: each of these once crashed or answered wrongly."""

import json
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

import steinquad as sq
from steinquad.checking.folds import folds_of
from steinquad.fit import WarmStart
from steinquad.measures import as_measure

NORMAL = dist.Normal(0, 1)
MC = sq.MonteCarlo()
SCORE = sq.Polynomial(features="score")
CHOOSE = sq.Stack([MC, sq.Polynomial(features="cdf", name="cdf"), SCORE])
X = np.random.default_rng(0).standard_normal((100, 1))


def test_more_coordinates_than_points():
    wide = dist.Normal(0, 1).expand([30]).to_event(1)
    with pytest.raises(sq.InputError, match="30 features for 20 points"):
        sq.integrate(lambda x: np.exp(x[:, 0]), wide, n=20, method=sq.Polynomial())
    est = sq.integrate(lambda x: np.exp(x[:, 0]), wide, n=50, method=CHOOSE)
    assert est.std > 0 and abs(est.mean - np.exp(0.5)) < 4 * est.std


@pytest.mark.parametrize("seed", range(3))
def test_an_exactly_represented_f_is_not_suspect(seed):
    est = sq.integrate(
        lambda x: 3 * x[:, 0] ** 2 + x[:, 0] + 1, NORMAL, n=300, method=CHOOSE, seed=seed
    )
    assert est.status.code == "converged" and est.mean == pytest.approx(4, abs=1e-10)
    checked = sq.integrate(lambda x: x[:, 0] + 1, NORMAL, n=100, method=SCORE, folds=2, seed=seed)
    assert checked.status.code == "converged"


def test_rare_events_get_an_answer():
    for seed in range(6):
        est = sq.integrate(
            lambda x: (x[:, 0] > 2.2) * 1.0, NORMAL, n=100, seed=seed, method=CHOOSE
        )
        assert np.isfinite(est.mean)


def test_extreme_values_of_f_are_scaled_or_refused():
    for size in (1e-50, 1e50):
        est = sq.integrate(lambda x, size=size: size * x[:, 0] ** 2, NORMAL, n=100, method=CHOOSE)
        assert est.mean == pytest.approx(size, rel=1e-6)
    for size in (1e-200, 1e200):
        with pytest.raises(sq.InputError, match="multiply f by a constant"):
            sq.integrate(lambda x, size=size: size * x[:, 0], NORMAL, n=50, method=MC)
    with pytest.raises(sq.InputError, match="complex"):
        sq.integrate(lambda x: x[:, 0] * 1j, NORMAL, n=20, method=MC)


@dataclass(frozen=True, eq=False)
class Memory(WarmStart):
    """All values by their points."""

    known: dict


@dataclass(frozen=True)
class Remembers(sq.Method):
    """Would pass a check by looking up what it was started from."""

    name: str = "Remembers"

    def fit(self, data, measure, context):
        known = dict(context.start.known) if context.start is not None else {}
        known |= {x.tobytes(): f for x, f in zip(data.x, data.fx, strict=True)}
        mean = data.fx.mean(axis=0)
        return sq.Fit(
            theta0=mean,
            covariance=np.eye(1) * 1e-12,
            model=lambda points, return_std: (
                np.stack([known.get(row.tobytes(), mean) for row in points.x]),
                None,
            ),
            warm_start=Memory(known),
        )


def test_cross_fitting_starts_methods_cold_unless_they_ask():
    est = sq.integrate(
        lambda x: np.exp(x[:, 0]), NORMAL, n=200, method=sq.Stack([Remembers()]), seed=0
    )
    assert est.check is not None and est.check.std > 0.5 * np.exp(x_values()).std() / np.sqrt(200)


def x_values():
    return np.random.default_rng(0).standard_normal(200)


def test_a_gaussian_process_that_starts_elsewhere_finds_its_lengthscales():
    """Started from a fit to 16 points the ratios must not stay those of that fit."""

    def f(x):
        return np.sin(3 * x[:, 0]) + 0.3 * x[:, 1]

    measure = dist.Normal(0, 1).expand([3]).to_event(1)
    method = sq.BayesianQuadrature()
    few = sq.integrate(f, measure, n=16, method=method)
    x = np.random.default_rng(1).standard_normal((150, 3))

    data = sq.Dataset(x, f(x))
    warm = method.estimate(data, as_measure(measure), sq.Context(start=few.fit.warm_start))
    ratios = [e.stats["lengthscales"][1:] / e.stats["lengthscales"][0] for e in (few, warm)]
    assert not np.allclose(*ratios, rtol=1e-3)


def test_a_failed_gaussian_process_is_reported_not_raised():
    rng = np.random.default_rng(0)
    x = rng.choice([0.0, 1.0, 2.0], (40, 1))
    data = sq.Dataset(x, np.cos(x[:, 0]) + rng.standard_normal(40))
    quartic = sq.BayesianQuadrature(mean=4)
    est = sq.estimate(data, measure=NORMAL, method=quartic, folds=2)
    assert est.status.code == "not_finite" and "not_finite" in str(est)
    est = sq.estimate(data, measure=NORMAL, method=sq.Stack([MC, quartic]))
    assert est.method == "Stack: MonteCarlo"


def test_points_of_weight_zero_are_left_out():
    weights = np.zeros(100)
    weights[:4] = 1
    data = sq.Dataset(X, X[:, 0] ** 2, -X, weights=weights)
    assert sq.estimate(data, method=CHOOSE).n == 4
    constant = np.where(np.arange(100) < 64, 1.0, X[:, 0])
    data = sq.Dataset(X, constant, -X, weights=(np.arange(100) < 64) * 1.0)
    assert sq.estimate(data, method=CHOOSE).status.code == "constant"


@pytest.mark.parametrize("method", [MC, SCORE, sq.ControlFunctional(), sq.BayesianQuadrature()])
def test_a_method_that_is_asked_itself_leaves_them_out_too(method):
    weights = (np.arange(100) < 40) * 1.0
    wild = np.where(weights > 0, np.abs(X[:, 0]), 1e6 * X[:, 0])
    data = sq.Dataset(X, wild, -X, weights=weights)
    few = sq.Dataset(X[:40], np.abs(X[:40, 0]), -X[:40])
    ours, theirs = (method.estimate(each, as_measure(NORMAL)) for each in (data, few))
    assert ours.n == theirs.n == len(ours.values) == 40
    assert (ours.mean, ours.std) == pytest.approx((theirs.mean, theirs.std), rel=1e-9)


def test_unequal_groups_are_split_evenly():
    data = sq.Dataset(X, X[:, 0] ** 2, -X, groups=np.repeat([0, 1], [96, 4]))
    assert min(len(part) for part in folds_of(data, 2, seed=0)) == 50
    assert sq.estimate(data, method=SCORE, folds=2).check is not None


def test_results_of_a_design_survive_json():
    design = sq.designs.MALA(chains=2, warmup=50)
    measure = sq.LogDensity(lambda x: -0.5 * jnp.sum(x**2), dim=1)
    est = sq.integrate(lambda x: x[:, 0], measure, n=40, method=MC, design=design)
    assert "rhat" in json.loads(json.dumps(est.to_dict()))["stats"]["design"]


def test_coordinates_of_very_different_scale():
    z = np.random.default_rng(0).standard_normal((500, 2))
    stds = []
    for scale in ([1.0, 1.0], [1e6, 1e-3]):
        data = sq.Dataset(z * scale, np.exp(z[:, 1]), -z / scale)
        stds.append(sq.estimate(data, method=SCORE).std)
    assert stds[1] < 3 * stds[0] < 3e-6  # the errors are below 1e-7: the jackknife is larger


def test_an_estimate_far_from_the_average_is_suspect():
    """High orders fit a curved posterior by functions that are of mean zero only far away."""
    rng = np.random.default_rng(1)
    x1 = rng.standard_normal(600)
    x = np.column_stack([x1, 0.5 * x1**2 + 0.5 * rng.standard_normal(600)])
    inner = x[:, 1] - 0.5 * x1**2
    score = np.column_stack([-x1 + 4 * inner * x1, -4 * inner])
    data = sq.Dataset(x, x[:, 1], score)
    forced = sq.estimate(data, method=sq.Polynomial(order=9))
    assert abs(forced.mean - 0.5) > 0.2 and forced.status.code == "suspect"
    chosen = sq.estimate(data, method=sq.Polynomial())
    assert abs(chosen.mean - 0.5) < 4 * chosen.std and chosen.status.code == "converged"


def test_tolerance_rounds_fit_the_design():
    est = sq.integrate(lambda x: np.exp(x[:, 0]), NORMAL, rtol=5e-2, method=sq.QuasiMonteCarlo())
    assert est.n % 16 == 0 and est.std <= 5e-2 * est.mean
    with pytest.raises(sq.InputError, match="n is 400 but max_n is 300"):
        sq.integrate(lambda x: x[:, 0], NORMAL, rtol=1e-2, n=400, max_n=300, method=MC)
    est = sq.integrate(lambda x: np.abs(x[:, 0]), NORMAL, n=100, folds=3, method=CHOOSE)
    assert est.check is not None and est.check.folds == 3
    with pytest.raises(sq.InputError, match="folds is 1"):
        sq.Stack(folds=1)
