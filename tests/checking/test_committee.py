"""Weights, answer and std of several models: against brute force and by hand."""

import itertools

import numpy as np
import pytest

import steinquad as sq
from steinquad.checking.committee import Committee, Opinion

N = 200


def dataset(fx, **options):
    x = np.random.default_rng(0).standard_normal((len(fx), 1))
    return sq.Dataset(x, fx, **options)


def opinions(spreads, shared=0.0, outputs=1, seed=1):
    """Models whose held-out values have these spreads around 1, correlated by a shared part."""
    rng = np.random.default_rng(seed)
    common = rng.standard_normal((N, outputs))
    result = []
    for spread in spreads:
        own = shared * common + np.sqrt(1 - shared**2) * rng.standard_normal((N, outputs))
        values = 1.0 + spread * own
        result.append(
            Opinion(values.mean(axis=0), np.full(outputs, 1e-6), np.full(outputs, 1e-6), values)
        )
    return result


def best_by_enumeration(columns):
    """The least variance over the simplex: of every subset of models, if its weights are >= 0."""
    gram = np.cov(columns, rowvar=False, bias=True)
    best = (np.inf, None)
    for size in range(1, columns.shape[1] + 1):
        for chosen in itertools.combinations(range(columns.shape[1]), size):
            part = gram[np.ix_(chosen, chosen)]
            weights = np.linalg.solve(part, np.ones(size))
            weights /= weights.sum()
            if (weights >= 0).all() and weights @ part @ weights < best[0]:
                full = np.zeros(columns.shape[1])
                full[list(chosen)] = weights
                best = weights @ part @ weights, full
    return best[1]


@pytest.mark.parametrize("shared", [0.0, 0.6, 0.95])
@pytest.mark.parametrize("scale", [1.0, 1e-9])
def test_weights_are_those_of_the_least_variance(shared, scale):
    members = opinions(scale * np.array([1.0, 1.3, 0.9]), shared)
    committee = Committee.of(members, dataset(np.arange(float(N))))
    expected = best_by_enumeration(np.concatenate([m.values for m in members], axis=1))
    expected[expected < 0.05] = 0
    np.testing.assert_allclose(committee.weights[:, 0], expected / expected.sum(), atol=1e-6)


def test_small_weights_do_not_cost_an_exact_model_its_digits():
    members = opinions([1.0, 1e-13])
    committee = Committee.of(members, dataset(np.arange(float(N))))
    assert committee.weights[:, 0].tolist() == [0.0, 1.0]
    assert committee.mean[0] == members[1].theta0[0]


def test_every_output_has_weights_of_its_own():
    one, two = opinions([1.0, 0.1]), opinions([0.1, 1.0], seed=2)
    both = [
        Opinion(*(np.concatenate([a, b], axis=-1) for a, b in zip(*parts, strict=True)))
        for parts in (
            (
                (p.theta0, p.std, p.jackknife, p.values),
                (q.theta0, q.std, q.jackknife, q.values),
            )
            for p, q in zip(one, two, strict=True)
        )
    ]
    committee = Committee.of(both, dataset(np.tile(np.arange(float(N))[:, None], 2)))
    assert committee.weights[1, 0] > 0.9 and committee.weights[0, 1] > 0.9
    alone = Committee.of(one, dataset(np.arange(float(N))))
    np.testing.assert_allclose(committee.weights[:, 0], alone.weights[:, 0], rtol=1e-10)
    np.testing.assert_allclose(committee.std[0], alone.std[0], rtol=1e-6)


@pytest.mark.parametrize(
    "own, jackknife, off",
    [(0.03, 0.0, 0.0), (0.0, 0.04, 0.0), (0.0, 0.0, 0.2), (0.0, 0.0, 0.0)],
    ids=["own", "jackknife", "away", "residuals"],
)
def test_the_std_is_the_largest_of_four_and_the_spread_of_contenders(own, jackknife, off):
    first, second = opinions([0.01, 0.011])
    members = [
        Opinion(first.theta0 + off, np.array([own]), np.array([jackknife]), first.values),
        Opinion(first.theta0 + 0.01, second.std, second.jackknife, second.values),
    ]
    committee = Committee.of(members, dataset(np.arange(float(N))))
    w, theta0 = committee.weights[:, 0], np.array([each.theta0[0] for each in members])
    stacked = w @ np.stack([each.values[:, 0] for each in members])
    answer = w @ theta0
    np.testing.assert_allclose(committee.mean, answer)
    error, away = stacked.std(ddof=1) / np.sqrt(N), abs(answer - stacked.mean())
    largest = max(
        error,
        w @ [each.std[0] for each in members],
        w @ [each.jackknife[0] for each in members],
        2 * away if away > 3 * error else away,
    )
    precision = np.array([1 / each.values.var() for each in members])
    between = precision / precision.sum() @ (theta0 - answer) ** 2
    np.testing.assert_allclose(committee.std[0], np.sqrt(largest**2 + between), rtol=3e-3)


def test_contenders_count_whatever_their_weight():
    """Two models that fit alike and disagree about what no point has seen: their weights are one
    and nothing, and the std is about their distance.
    """
    (member,) = opinions([0.01])
    rival = Opinion(
        member.theta0 + 1.0, member.std, member.jackknife, 1.2 * (member.values - 1.0) + 1.0
    )
    committee = Committee.of([member, rival], dataset(np.arange(float(N))))
    assert committee.weights[0, 0] == 1
    assert 0.5 < committee.std[0] < 1
    far = Opinion(
        member.theta0 + 1.0, member.std, member.jackknife, 2.5 * (member.values - 1.0) + 1.0
    )
    assert Committee.of([member, far], dataset(np.arange(float(N)))).std[0] < 0.01


def test_points_that_are_no_sample_have_no_average():
    members = opinions([0.1, 0.1])
    members = [Opinion(m.theta0 + 5.0, m.std, np.full(1, 9.0), m.values) for m in members]
    committee = Committee.of(members, dataset(np.arange(float(N)), sampled=False))
    assert committee.std[0] < 0.1


def test_weights_of_points_count():
    """A point of weight zero says nothing; weights as copies."""
    members = opinions([0.5, 0.6])
    weights = np.repeat([1.0, 0.0], N // 2)
    half = [Opinion(m.theta0, m.std, m.jackknife, m.values[: N // 2]) for m in members]
    whole = Committee.of(members, dataset(np.arange(float(N)), weights=weights))
    alone = Committee.of(half, dataset(np.arange(N / 2)))
    np.testing.assert_allclose(whole.weights, alone.weights, rtol=1e-8)
    np.testing.assert_allclose(whole.std, alone.std, rtol=1e-3)


def test_a_member_without_weight_may_have_no_std_and_many_members_are_weighed():
    member, bad = opinions([0.1, 1.0])
    infinite = np.array([np.inf])
    bad = Opinion(bad.theta0, infinite, infinite, bad.values + np.arange(N)[:, None])
    assert np.isfinite(Committee.of([member, bad], dataset(np.arange(float(N)))).std[0])
    many = Committee.of(opinions(np.ones(40)), dataset(np.arange(float(N))))
    assert np.isfinite(many.mean[0]) and many.weights.sum() == pytest.approx(1)


def test_a_distance_of_more_than_three_standard_errors_counts_twice():
    members = opinions([1.0])
    s = members[0].values.std(ddof=1) / np.sqrt(N)
    for distance, std in ((0.5, 1.0), (2.5, 2.5), (3.5, 7.0)):
        moved = [Opinion(m.theta0 + distance * s, m.std, m.jackknife, m.values) for m in members]
        committee = Committee.of(moved, dataset(np.arange(float(N))))
        np.testing.assert_allclose(committee.std[0], std * s, rtol=1e-6)
