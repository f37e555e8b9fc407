"""The stack: right weights, never worse than Monte Carlo, honest, with a table of all tried."""

import numpy as np
import numpyro.distributions as dist
import pytest

import steinquad as sq

CHEAP = [
    sq.MonteCarlo(),
    sq.Polynomial(),
    sq.Polynomial(features="score", name="Polynomial(score)"),
]


def normal(d):
    return dist.Normal(0, 1).expand([d]).to_event(1)


def test_smooth_f_is_left_to_polynomials_and_the_table_says_so():
    est = sq.integrate(lambda x: 1 + x[:, 0] ** 2 * x[:, 1] ** 2, normal(2), n=400)
    assert est.method.startswith("Stack: Polynomial")
    assert abs(est.mean - 2) < 1e-6 and abs(est.mean - 2) < 5 * est.std
    assert est.check is not None and est.check.folds == 10
    names = [row["method"] for row in est.candidates]
    polynomials = ["Polynomial(cdf)", "Polynomial(score)", "PolynomialChaos"]
    assert names == ["MonteCarlo", *polynomials, "BQ", "BQ(rbf)", "CF", "BSN"]
    assert sum(row["weight"] for row in est.candidates) == pytest.approx(1)
    skipped = est.candidates[-1]
    assert skipped["held_out_rms"] is None and "the others leave less" in skipped["note"]
    assert est.to_dict()["candidates"][0]["method"] == "MonteCarlo"


def test_kinks_are_left_to_the_network():
    def f(x):
        return np.abs(x[:, 0] - 0.3) + np.abs(x[:, 1] + 0.2)

    quick = sq.BSN(width=16, activation="celu", folds=2, optimizer=sq.GaussNewton(max_steps=60))
    est = sq.integrate(f, normal(2), n=600, method=sq.Stack([*CHEAP, quick]), seed=1)
    assert est.method == "Stack: BSN"
    weight = {row["method"]: row["weight"] for row in est.candidates}
    assert weight["BSN"] > 0.9
    truth = sum(
        2 * np.exp(-(a**2) / 2) / np.sqrt(2 * np.pi) + a * (2 * normal_cdf(a) - 1)
        for a in (0.3, 0.2)
    )
    assert abs(est.mean - truth) < 4 * est.std < 0.02


def normal_cdf(a):
    from scipy.stats import norm

    return norm.cdf(a)


def test_never_worse_than_monte_carlo_on_pure_noise():
    """f that nothing can fit: 30 seeds, rms error within 15 % of the plain average's."""
    plain, chosen = [], []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        x = rng.standard_normal((200, 2))
        data = sq.Dataset(x, rng.standard_normal(200), -x)
        est = sq.estimate(data, method=sq.Stack(CHEAP), seed=seed)
        chosen.append(est.mean)
        plain.append(data.fx.mean())
    assert np.sqrt(np.mean(np.square(chosen))) < 1.15 * np.sqrt(np.mean(np.square(plain)))


@pytest.mark.slow
def test_intervals_cover():
    """40 seeds at n = 150: a 95 % interval misses at most 7 times (chance below 1e-3)."""
    truth = 2 / np.sqrt(3) - np.sqrt(2 / np.pi)
    misses = 0
    for seed in range(40):
        est = sq.integrate(
            lambda x: 2 * np.exp(-(x[:, 0] ** 2)) - np.abs(x[:, 1]),
            normal(2),
            n=150,
            method=sq.Stack(CHEAP),
            seed=seed,
        )
        low, high = est.interval(0.95)
        misses += not low < truth < high
    assert misses <= 7


def test_wrong_scores_lead_to_the_average_and_a_warning():
    x = np.random.default_rng(0).standard_normal((1000, 2))
    data = sq.Dataset(x, x[:, 0] ** 2, -2 * x)
    est = sq.estimate(data, method=sq.Stack([sq.MonteCarlo(), sq.Polynomial()]))
    assert est.method == "Stack: MonteCarlo" and est.status.code == "suspect"
    assert "set aside" in est.status.message


def test_values_alone_are_averaged():
    x = np.random.default_rng(0).standard_normal((100, 2))
    est = sq.estimate(sq.Dataset(x, x[:, 0]))
    assert est.method == "Stack: MonteCarlo"
    notes = {row["method"]: row["note"] for row in est.candidates}
    assert "score is missing" in notes["BSN"] and "measure is missing" in notes["BQ"]


@pytest.mark.parametrize("n", [2, 3, 5, 9])
def test_a_handful_of_points_still_gets_an_answer(n):
    est = sq.integrate(lambda x: np.cos(x[:, 0]), normal(2), n=n, method=sq.Stack(CHEAP))
    assert np.isfinite(est.mean) and est.std > 0


def test_several_outputs_have_weights_of_their_own():
    def f(x):
        return np.stack([x[:, 0] ** 2, np.cos(x[:, 1]), np.full(len(x), 2.0)], axis=1)

    est = sq.integrate(f, normal(2), n=300, method=sq.Stack(CHEAP))
    assert est.mean.shape == (3,) and est.mean[2] == 2 and est.std[2] == 0
    np.testing.assert_allclose(est.mean[:2], [1, np.exp(-0.5)], atol=1e-3)
    assert np.all(np.linalg.eigvalsh(est.covariance) >= -1e-18)
    weights = np.stack([row["weight"] for row in est.candidates])
    np.testing.assert_allclose(weights.sum(axis=0), 1)


def test_a_grid_is_ranked_but_not_averaged():
    est = sq.integrate(
        lambda x: np.cos(x[:, 0]),
        normal(1),
        n=101,
        design=sq.designs.Grid(),
        method=sq.Stack(CHEAP),
    )
    assert est.method.startswith("Stack: Polynomial")
    assert est.check is None and abs(est.mean - np.exp(-0.5)) < 2 * est.std < 0.2
    assert sq.MonteCarlo().obstacle(sq.Dataset([0, 1], [0, 1], sampled=False), None)


def test_bad_candidates():
    with pytest.raises(sq.InputError, match="methods is empty"):
        sq.Stack([])
    with pytest.raises(sq.InputError, match="give method objects"):
        sq.Stack(["bsn"])
    with pytest.raises(sq.InputError, match="two named 'BSN'"):
        sq.Stack([sq.BSN(), sq.BSN(width=8)])
    with pytest.raises(sq.InputError, match="no method applies"):
        sq.estimate(sq.Dataset([0.0, 1.0], [0.3, 1.1]), method=sq.Stack([sq.Polynomial()]))


def plain(n, d=2, seed=0):
    x = np.random.default_rng(seed).standard_normal((n, d))
    return sq.Dataset(x, np.exp(x[:, 0] / 2) + np.abs(x[:, 1]), -x)


@pytest.mark.parametrize("folds", [2, 3])
def test_few_folds_leave_points_to_try_a_network_on(folds):
    quick = sq.BSN(width=4, activation="tanh", folds=2, optimizer=sq.GaussNewton(max_steps=3))
    est = sq.estimate(plain(60), method=sq.Stack([sq.MonteCarlo(), quick]), folds=folds)
    assert est.check.folds == folds and np.isfinite(est.std)


@pytest.mark.parametrize("inner", [sq.Polynomial(), sq.Stack(CHEAP)], ids=lambda m: m.name)
def test_a_subset_may_be_a_member(inner):
    """Rows of folds are those of all points; a subset has others."""
    est = sq.estimate(plain(100), method=sq.Stack([sq.MonteCarlo(), sq.Subset(inner, size=40)]))
    note = est.candidates[1]["note"]
    assert np.isfinite(est.std) and est.candidates[1]["held_out_rms"] is not None, note


class Odd(sq.Method):
    """A method that fails in a way of its own."""

    name = "Odd"

    def __init__(self, kind):
        self.kind = kind

    def fit(self, data, measure, context):
        if self.kind == "breaks down":
            return sq.Fit.failed(data, "my numbers broke")
        mean = data.fx.mean(axis=0)
        return sq.Fit(
            theta0=mean + 5.0 * (self.kind == "far"),
            covariance=np.diag(np.full(data.outputs, np.inf if self.kind == "no std" else 1.0)),
            model=lambda points, return_std: (np.tile(mean, (len(points.x), 1)), None),
        )


@pytest.mark.parametrize("kind", ["breaks down", "no std", "far"])
def test_a_member_that_fails_has_no_part_in_the_answer(kind):
    est = sq.estimate(plain(200), method=sq.Stack([sq.Polynomial(), Odd(kind)]))
    alone = sq.estimate(plain(200), method=sq.Stack([sq.Polynomial()]))
    assert est.candidates[1]["weight"] == 0
    assert (est.mean, est.status.code) == (alone.mean, "converged")
    assert est.std == pytest.approx(alone.std, rel=0.1)


def test_few_values_on_the_lines_of_a_grid_are_not_believed():
    """Two values cannot tell an exponential from a line, whose residuals are zero."""
    with pytest.raises(sq.InputError, match="2 values on a line"):
        sq.integrate(
            lambda x: np.exp(x[:, 0]) + x[:, 1],
            normal(2),
            n=4,
            design=sq.designs.Grid(),
            method=sq.Stack([sq.Polynomial()]),
        )


def test_the_model_that_others_use_is_none_of_an_average():
    rng = np.random.default_rng(3)
    x = rng.standard_normal((120, 2))
    fx = 3 * rng.standard_normal(120) + 0.6 * x[:, 0]
    method = sq.Stack([sq.MonteCarlo(), sq.Polynomial()])
    est = sq.estimate(sq.Dataset(x, fx, -x), method=method)
    average, polynomial = (row["weight"] for row in est.candidates)
    assert average > polynomial > 0  # the case in question
    assert method.winner(est.fit).name == "Polynomial"
