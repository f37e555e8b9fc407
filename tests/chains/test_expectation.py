"""Posterior expectations: exact where they can be, the same in every layout, never silent."""

from dataclasses import replace

import numpy as np
import pytest
from helpers import assert_close
from made_up_chains import funnel, normal, skewed

import steinquad as sq
from steinquad.chains import improve
from steinquad.chains.targets.base import Target

DIMS = (1, 2, 5)


def means(result, statistic="mean"):
    return np.array([row.mean for row in result if row.statistic == statistic])


@pytest.mark.parametrize("d", DIMS)
def test_order_one_gives_normal_means_and_order_two_their_variances(d):
    known = normal(0, d)
    found = sq.posterior_expectation(known.draws, score=known.score)
    assert found.status.code == "converged" and found.dim == d
    assert_close(means(found), known.mean, rtol=1e-10)
    assert_close(means(found, "variance"), known.variance, rtol=1e-10)
    for row in found:
        if row.statistic == "mean":
            assert row.method == "order 1" and row.std < 1e-8 and row.reduction > 1e10
        if row.statistic == "variance":
            assert row.method.startswith("order 2") and row.std < 1e-6


@pytest.mark.parametrize("d", (6, 30))
def test_wide_normal_posteriors_are_exact_with_squares(d):
    known = normal(1, d, draws=200)
    found = sq.posterior_expectation(known.draws, score=known.score)
    assert_close(means(found), known.mean, rtol=1e-10)
    assert_close(means(found, "variance"), known.variance, rtol=1e-9)
    assert found["x0", "variance"].method == "order 2, squares"


def test_wide_posteriors_have_the_products_that_matter(monkeypatch):
    """A scale and 59 effects: 1,770 products are too many for 2,000 draws, few are needed."""
    known = funnel(0, 60, spread=0.2)
    found = sq.posterior_expectation(known.draws, score=known.score)
    rows = [row for row in found if row.statistic == "mean"]
    assert sum(row.method == "order 2, 240 products" for row in rows) > 50
    monkeypatch.setattr(improve, "SPARSE", 0)
    without = sq.posterior_expectation(known.draws, score=known.score)
    error, before = (
        np.sqrt(np.mean([row.mean**2 for row in each if row.statistic == "mean"]))
        for each in (found, without)
    )
    assert error < 0.6 * before
    # Sixty t's of ten degrees of freedom or more: beyond 5.5 with a chance of less than 2 %.
    assert max(abs(row.mean) / row.std for row in rows) < 5.5


@pytest.mark.parametrize("d", DIMS)
def test_every_layout_gives_the_same(d):
    xarray = pytest.importorskip("xarray")
    known = skewed(2, d)
    dims = ("chain", "draw", "x_dim_0")
    posterior = xarray.Dataset({"x": (dims, known.draws)})
    scores = xarray.Dataset({"x": (dims, known.score)})
    tree = xarray.DataTree.from_dict({"posterior": posterior, "score": scores})

    class InferenceData:  # what the older ArviZ has
        def __init__(self):
            self.posterior = posterior

        def groups(self):
            return ["posterior"]

    flat = known.score.reshape(-1, d)
    layouts = [
        (known.draws, known.score),
        ({"x": known.draws}, {"x": known.score}),
        ({"x": known.draws}, known.score),
        ({f"x{i}": known.draws[..., i] for i in range(d)}, known.score),
        (tree, None),
        (posterior, scores),
        (posterior.transpose(..., "chain"), scores),
        (InferenceData(), known.score),
        (known.draws, lambda x: flat),
        (known.draws, sq.Draws(known.draws.reshape(-1, d), flat)),
    ]
    tables = [sq.posterior_expectation(draws, score=score).rows for draws, score in layouts]
    for rows in tables[1:]:
        for row, first in zip(rows, tables[0], strict=True):
            assert replace(row, name="") == replace(first, name="")


def test_scores_that_a_sampler_stored_are_found():
    xarray = pytest.importorskip("xarray")
    known = skewed(3, 2)
    positive = xarray.Dataset({"rate": (("chain", "draw", "i"), np.exp(known.draws))})
    dims = ("chain", "draw", "unconstrained_parameter")
    stats = {"unconstrained_draw": (dims, known.draws), "gradient": (dims, known.score)}
    tree = xarray.DataTree.from_dict(
        {"posterior": positive, "sample_stats": xarray.Dataset(stats)}
    )
    found = sq.posterior_expectation(tree, lambda v: np.log(v["rate"]))
    again = sq.posterior_expectation(known.draws, lambda x: x, score=known.score)
    np.testing.assert_allclose(means(found), means(again), rtol=1e-9)


def test_a_target_takes_the_draws_to_real_space():
    known = skewed(4, 2)

    class Logarithms(Target):
        def unconstrain(self, draws):
            assert draws["rate"].shape == (1000, 2) and set(draws) == {"rate", "total"}
            return np.log(draws["rate"])

        def score(self, points):
            np.testing.assert_allclose(points, known.draws.reshape(-1, 2), atol=1e-12)
            return known.score.reshape(-1, 2)

    rate = np.exp(known.draws)
    draws = {"rate": rate, "total": rate.sum(axis=2)}
    found = sq.posterior_expectation(draws, score=Logarithms())
    # x0 is the logarithm of a gamma variable of shape 2.
    row = found["rate[0]"]
    assert abs(row.mean - 2.0) < 4 * row.std and row.reduction > 100
    assert abs(found["total"].mean - found["rate[0]"].mean - found["rate[1]"].mean) < 1e-3


def test_variables_without_scores_are_functions_of_the_others():
    known = normal(5, 2)
    draws = {"a": known.draws[..., 0], "b": known.draws[..., 1], "sum": known.draws.sum(axis=2)}
    score = {"b": known.score[..., 1], "a": known.score[..., 0]}
    found = sq.posterior_expectation(draws, score=score)
    assert abs(found["sum"].mean - known.mean.sum()) < 1e-10
    assert found.dim == 2


def test_own_functions_in_the_users_coordinates():
    known = normal(6, 2)
    draws = {"a": known.draws[..., 0], "b": known.draws}

    def f(v):
        return {"square": v["a"] ** 2, "both": v["b"] * 2.0}

    score = {"b": known.score}
    found = sq.posterior_expectation(draws, f, score=score)
    assert [row.name for row in found] == ["square", "both[0]", "both[1]"]
    assert abs(found["square"].mean - known.variance[0] - known.mean[0] ** 2) < 1e-10
    assert abs(found["both[1]"].mean - 2 * known.mean[1]) < 1e-10
    hidden = sq.posterior_expectation(
        draws, lambda v: {"a": v["a"] ** 2, "other": v["a"]}, score=score
    )
    assert "other" in str(hidden) and {"a", "other"} == set(hidden.summary().index)
    assert {"a", "other"} == set(hidden.to_datatree()["posterior_expectation"].data_vars)
    one = sq.posterior_expectation(known.draws, lambda x: x[:, 0], score=known.score)
    assert abs(one["f"].mean - known.mean[0]) < 1e-10


def test_constants_are_exact():
    known = normal(7, 2)
    draws = {"x": known.draws, "one": np.ones(known.draws.shape[:2])}
    found = sq.posterior_expectation(draws, score={"x": known.score})
    row = found["one"]
    assert (row.plain, row.mean, row.std, row.mcse) == (1.0, 1.0, 0.0, 0.0)
    assert row.method == "constant" and row.reduction == 1.0 and not row.warnings
    assert found["one", "variance"].mean == 0.0 and found["one", "50%"].mean == 1.0
    constant = sq.posterior_expectation(known.draws, lambda x: np.ones(len(x)), score=known.score)
    assert constant["f"].mean == 1.0 and constant["f"].std == 0.0


def test_nothing_helps_a_function_that_no_score_explains():
    known = normal(8, 2)
    noise = np.random.default_rng(0).choice([-1.0, 1.0], size=1000)
    found = sq.posterior_expectation(known.draws, lambda x: noise, score=known.score)
    row = found["f"]
    assert row.method == "plain mean" and row.mean == row.plain and row.std == row.mcse


@pytest.mark.parametrize("d", DIMS)
def test_weighted_draws(d):
    known = normal(9, d, rho=0.0)
    rng = np.random.default_rng(1)
    tilt = 0.5 * rng.normal(size=(4, 250))
    weights = np.exp(tilt)  # independent of the draws: the law stays
    found = sq.posterior_expectation(known.draws, score=known.score, weights=weights)
    same = sq.posterior_expectation(known.draws, score=known.score, weights=3 * weights.ravel())
    assert_close(means(found), known.mean, rtol=1e-10)
    assert_close(means(same), means(found), rtol=1e-12)
    plain = weights.ravel() @ known.draws.reshape(-1, d) / weights.sum()
    assert_close(np.array([r.plain for r in found if r.statistic == "mean"]), plain)
    size = weights.sum() ** 2 / np.sum(weights**2)
    assert 0.7 < found["x0"].mcse / np.sqrt(known.variance[0] / size) < 1.4


@pytest.mark.parametrize("positive", (2, 150, 300))
@pytest.mark.parametrize("d", DIMS)
def test_draws_without_weight_are_as_good_as_absent(d, positive):
    known = normal(0, d, chains=1, draws=1000)
    weights = np.where(np.arange(1000) < positive, 1.0, 0.0)
    found = sq.posterior_expectation(known.draws, score=known.score, weights=weights)
    part = slice(0, positive)
    alone = sq.posterior_expectation(
        known.draws[:, part], score=known.score[:, part], weights=np.ones(positive)
    )
    for a, b in zip(found, alone, strict=True):
        if a.statistic in ("mean", "variance"):
            assert (a.mean, a.std) == pytest.approx((b.mean, b.std), rel=1e-9), a.name


def test_importance_weights_move_the_law():
    known = normal(10, 1, rho=0.0, draws=1000)
    x = known.draws[..., 0]
    shift = 0.4  # from N(mean, 1) to N(mean + shift, 1)
    weights = np.exp(shift * (x - known.mean[0]))
    score = -(x - known.mean[0] - shift)[..., None]
    found = sq.posterior_expectation(known.draws, score=score, weights=weights)
    assert found.status.code == "converged"
    assert abs(found["x0"].mean - known.mean[0] - shift) < 1e-10
    unweighted = sq.posterior_expectation(known.draws, score=score)
    assert unweighted.status.code == "suspect"


def test_few_weights_are_reported():
    known = normal(11, 1)
    weights = np.full((4, 250), 1e-9)
    weights[0, :3] = 1.0
    found = sq.posterior_expectation(known.draws, score=known.score, weights=weights)
    assert found.status.code == "suspect" and "too few to tell" in found.warnings[0]
    assert "effective sample size of 3.0" in found.warnings[1]


def test_chains_that_did_not_mix_are_reported():
    known = normal(12, 2)
    draws = known.draws.copy()
    draws[0] += 3.0
    found = sq.posterior_expectation(draws, score=known.score)
    assert found.status.code == "suspect"
    assert any("did not mix" in note for note in found.warnings)
    assert "R-hat" in found["x0"].warnings[0]


def test_another_method_on_request():
    known = skewed(13, 2)
    found = sq.posterior_expectation(
        known.draws, lambda x: x, score=known.score, method=sq.Polynomial(features="score")
    )
    for row, truth in zip(found, known.mean, strict=True):
        assert row.method == "Polynomial" and abs(row.mean - truth) < 5 * row.std
        assert row.std < row.mcse / 3


def test_names_select_rows():
    known = normal(14, 2)
    draws = {"a": known.draws[..., 0], "b": known.draws[..., 1]}
    score = {"a": known.score[..., 0], "b": known.score[..., 1]}
    found = sq.posterior_expectation(draws, score=score, var_names=["b"])
    assert {row.name for row in found} == {"b"}
    assert abs(found["b"].mean - known.mean[1]) < 1e-10
    apart = draws | {"c": draws["a"] + 9.0 * np.arange(4)[:, None]}
    found = sq.posterior_expectation(apart, score=score, var_names=["b"])
    assert "R-hat" in found.status.message and "for c" in found.status.message


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
    found = sq.posterior_expectation(x, score=-x)
    for row in found:
        assert np.isfinite([row.mean, row.plain]).all() and row.std >= 0
    if n < 20:
        assert all(row.method in ("plain mean", "constant") for row in found)
        assert found.status.code == "suspect" and "too few" in found.status.message


def test_same_call_same_answer():
    known = skewed(16, 2)
    first, second = (sq.posterior_expectation(known.draws, score=known.score) for _ in range(2))
    assert first.rows == second.rows
