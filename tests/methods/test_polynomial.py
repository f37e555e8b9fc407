"""Polynomial features end to end: exactness, accuracy, noise, status."""

import numpy as np
import numpyro.distributions as dist
import pytest
import scipy.stats

import steinquad as sq


def normal(d):
    return dist.Normal(0, 1).expand([d]).to_event(1)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_polynomials_are_integrated_exactly_from_scores(d):
    """f of degree 3 is in the span at order 3: theta0 has no error but rounding."""

    def f(x):
        return 1 + x[:, 0] ** 2 + (x**3).sum(axis=1) + x[:, 0] * x[:, -1]

    method = sq.Polynomial(order=3, features="score")
    est = sq.integrate(f, normal(d), n=200, method=method, seed=0)
    assert est.mean == pytest.approx(2 + (d == 1), abs=1e-9)
    assert est.std < 1e-8


def test_correlated_posterior_needs_scores_only():
    rng = np.random.default_rng(0)
    covariance = np.array([[4.0, 1.9], [1.9, 1.0]])
    x = rng.multivariate_normal([3, -1], covariance, 300)
    score = -np.linalg.solve(covariance, (x - [3, -1]).T).T
    est = sq.estimate(sq.Dataset(x, x[:, 0] * x[:, 1], score), method=sq.Polynomial())
    assert est.mean == pytest.approx(-3 + 1.9, abs=1e-9)


@pytest.mark.parametrize(
    ("family", "n", "limit"),
    [
        ("gaussian", 2560, 1e-7),
        ("corner", 5120, 1e-6),
        ("oscillatory", 2560, 1e-7),
        ("product", 5120, 5e-6),
    ],
)
def test_smooth_genz_families_to_many_digits(family, n, limit):
    problem = sq.problems.genz(family, 2)
    est = sq.integrate(problem.integrand, problem.measure, n=n, method=sq.Polynomial(), seed=103)
    assert abs(est.mean - problem.truth) < limit * abs(problem.truth)
    assert abs(est.mean - problem.truth) < 4 * est.std


def test_std_is_honest_on_a_rough_integrand():
    """|error|/std over 40 seeds has a mean square of 1 within a factor 2 (chance: 1e-5)."""
    truth = scipy.stats.norm.cdf(-0.3)
    ratios = []
    for seed in range(40):
        est = sq.integrate(
            lambda x: (x[:, 0] > 0.3).astype(float),
            normal(1),
            n=300,
            method=sq.Polynomial(),
            design=sq.designs.IID(),  # of even points it would be too wide
            seed=seed,
        )
        ratios.append((est.mean - truth) / est.std)
    assert 0.5 < np.mean(np.square(ratios)) < 2


def test_noise_is_weighted():
    """Half of the points are 100 times noisier: knowing that must pay, over 20 seeds."""
    errors = {"known": [], "ignored": []}
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x = rng.standard_normal((300, 1))
        noise = np.where(rng.random(300) < 0.5, 1.0, 0.01)
        fx = x[:, 0] ** 2 + noise * rng.standard_normal(300)
        for name, known in (("known", noise), ("ignored", None)):
            data = sq.Dataset(x, fx, -x, noise=known)
            est = sq.estimate(data, method=sq.Polynomial(order=3))
            errors[name].append(est.mean - 1)
    spread = {name: np.sqrt(np.mean(np.square(e))) for name, e in errors.items()}
    assert spread["known"] < 0.2 * spread["ignored"]


def test_heavy_tails_and_contradicted_means_are_suspect():
    rng = np.random.default_rng(0)
    x = rng.standard_t(3, (2000, 1))
    data = sq.Dataset(x, np.cos(x[:, 0]), -4 * x / (3 + x**2))
    est = sq.estimate(data, method=sq.Polynomial(order=6))
    assert est.status.code == "suspect" and "heavy tails" in est.status.message
    x = rng.multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], 2000)
    est = sq.estimate(
        sq.Dataset(x, np.cos(x[:, 0])), measure=normal(2), method=sq.Polynomial(features="cdf")
    )
    assert est.status.code == "suspect" and "depend on each other" in est.status.message


def test_weights_zero_and_importance():
    rng = np.random.default_rng(1)
    x = 1.5 * rng.standard_normal((1000, 1))
    log_w = scipy.stats.norm.logpdf(x[:, 0]) - scipy.stats.norm.logpdf(x[:, 0], scale=1.5)
    weights = np.exp(log_w) * (np.arange(1000) > 2)
    est = sq.estimate(sq.Dataset(x, np.cos(x[:, 0]), -x, weights=weights), method=sq.Polynomial())
    assert abs(est.mean - np.exp(-0.5)) < 5 * est.std and est.std < 1e-3


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sq.Polynomial(order=0), "order is 0"),
        (lambda: sq.Polynomial(order="high"), "order is 'high'"),
        (lambda: sq.Polynomial(features="moments"), "features is 'moments'"),
        (
            lambda: sq.integrate(
                lambda x: x[:, 0], normal(5), n=50, method=sq.Polynomial(order=4)
            ),
            "choose a lower order",
        ),
        (
            lambda: sq.estimate(
                sq.Dataset(np.arange(9.0), np.arange(9.0)), method=sq.Polynomial()
            ),
            "score is missing",
        ),
        (
            lambda: sq.estimate(
                sq.Dataset(np.arange(9.0), np.arange(9.0), -np.arange(9.0)),
                method=sq.Polynomial(features="cdf"),
            ),
            "no measure was given",
        ),
    ],
)
def test_bad_input_is_one_sentence(make, message):
    with pytest.raises(sq.InputError, match=message) as caught:
        make()
    assert "\n" not in str(caught.value) and str(caught.value).endswith(".")
