"""`sq.distribution` from data to intervals: analytic answers, cross-fitting, refusals."""

from dataclasses import dataclass

import numpy as np
import pytest
import scipy.stats as st

import steinquad as sq

SIGMA = 0.5  # of the logarithm


def normals(d):
    return sq.Product({f"x{i}": st.norm() for i in range(d)})


def shapes(x):
    """A normal and a lognormal output, both of the same sum of coordinates."""
    total = x.sum(axis=1) / np.sqrt(x.shape[1])
    return np.stack([2.0 + 3.0 * total, np.exp(SIGMA * total)], axis=1)


def drawn(d, n, seed):
    x = np.random.default_rng(seed).normal(size=(n, d))
    return sq.Dataset(x, shapes(x))


def truths(quantiles, above, below):
    for law in (st.norm(2.0, 3.0), st.lognorm(SIGMA)):
        yield [law.std(), *law.ppf(quantiles), *law.sf(above), *law.cdf(below)]


ASKED = {"quantiles": [0.05, 0.5, 0.9], "above": [1.5], "below": [1.0]}


def inside(found, asked):
    return np.array(
        [
            [row.low <= truth <= row.high for row, truth in zip(rows, want, strict=True)]
            for rows, want in zip(found, truths(**asked), strict=True)
        ]
    )


@pytest.mark.parametrize("d", [1, 2, 5])
def test_analytic_answers(d):
    data = drawn(d, 300, seed=d)
    found = sq.distribution(data, measure=normals(d), method=sq.Polynomial(), **ASKED)
    alone = sq.distribution(data, **ASKED)
    # Twelve correlated intervals, of which most cover far more than 95 %.
    assert inside(found, ASKED).mean() >= 10 / 12
    assert [row.kind for row in found[0]] == ["std", *["quantile"] * 3, "above", "below"]
    for rows, plain in zip(found, alone, strict=True):
        assert not any(row.uses_model for row in plain)
        assert rows[0] == plain[0]  # no model has a say in the std
        assert rows[2].uses_model and rows[2].width < 0.7 * plain[2].width
        assert all(a.width <= b.width for a, b in zip(rows, plain, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("d", [1, 2, 5])
def test_coverage_from_data_to_interval(d):
    asked, runs = {"quantiles": [0.1, 0.5], "above": [1.5], "below": []}, 100
    total = np.zeros((2, 4))
    for seed in range(runs):
        data = drawn(d, 120, seed=100 + seed)
        found = sq.distribution(
            data, measure=normals(d), method=sq.Polynomial(), draws=10_000, seed=seed, **asked
        )
        total += inside(found, asked)
    # One of 16 numbers is below by chance with probability 1e-3 at a coverage of 92 %, that of the
    # std of so long a tail.
    assert (total / runs > 0.79).all(), total / runs


def test_the_default_method_says_nothing_else_than_its_winner():
    data, measure = drawn(1, 100, seed=0), normals(1)
    est = sq.estimate(data, measure=measure)
    again = sq.distribution(data, measure=measure, estimate=est)
    assert sq.distribution(data, measure=measure) == again
    assert sq.Stack().winner(est.fit).name == est.method.removeprefix("Stack: ")


def test_the_estimate_of_another_method_names_no_winner():
    """The values then speak alone, as without a model."""
    data, measure = drawn(1, 100, seed=0), normals(1)
    est = sq.estimate(data, measure=measure, method=sq.Polynomial())
    found = sq.distribution(data, measure=measure, method=sq.Stack(), estimate=est)
    assert found == sq.distribution(data, method=sq.MonteCarlo())


@dataclass(frozen=True)
class Predicts(sq.Method):
    """A method whose model of f is a given function of what it was fitted to."""

    rule: object
    name: str = "Predicts"

    def fit(self, data, measure, context):
        return sq.Fit(
            theta0=data.fx.mean(axis=0),
            covariance=np.eye(data.outputs),
            model=lambda points, return_std: (self.rule(data, points.x), None),
        )


def memory(data, x):
    """Knows by heart what it has seen, and nothing else."""
    known = {tuple(point): values for point, values in zip(data.x, data.fx, strict=True)}
    return np.stack([known.get(tuple(point), np.zeros(2)) for point in x])


@pytest.mark.parametrize(
    "rule",
    [memory, lambda data, x: -9.0 * shapes(x), lambda data, x: np.full((len(x), 2), np.nan)],
    ids=["memory", "wrong", "nan"],
)
def test_a_model_that_fails_on_unseen_points_is_left_out(rule):
    data = drawn(2, 200, seed=3)
    found = sq.distribution(data, measure=normals(2), method=Predicts(rule), **ASKED)
    assert found == sq.distribution(data, **ASKED)
    assert inside(found, ASKED).all()


def test_a_model_that_is_off_by_a_constant_is_put_right():
    data = drawn(2, 200, seed=3)
    rule = Predicts(lambda data, x: shapes(x) + np.array([0.3, 0.03]))
    found = sq.distribution(data, measure=normals(2), method=rule, **ASKED)
    assert inside(found, ASKED).all() and sum(row.uses_model for row in found[0]) >= 2


@pytest.mark.parametrize("d", [1, 2, 5])
def test_scores_of_the_data_are_those_that_a_method_sees(d):
    """Whoever has scores with the data means those, not what the measure would say."""
    x = np.random.default_rng(0).normal(size=(40, d))
    own, seen = -x + 0.25, []
    method = Predicts(lambda data, x: seen.append((data.x, data.score)) or shapes(x))
    for score, want in ((own, lambda x: -x + 0.25), (None, lambda x: -x)):
        seen.clear()
        sq.distribution(sq.Dataset(x, shapes(x), score), measure=normals(d), method=method)
        assert seen
        for points, scores in seen:
            np.testing.assert_allclose(scores, want(points), rtol=1e-12)


def test_replicates_of_sobol_points_cover():
    measure, asked = normals(2), {"quantiles": [0.1, 0.5], "above": [1.5], "below": []}
    total, runs = np.zeros((2, 4)), 60
    for seed in range(runs):
        sample = sq.designs.Sobol(replicates=16).draw(measure, 128, seed=seed)
        data = sq.Dataset(sample.x, shapes(sample.x), groups=sample.groups)
        total += inside(sq.distribution(data, **asked), asked)
    # Falls below by chance with probability 1e-3 at a coverage of 95 %.
    assert (total / runs >= 0.8).all(), total / runs


def test_values_that_do_not_vary():
    x = np.random.default_rng(0).normal(size=(30, 1))
    fixed = sq.distribution(sq.Dataset(x, np.full(30, 2.0)), measure=st.norm(), above=[1.0])
    assert [row.value for row in fixed[0]] == [0.0, 2.0, 2.0, 2.0, 1.0]


def test_few_points():
    data = sq.Dataset([[0.1], [0.4]], [1.0, 2.0])
    (found,) = sq.distribution(data, measure=st.norm(), method=sq.Polynomial())
    assert found[1].low == -np.inf and found[3].high == np.inf


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"quantiles": [1.5]}, "quantiles has 1.5; give numbers between 0 and 1"),
        ({"quantiles": [0]}, "quantiles has 0; give numbers between 0 and 1"),
        ({"quantiles": 0.5}, "quantiles is 0.5; give a list of numbers"),
        ({"quantiles": [True]}, "quantiles has True"),
        ({"above": ["1"]}, "above has '1'; give finite numbers"),
        ({"below": [np.nan]}, "below has nan; give finite numbers"),
        ({"draws": 1}, "draws is 1"),
        ({"below": "12"}, "below is '12'; give a list of finite numbers"),
    ],
)
def test_wrong_wishes_are_refused(asked, message):
    with pytest.raises(sq.InputError, match=message):
        sq.distribution(drawn(1, 20, seed=0), **asked)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"weights": np.arange(1.0, 41.0)}, "weights"),
        ({"noise": 0.1}, "noise"),
        ({"sampled": False}, "not a sample"),
        ({"groups": np.arange(40) // 10}, "Markov chains"),
    ],
)
def test_data_that_are_no_independent_draws_are_refused(more, message):
    x = np.random.default_rng(0).normal(size=(40, 1))
    with pytest.raises(sq.InputError, match=f"data has .*{message}.*pass independent draws"):
        sq.distribution(sq.Dataset(x, x[:, 0], **more))


def test_no_dataset():
    with pytest.raises(sq.InputError, match=r"data is list; pass sq.Dataset"):
        sq.distribution([1.0, 2.0])
