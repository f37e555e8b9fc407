"""Posterior expectations: exact where they can be, the same in every layout, never silent."""

import json

import numpy as np
import pytest
from helpers import assert_close
from made_up_chains import independent, normal, skewed

import steinquad as sq

DIMS = (1, 2, 5)


def means(result, statistic="mean"):
    return np.array([row.mean for row in result if row.statistic == statistic])


@pytest.mark.parametrize("d", DIMS)
def test_order_one_gives_normal_means_and_order_two_their_variances(d):
    known = normal(0, d)
    result = sq.posterior_expectation(known.draws, score=known.score)
    assert result.status.code == "converged" and result.dim == d
    assert_close(means(result), known.mean, rtol=1e-10)
    assert_close(means(result, "variance"), known.variance, rtol=1e-10)
    for row in result:
        if row.statistic == "mean":
            assert row.method == "order 1" and row.std < 1e-8 and row.reduction > 1e10
        if row.statistic == "variance":
            assert row.method.startswith("order 2") and row.std < 1e-6


@pytest.mark.parametrize("d", (6, 30))
def test_wide_normal_posteriors_are_exact_with_squares(d):
    known = normal(1, d, draws=200)
    result = sq.posterior_expectation(known.draws, score=known.score)
    assert_close(means(result), known.mean, rtol=1e-10)
    assert_close(means(result, "variance"), known.variance, rtol=1e-9)
    assert result["x0", "variance"].method == "order 2, squares"


@pytest.mark.parametrize("d", DIMS)
def test_weighted_draws(d):
    known = normal(9, d, rho=0.0)
    rng = np.random.default_rng(1)
    tilt = 0.5 * rng.normal(size=(4, 250))
    weights = np.exp(tilt)  # independent of the draws: the distribution stays
    result = sq.posterior_expectation(known.draws, score=known.score, weights=weights)
    same = sq.posterior_expectation(known.draws, score=known.score, weights=3 * weights.ravel())
    assert_close(means(result), known.mean, rtol=1e-10)
    assert_close(means(same), means(result), rtol=1e-12)
    plain = weights.ravel() @ known.draws.reshape(-1, d) / weights.sum()
    assert_close(np.array([r.plain for r in result if r.statistic == "mean"]), plain)
    size = weights.sum() ** 2 / np.sum(weights**2)
    assert 0.7 < result["x0"].mcse / np.sqrt(known.variance[0] / size) < 1.4


@pytest.mark.parametrize("positive", (2, 150, 300))
@pytest.mark.parametrize("d", DIMS)
def test_draws_without_weight_are_as_good_as_absent(d, positive):
    known = normal(0, d, chains=1, draws=1000)
    weights = np.where(np.arange(1000) < positive, 1.0, 0.0)
    result = sq.posterior_expectation(known.draws, score=known.score, weights=weights)
    part = slice(0, positive)
    alone = sq.posterior_expectation(
        known.draws[:, part], score=known.score[:, part], weights=np.ones(positive)
    )
    for a, b in zip(result, alone, strict=True):
        if a.statistic in ("mean", "variance"):
            assert (a.mean, a.std) == pytest.approx((b.mean, b.std), rel=1e-9), a.name


def test_importance_weights_move_the_distribution():
    known = normal(10, 1, rho=0.0, draws=1000)
    x = known.draws[..., 0]
    shift = 0.4  # from N(mean, 1) to N(mean + shift, 1)
    weights = np.exp(shift * (x - known.mean[0]))
    score = -(x - known.mean[0] - shift)[..., None]
    result = sq.posterior_expectation(known.draws, score=score, weights=weights)
    assert result.status.code == "converged"
    assert abs(result["x0"].mean - known.mean[0] - shift) < 1e-10
    unweighted = sq.posterior_expectation(known.draws, score=score)
    assert unweighted.status.code == "suspect"


def test_few_weights_are_reported():
    known = normal(11, 1)
    weights = np.full((4, 250), 1e-9)
    weights[0, :3] = 1.0
    result = sq.posterior_expectation(known.draws, score=known.score, weights=weights)
    assert result.status.code == "suspect" and "too few to tell" in result.warnings[0]
    assert "effective sample size of 3.0" in result.warnings[1]


def test_chains_that_did_not_mix_are_reported():
    known = normal(12, 2)
    draws = known.draws.copy()
    draws[0] += 3.0
    result = sq.posterior_expectation(draws, score=known.score)
    assert result.status.code == "suspect"
    assert any("did not mix" in note for note in result.warnings)
    assert "R-hat" in result["x0"].warnings[0]


def test_another_method_on_request():
    known = skewed(13, 2)
    result = sq.posterior_expectation(
        known.draws, lambda x: x, score=known.score, method=sq.Polynomial(features="score")
    )
    for row, truth in zip(result, known.mean, strict=True):
        assert row.method == "Polynomial" and abs(row.mean - truth) < 5 * row.std
        assert row.std < row.mcse / 3


def test_names_select_rows():
    known = normal(14, 2)
    draws = {"a": known.draws[..., 0], "b": known.draws[..., 1]}
    score = {"a": known.score[..., 0], "b": known.score[..., 1]}
    result = sq.posterior_expectation(draws, score=score, var_names=["b"])
    assert {row.name for row in result} == {"b"}
    assert abs(result["b"].mean - known.mean[1]) < 1e-10
    apart = draws | {"c": draws["a"] + 9.0 * np.arange(4)[:, None]}
    result = sq.posterior_expectation(apart, score=score, var_names=["b"])
    assert "R-hat" in result.status.message and "for c" in result.status.message


def with_nan(array):
    array = array.copy()
    array[1, 2, 0] = np.nan
    return array


GOOD = normal(15, 2)


@pytest.mark.parametrize(
    ("draws", "arguments", "words"),
    [
        (GOOD.draws, {}, "score is missing"),
        (GOOD.draws, {"score": GOOD.score[:, :100]}, "score has 4 chains of 100 draws"),
        (GOOD.draws, {"score": GOOD.score[..., :1]}, "score has shape"),
        (GOOD.draws, {"score": with_nan(GOOD.score)}, "score contains NaN"),
        (with_nan(GOOD.draws), {"score": GOOD.score}, "draws contains NaN"),
        (GOOD.draws, {"score": lambda x: x[:, 0]}, "returned shape (1000,)"),
        (GOOD.draws, {"score": {"y": GOOD.score}}, "no variable of draws"),
        (GOOD.draws, {"score": 3.0}, "model is a float"),
        (GOOD.draws, {"score": sq.Draws([0.0, 1.0], [0.0, 1.0])}, "2 points for 1000 draws"),
        (GOOD.draws[:1, :1], {"score": GOOD.score[:1, :1]}, "at least 2"),
        (GOOD.draws[None], {"score": GOOD.score}, "pass (chain, draw, dim)"),
        ({}, {"score": GOOD.score}, "draws is empty"),
        ({"a": GOOD.draws, "b": GOOD.draws[:2]}, {"score": GOOD.score}, "draws['b'] has shape"),
        ({"a": np.array([["x"]])}, {"score": GOOD.score}, "not numeric"),
        (np.zeros((4, 250, 2)), {"score": GOOD.score}, "does not vary in coordinate x0"),
        (GOOD.draws, {"score": GOOD.score, "weights": -np.ones(1000)}, "pass numbers >= 0"),
        (GOOD.draws, {"score": GOOD.score, "weights": np.zeros(1000)}, "at least two of them"),
        (GOOD.draws, {"score": GOOD.score, "weights": np.eye(1000)[0]}, "at least two of them"),
        (GOOD.draws, {"score": lambda: None}, "sq.targets.NumPyro(model, *args)"),
        ({"a": [[1.0, 2.0], [3.0]]}, {"score": GOOD.score}, "draws['a'] is ragged"),
        (GOOD.draws, {"score": GOOD.score, "f": lambda x: [[1], [2, 3]]}, "f returned a ragged"),
        (GOOD.draws, {"score": GOOD.score, "weights": np.ones(7)}, "weights has shape (7,)"),
        (GOOD.draws, {"score": GOOD.score, "f": 3}, "f is a int"),
        (GOOD.draws, {"score": GOOD.score, "f": lambda x: x[:3]}, "f returned"),
        (GOOD.draws, {"score": GOOD.score, "f": lambda x: x * np.nan}, "contains NaN"),
        (GOOD.draws, {"score": GOOD.score, "f": lambda x: {}}, "f returned nothing"),
        (GOOD.draws, {"score": GOOD.score, "var_names": ["y"]}, "var_names has 'y'"),
        (GOOD.draws, {"score": GOOD.score, "method": "bsn"}, "method is 'bsn'"),
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence(draws, arguments, words):
    with pytest.raises(sq.InputError) as error:
        sq.posterior_expectation(draws, **arguments)
    assert words in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize("n", (2, 3, 10, 19, 25))
def test_few_draws_give_the_plain_mean_or_better(n):
    x = np.random.default_rng(0).normal(size=(n, 2))
    result = sq.posterior_expectation(x, score=-x)
    for row in result:
        assert np.isfinite([row.mean, row.plain]).all() and row.std >= 0
    if n < 20:
        assert all(row.method in ("plain mean", "constant") for row in result)
        assert result.status.code == "suspect" and "too few" in result.status.message


def test_same_call_same_answer():
    known = skewed(16, 2)
    first, second = (sq.posterior_expectation(known.draws, score=known.score) for _ in range(2))
    assert first.rows == second.rows


def test_chains_too_short_for_r_hat_say_so():
    xarray = pytest.importorskip("xarray")
    x = independent(300, 3, 1)
    tree = xarray.DataTree.from_dict(
        {
            "posterior": xarray.Dataset({"a": (("chain", "draw"), x[..., 0])}),
            "score": xarray.Dataset({"a": (("chain", "draw"), -x[..., 0])}),
        }
    )
    result = sq.posterior_expectation(tree)
    assert any("3 draws are too short" in note for note in result.warnings)
    plain = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert plain["rhat"] == {"a": None}
