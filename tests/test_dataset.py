"""Evaluations as they travel: what is refused, what is filled in, and what parts of them keep."""

from dataclasses import FrozenInstanceError

import numpy as np
import numpyro.distributions as dist
import pandas as pd
import pytest

import steinquad as sq
from steinquad.support import Support

X = np.random.default_rng(0).standard_normal((20, 2))
FX = np.cos(X).sum(axis=1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"fx": np.ones(19)}, r"fx has shape \(19,\) but x has 20 points"),
        ({"fx": np.ones((20, 2, 2))}, "fx has shape"),
        ({"fx": np.ones((20, 0))}, r"fx has shape \(20, 0\) but x has 20 points"),
        ({"fx": 1e-70 * FX}, "whose powers float64 cannot hold"),
        ({"x": np.zeros((2, 2, 2))}, "x has shape"),
        ({"x": np.zeros((20, 0)), "score": None}, "x has no columns"),
        ({"score": np.zeros((20, 3))}, r"shape \(20, 3\) but the points have shape \(20, 2\)"),
        ({"x": np.full((20, 2), np.nan)}, "x contains NaN"),
        ({"fx": np.append(np.ones(19), np.inf)}, r"fx contains inf .*row 19, at x = \(.*, .*\)\)"),
        ({"score": np.full((20, 2), np.nan)}, "score contains NaN"),
        ({"x": X[:1], "fx": [1.0], "score": None}, "x has 1 point; give at least 2"),
        ({"fx": ["a"] * 20}, "fx is not numeric"),
        ({"fx": FX + 1j}, "fx is not numeric"),
        ({"support": {0: (0, 1)}}, r"outside the support .*first: row"),
        ({"support": {7: (0, 1)}}, "support names coordinate 7"),
        ({"support": {"y": (0, 1)}}, "support names coordinate 'y'"),
        ({"support": dist.constraints.simplex}, "simplex"),
        ({"weights": np.ones(3)}, "weights has 3 entries"),
        ({"weights": -np.ones(20)}, "weights has a least value of -1"),
        ({"weights": np.eye(20)[0]}, "at least two of them positive"),
        ({"noise": -1.0}, "noise has negative entries"),
        ({"noise": np.ones(3)}, r"noise has shape \(3,\) but fx has 20 points and 1 output;"),
        ({"groups": np.zeros(3)}, r"groups has shape \(3,\) but x has 20 points"),
        ({"groups": np.arange(20) % 2}, "groups is not contiguous"),
    ],
)
def test_bad_input_is_one_sentence(change, message):
    with pytest.raises(sq.InputError, match=message) as caught:
        sq.Dataset(**{"x": X, "fx": FX, "score": -X} | change)
    assert "\n" not in str(caught.value) and str(caught.value).endswith(".")


def test_data_frames_carry_names():
    x = pd.DataFrame({"speed": [0.1, 0.2, 0.4], "angle": [1.0, 2.0, 3.0]})
    data = sq.Dataset(x, pd.Series([1.0, 2.0, 3.0]), support={"angle": (0, None)})
    assert data.names == ("speed", "angle")
    assert data.support is not None and data.support.bounded == (1,)
    assert sq.Dataset(X, FX).names == ("x0", "x1")


@pytest.mark.parametrize("d", [1, 2, 5])
def test_parts_keep_what_belongs_to_them(d):
    x = np.random.default_rng(d).standard_normal((8, d))
    fields = {"score": -x, "weights": np.arange(8.0), "noise": 0.1, "sampled": False}
    groups = np.repeat(["b", "a"], 4)
    data = sq.Dataset(x, np.stack([x[:, 0], np.ones(8)], axis=1), groups=groups, **fields)
    assert (data.n, data.dim, data.outputs, data.scalar) == (8, d, 2, False)
    assert data.groups.tolist() == [0] * 4 + [1] * 4  # by first appearance
    assert data.constant.tolist() == [False, True]
    w = np.arange(8.0)
    assert data.effective_weights.sum() == pytest.approx(w.sum() ** 2 / (w**2).sum())
    rows = np.array([6, 1, 2])
    part = data.take(rows)
    for name in ("x", "fx", "score", "weights", "noise", "groups"):
        np.testing.assert_array_equal(getattr(part, name), getattr(data, name)[rows])
    assert part.names == data.names and not part.sampled and data.n == 8
    with pytest.raises(FrozenInstanceError):
        part.x = x
    assert sq.Dataset(x, x[:, 0]).take(rows).score is None


def test_a_measure_completes_what_is_missing():
    data = sq.Dataset(X, FX, weights=np.ones(20))
    support = Support.box(-9.0, 9.0, 2)
    full = data.completed(-X, support, ["a", "b"])
    assert full.names == ("a", "b") and full.support is support and full.scalar
    np.testing.assert_array_equal(full.score, -X)
    assert full.x is data.x and full.weights is data.weights and data.score is None
    with pytest.raises(sq.InputError, match="score contains NaN"):
        data.completed(np.full((20, 2), np.nan), support, ["a", "b"])
    with pytest.raises(sq.InputError, match="outside the support"):
        data.completed(-X, Support.box(0.0, 1.0, 2), ["a", "b"])


@pytest.mark.parametrize("d", [1, 2, 5])
def test_names_are_one_for_each_coordinate(d):
    x = np.random.default_rng(d).standard_normal((4, d))
    names = [f"c{i}" for i in range(d)]
    assert sq.Dataset(x, x[:, 0], names=names).names == tuple(names)
    for wrong in (names[:-1], [*names, "more"]):
        with pytest.raises(sq.InputError, match=f"^names has {len(wrong)} entries but x has {d} "):
            sq.Dataset(x, x[:, 0], names=wrong)


def test_points_of_weight_zero_can_be_left_out():
    x = np.arange(5.0)
    data = sq.Dataset(x, x, weights=[0, 2, 0, 1, 1], groups=[0, 0, 1, 1, 1])
    kept = data.with_weight()
    np.testing.assert_array_equal(kept.x[:, 0], [1, 3, 4])
    np.testing.assert_array_equal(kept.groups, [0, 1, 1])
    assert kept.with_weight() is kept and sq.Dataset(x, x).with_weight().n == 5
    assert data.take(np.array([0, 1, 2])).with_weight().n == 3  # one is too few to go on with


MASKED = np.ma.array(np.ones(20), mask=np.arange(20) == 3)


@pytest.mark.parametrize("field", ["x", "fx", "score", "weights", "noise", "groups"])
def test_a_masked_value_is_missing_in_every_field(field):
    given = {"x": X[:, 0], "fx": FX} | {field: MASKED}
    with pytest.raises(sq.InputError, match=f"^{field} (contains NaN|has missing labels)"):
        sq.Dataset(**given)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x": 1e200 * X}, "x varies by .*e[+]200, whose powers"),
        ({"x": 1e-200 * X}, "x varies by .*e-200, whose powers"),
        ({"score": 1e200 * X}, "score times the range of x reaches .*e[+]20"),
        ({"noise": 1e300}, "noise reaches 1.0e[+]300"),
        ({"fx": [10**400] * 20}, "fx has an integer beyond what float64 holds"),
        ({"fx": np.stack([FX, np.full(20, 1e300)], axis=1)}, "fx reaches 1.0e[+]300"),
        ({"sampled": np.array([True, False])}, "sampled is array.*; give True or False"),
        ({"names": 5}, "names is 5; give a string for each coordinate"),
        ({"names": [0, 1]}, "names is .0, 1.; give a string"),
        ({"groups": ["a"] * 10 + [None] * 10}, "groups has missing labels"),
        ({"groups": [[1], [1, 2]] * 10}, "groups is ragged"),
        (
            {"weights": np.r_[1e308, np.full(19, 1e-308)]},
            "weights has a least value of 0 and 1 that are not zero",
        ),
    ],
)
def test_extreme_and_nonsensical_fields_are_one_sentence(change, message):
    with pytest.raises(sq.InputError, match=f"(?s)^{message}") as caught:
        sq.Dataset(**({"x": X, "fx": FX} | change))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("size", [1e308, 1e-320])
def test_weights_of_any_size_are_known_up_to_a_constant(size):
    data = sq.Dataset(X, FX, weights=np.full(20, size))
    np.testing.assert_allclose(data.effective_weights, np.ones(20), rtol=1e-12)


def test_groups_may_be_labels_of_any_type():
    groups = np.array([("a", 1)[i // 10] for i in range(20)], dtype=object)
    assert sq.Dataset(X, FX, groups=groups).groups.tolist() == [0] * 10 + [1] * 10


@pytest.mark.parametrize("d", [1, 2, 5])
def test_copies_of_independent_draws_count_once(d):
    x = np.random.default_rng(d).standard_normal((8, d))
    rows = np.random.default_rng(0).permutation(np.repeat(np.arange(8), 10))
    once = sq.Dataset(x[rows], x[rows].sum(axis=1)).counted_once(continuous=True)
    assert once.n == 8 and once.weights is None
    uneven = np.repeat(np.arange(8), np.arange(1, 9))
    once = sq.Dataset(x[uneven], x[uneven].sum(axis=1), -x[uneven]).counted_once()
    assert once.n == 8 and once.weights.tolist() == list(range(1, 9))
    assert once.x.tolist() == x.tolist()


@pytest.mark.parametrize("decimals", [2, 3])
def test_rounded_draws_are_not_taken_for_copies(decimals):
    x = np.round(np.random.default_rng(0).standard_normal(10_000), decimals)
    data = sq.Dataset(x, np.sin(x), -x)
    assert data.counted_once() is data


def test_many_copies_of_full_precision_count_once():
    x = np.repeat(np.random.default_rng(0).standard_normal(500), 4)
    assert sq.Dataset(x, np.sin(x), -x).counted_once().n == 500


@pytest.mark.parametrize("distinct", [8, 21, 300])
@pytest.mark.parametrize("order", ["repeated", "appended", "shuffled"])
@pytest.mark.parametrize("decimals", [1, 16])
def test_data_that_are_there_several_times_count_once_whatever_the_measure(
    distinct, order, decimals
):
    rng = np.random.default_rng(distinct)
    x = np.round(rng.standard_normal((distinct, 2)), decimals)
    rows = np.repeat(np.arange(distinct), 10)
    if order != "repeated":
        rows = np.tile(np.arange(distinct), 10) if order == "appended" else rng.permutation(rows)
    once = sq.Dataset(x[rows], x[rows, 0]).counted_once()
    assert once.weights is None
    assert sorted(once.x.tolist()) == sorted(x.tolist())  # with those that were equal before
    weights = rng.uniform(size=distinct)
    once = sq.Dataset(x[rows], x[rows, 0], weights=weights[rows]).counted_once()
    assert once.n == distinct and sorted(once.weights) == sorted(weights)


@pytest.mark.parametrize("order", ["appended", "shuffled"])
def test_the_std_of_data_that_are_there_several_times_is_honest(order):
    errors = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        x = np.tile(rng.standard_normal(20), 10)
        x = x if order == "appended" else rng.permutation(x)
        est = sq.estimate(sq.Dataset(x, x), method=sq.MonteCarlo())
        assert est.n == 20 and "only 20 of 200 points are distinct" in est.status.message
        errors.append(est.mean / est.std)
    assert np.sqrt(np.mean(np.square(errors))) < 1.4


@pytest.mark.parametrize("faces", [2, 6, 30])
def test_dice_are_seldom_taken_for_copies(faces):
    rng, taken = np.random.default_rng(faces), 0
    for n in [faces * k for k in (2, 5, 20, 100)] * 100:
        x = rng.integers(faces, size=n)
        taken += sq.Dataset(x, x).counted_once().n < n if np.ptp(x) else 0
    assert taken <= 2


def test_chains_noisy_runs_and_discrete_points_may_repeat():
    x = np.repeat(X[:, 0], 5)
    fx, rng = np.cos(x), np.random.default_rng(0)
    for data in (
        sq.Dataset(x, fx, -x, groups=np.zeros(100)),
        sq.Dataset(x, fx, -x, noise=0.1),
        sq.Dataset(x, fx + rng.standard_normal(100), -x),
        sq.Dataset(x, fx, -x, sampled=False),
        # Of which nobody said that they have a density.
        sq.Dataset(dice := rng.integers(1, 7, 300), np.cos(dice)),
        sq.Dataset(drawn := rng.choice(X[:, 0], 100), np.cos(drawn)),
        sq.Dataset(coins := np.repeat([0, 1], 10), coins),  # as often by chance
    ):
        assert data.counted_once() is data


def test_other_values_at_the_same_points():
    data = sq.Dataset(np.arange(6.0).reshape(3, 2), np.ones(3), weights=[1, 2, 3], noise=0.1)
    other = data.with_values(np.arange(12.0).reshape(3, 4))
    assert other.outputs == 4 and other.noise is None and not other.scalar
    np.testing.assert_array_equal(other.weights, data.weights)
