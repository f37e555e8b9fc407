"""Adaptive points: their chances are right, the answer is unbiased, and a study can be resumed."""

import json
import sqlite3
from contextlib import closing

import numpy as np
import pytest
import scipy.stats as st
from small_study import study

import steinquad as sq
from steinquad.measures import Product
from steinquad.studies.adaptive import (
    CANDIDATES,
    PAIRS,
    SCOUTS,
    UNIFORM,
    chances,
    choose,
    folds_of,
    hard_to_predict,
    is_choice,
)
from steinquad.studies.points import NumberedPoints


def normals(dim):
    return Product({f"x{i}": st.norm() for i in range(dim)})


def outside(x):
    """A strong preference for one side, as if f were hard to predict there."""
    return np.exp(2.0 * x[:, 0])


# -- chances -----------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [2, 3, 7])
def test_chances_are_those_of_the_two_steps(count):
    hardness = np.random.default_rng(count).exponential(size=(4, count)) ** 3
    hardness[0] = 0.0  # nothing is hard: all have the same chance
    choice, taken = chances(hardness)
    np.testing.assert_allclose(choice.sum(axis=1), 1.0, rtol=1e-14)
    np.testing.assert_allclose(taken.sum(axis=1), 2.0, rtol=1e-14)
    np.testing.assert_allclose(taken[0], 2.0 / count, rtol=1e-14)
    by_hand = np.zeros_like(choice)
    for a in range(count):  # the first, then another one
        by_hand[:, a] += 1.0 / count
        for b in set(range(count)) - {a}:
            by_hand[:, b] += choice[:, b] / np.delete(choice, a, axis=1).sum(axis=1) / count
    np.testing.assert_allclose(taken, by_hand, rtol=1e-13)
    weights = 2.0 / (count * taken)
    np.testing.assert_allclose(np.sum(taken * weights, axis=1) / 2, 1.0, rtol=1e-14)
    assert weights.max() < 2.0 and choice.min() >= UNIFORM / count


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_weighted_pairs_are_a_sample_and_others_are_not(dim):
    points = NumberedPoints(normals(dim), "adaptive", seed=dim)
    rows = [row for block in range(8) for row in choose(points, block, outside)]
    assert [row.number for row in rows] == list(range(SCOUTS, SCOUTS + 16 * PAIRS))
    assert all(tuple(row.input) == points[row.number] for row in rows[::2])  # the independent half
    x, w = np.array([row.input for row in rows]), np.array([row.weight for row in rows])
    assert len(np.unique(x[:, 0])) == len(x) and w.max() < 2.0
    values = np.stack([np.ones(len(x)), x[:, 0], x[:, 0] ** 2, np.cos(x[:, -1])], axis=1)
    truth = np.array([1.0, 0.0, 1.0, np.exp(-0.5)])

    def distance(each):
        pairs = (each[::2] + each[1::2]) / 2  # independent of each other
        return (pairs.mean(axis=0) - truth) / (pairs.std(axis=0) / np.sqrt(len(pairs)) + 1e-300)

    assert np.abs(distance(w[:, None] * values)).max() < 4.0  # false alarm: below 1e-3
    assert np.abs(distance(values)[1]) > 10.0  # without weights


def test_pairs_do_not_depend_on_how_many_are_chosen():
    points = NumberedPoints(normals(2), "adaptive", seed=1)
    assert choose(points, 3, outside) == choose(
        NumberedPoints(normals(2), "adaptive", seed=1), 3, outside
    )
    assert choose(points, 3, None) != choose(points, 3, outside) != choose(points, 2, outside)
    assert all(abs(row.weight - 1.0) < 1e-14 for row in choose(points, 3, None))


def test_hard_is_where_f_is_rough():
    x = normals(2).sample(SCOUTS, seed=0)
    rough = np.sin(40 * x[:, 0]) * (x[:, 0] > 0.5)
    found = hard_to_predict(x, np.stack([rough, x[:, 1]], axis=1), normals(2), seed=0)
    assert found is not None
    grid = np.stack([np.linspace(-1.5, 1.5, 30), np.zeros(30)], axis=1)
    assert found(grid)[:12].mean() < 0.3 * found(grid)[-6:].mean()


def test_where_nothing_is_known_all_is_alike():
    x = normals(2).sample(SCOUTS, seed=0)
    noise = np.random.default_rng(0).standard_normal((SCOUTS, 1))
    for fx in (np.ones((SCOUTS, 1)), st.norm.cdf(x[:, :1]), noise):
        assert hard_to_predict(x, fx, normals(2), seed=0) is None
    assert hard_to_predict(x[:10], noise[:10], normals(2), seed=0) is None


# -- the folds ---------------------------------------------------------------------------------


def test_folds_are_whole_pairs_without_scouts():
    numbers = np.setdiff1d(np.arange(SCOUTS + 60), [3, SCOUTS + 4])  # two failed
    split = folds_of(numbers, seed=0)
    rows = np.sort(np.concatenate(split))
    assert (numbers[rows] >= SCOUTS).all() and len(rows) == 59
    for part in split:
        pairs = (numbers[part] - SCOUTS) // 2
        assert 10 <= len(part) <= 12
        assert all(np.sum((numbers - SCOUTS) // 2 == p) == np.sum(pairs == p) for p in pairs)


# -- studies -----------------------------------------------------------------------------------

SETTINGS = {"points": "adaptive", "method": sq.Polynomial()}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    found = study(tmp_path_factory.mktemp("whole"), "kinked", runs=300, **SETTINGS)
    return found, found.run()


def test_a_study_that_was_extended_ends_like_one_that_was_not(tmp_path, whole):
    for runs in (60, 130, 300):
        answer = study(tmp_path, "kinked", runs=runs, **SETTINGS).run()
    with closing(sqlite3.connect(tmp_path / "s.sqlite")) as connection, connection:
        connection.execute("DELETE FROM evaluation WHERE number IN (5, 101, 250)")  # lost
    again = study(tmp_path, "kinked", runs=300, **SETTINGS).run()
    want = whole[1].mean, whole[1].std
    assert (answer.mean, answer.std) == (again.mean, again.std) == want
    mine, theirs = (
        list(each.evaluations.rows()) for each in (study(tmp_path, **SETTINGS), whole[0])
    )
    assert [row.input for row in mine] == [row.input for row in theirs]


def test_what_is_stored(whole):
    found, answer = whole
    table = found.to_dataframe()
    rows = found.evaluations.choices(0, 300)
    assert [row.number for row in rows] == list(range(SCOUTS, 300))
    assert {row.candidates for row in rows} == {CANDIDATES}
    weights = [2 / (row.candidates * row.chance) for row in rows]
    np.testing.assert_array_equal(table["weight"], [1.0] * SCOUTS + weights)
    np.testing.assert_array_equal(table[["a", "b"]][SCOUTS:], [row.input for row in rows])
    assert np.ptp(weights) > 0.1 and 0.9 < np.mean(weights) < 1.1
    draws = NumberedPoints(found.measure, "iid", seed=0)
    chosen = is_choice(table["number"].to_numpy())
    independent = [tuple(row) for row in table[["a", "b"]].to_numpy()[~chosen].tolist()]
    assert independent == [draws[int(i)] for i in table["number"][~chosen]]
    assert chosen.mean() == 1 / 3 <= 0.5
    truth = np.sqrt(2 / np.pi) + 1 / 3
    low, high = answer.interval(0.9999)
    assert low < truth < high and "uncorrected" in answer.stats


def test_before_the_choices_it_is_a_plain_study(whole, tmp_path):
    plain = study(tmp_path, "kinked", runs=SCOUTS, points="iid", method=sq.Polynomial()).run()
    few = whole[0].estimate(n=SCOUTS)
    assert (few.mean, few.std) == (plain.mean, plain.std)
    some = whole[0].estimate(n=150)  # 25 choices are too few to correct by
    assert some.n == 125 and "uncorrected" not in some.stats


def test_an_average_is_weighted(whole):
    found = study(whole[0].store.parent, "kinked", runs=300, points="adaptive")
    data = found.look(300).data
    w, f = data.weights, data.fx[:, 0]
    assert found.estimate().mean == pytest.approx(w @ f / w.sum(), rel=1e-12)
    assert found.estimate().mean != pytest.approx(f.mean(), rel=1e-6)


def test_report_and_distribution(whole, tmp_path):
    found, answer = whole
    sq.report.write(found, tmp_path / "r.json", tmp_path / "r.html")
    (output,) = json.loads((tmp_path / "r.json").read_text())["outputs"]
    assert output["mean"] == answer.mean
    table = found.to_dataframe()
    want = np.average(table["f"], weights=table["weight"])
    assert output["average"][-1]["mean"] == pytest.approx(want, rel=1e-12)
    (rows,) = found.distribution(answer).values()
    assert rows[0].low < np.sqrt(1 - 2 / np.pi + 4 / 45) < rows[0].high


@pytest.fixture(scope="module")
def failing(tmp_path_factory):
    """A study in which points fail, and after each: how many are stored, how many chosen."""
    place, seen = tmp_path_factory.mktemp("failing"), []
    settings = {"on_failure": "ignore", "points": "adaptive", "retries": 0}
    found = study(place, "raises", runs=300, **settings)
    store = found.evaluations
    found.run(watch=lambda now: seen.append((now.done + now.failed, store.count_choices())))
    return found, seen


def test_no_pair_is_chosen_before_all_scouts_are_done(failing):
    found, seen = failing
    assert all((count > 0) == (stored > SCOUTS) for stored, count in seen if stored != SCOUTS)
    assert (SCOUTS, 0) in seen and seen[-1] == (300, 4 * PAIRS)
    assert sum(row.outputs is None for row in found.evaluations.rows(SCOUTS)) > 1


def test_failures_count_by_their_weights(failing):
    found, _ = failing
    data = found.look().data
    weights = {row.number: row.weight for row in found.evaluations.choices(0, 300)}
    lost = [weights.get(i, 1.0) for i in np.setdiff1d(np.arange(300), data.numbers)]
    assert len(lost) == data.failed > 1
    assert data.share_failed == pytest.approx(sum(lost) / (sum(lost) + data.weights.sum()))
    assert f"{100 * data.share_failed:.3g} % of the probability" in str(found.estimate().status)


def test_a_study_keeps_its_kind_of_points(tmp_path):
    study(tmp_path, runs=20).run()
    with pytest.raises(sq.InputError, match="another study: its points is sobol"):
        study(tmp_path, points="adaptive").run()


def test_replicates_are_not_to_be_had(tmp_path):
    with pytest.raises(sq.InputError, match="use points='sobol'"):
        study(tmp_path, points="adaptive", method=sq.QuasiMonteCarlo()).run()
    with pytest.raises(sq.InputError, match="choose one of auto, iid, sobol, adaptive"):
        study(tmp_path, points="greedy")
