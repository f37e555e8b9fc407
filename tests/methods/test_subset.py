"""A method on some of the points: the rest averages what it leaves."""

import numpy as np
import pytest
from helpers import assert_close

import steinquad as sq
from steinquad.checking.held_out import HeldOut


def cosines(x):
    return np.stack([np.cos(x).sum(axis=1), x[:, 0] ** 2], axis=1)


def evaluations(n, d, seed=0, **options):
    x = np.random.default_rng(seed).standard_normal((n, d))
    return sq.Dataset(x, cosines(x), -x, **options)


@pytest.mark.parametrize("d", (1, 2, 5))
def test_the_answer_is_the_average_of_what_the_fit_leaves_elsewhere(d):
    data = evaluations(450, d)
    found = sq.estimate(data, method=sq.Subset(sq.ControlFunctional(), size=50))
    rows = np.linspace(0, 449, 50).round().astype(int)
    rest = data.take(np.setdiff1d(np.arange(450), rows))
    fit = sq.estimate(data.take(rows), method=sq.ControlFunctional())
    values = HeldOut.of([fit.fit], [np.arange(400)], rest, None).values
    assert_close(found.mean, values.mean(axis=0))
    assert_close(found.std, values.std(axis=0, ddof=1) / np.sqrt(400), rtol=1e-2)
    assert_close(found.predict(data.x, data.score), fit.predict(data.x, data.score))


def test_errors_are_small_and_within_the_std():
    """Six data sets, two outputs; with ten degrees of freedom all are below 6 but for 2 in 1,000.

    The plain average is the negative control.
    """
    truth = np.array([2 * np.exp(-0.5), 1.0])
    z, gains = [], []
    for seed in range(6):
        data = evaluations(3000, 2, seed)
        found = sq.estimate(data, method=sq.Subset(sq.ControlFunctional(), size=150))
        z.append((found.mean - truth) / found.std)
        plain = sq.estimate(data, method=sq.MonteCarlo())
        gains.append(plain.std / found.std)
        assert found.n == 3000 and found.stats["fitted_points"] == 150
    assert np.abs(z).max() < 6 and 0.2 < np.median(np.abs(z)) < 2
    assert np.median(gains) > 20


def test_chains_count_their_autocorrelation():
    rng = np.random.default_rng(0)
    x = np.repeat(rng.standard_normal((1000, 1)), 4, axis=0)  # every draw four times, nearly
    x += 1e-9 * rng.standard_normal((4000, 1))  # exact copies would count once by themselves
    f = (x[:, 0] > 0.3).astype(float)
    method = sq.Subset(sq.ControlFunctional(), size=100)
    chain = sq.estimate(sq.Dataset(x, f, -x, groups=np.zeros(4000, int)), method=method)
    single = sq.estimate(sq.Dataset(x, f, -x), method=method)
    assert 1.6 < chain.std / single.std < 2.4


def metropolis(seed, chains=4, draws=250):
    """Normal draws in the plane by long random steps, most of them rejected: many copies."""
    rng = np.random.default_rng(seed)
    x, found = rng.standard_normal((chains, 2)), []
    for _ in range(draws):
        y = x + 3 * rng.standard_normal((chains, 2))
        taken = np.log(rng.random(chains)) < np.sum(x**2 - y**2, axis=1) / 2
        x = np.where(taken[:, None], y, x)
        found.append(x)
    return np.stack(found, axis=1).reshape(-1, 2), np.repeat(np.arange(chains), draws)


@pytest.mark.slow
def test_copies_of_fitted_draws_are_not_averaged():
    """What is left there is next to nothing; eight runs, each |z| above 5 once in 100,000.

    The negative control knows nothing of chains, but that neighbours are alike; its copies are not
    exact, because those would count once by themselves.
    """
    truth = np.exp(-12.5)
    z = np.empty((8, 2))
    for seed in range(8):
        draws, chain = metropolis(seed)
        near = draws + 1e-9 * np.random.default_rng(seed).standard_normal(draws.shape)
        method = sq.Subset(sq.ControlFunctional(), 200)
        for j, (x, groups) in enumerate(((draws, chain), (near, None))):
            f = np.cos(4 * x[:, 0]) * np.cos(3 * x[:, 1])
            data = sq.Dataset(x, f, -x, groups=groups)
            found = method.estimate(data, None)
            z[seed, j] = (found.mean - truth) / found.std
    right, wrong = np.sqrt(np.mean(z**2, axis=0))
    assert np.abs(z[:, 0]).max() < 5 and 0.4 < right < 1.8 < 2.2 < wrong, z


@pytest.mark.parametrize("chains", (1, 3, 10))
def test_the_parts_of_chains(chains):
    """No averaged draw lies between fitted ones of its chain; whole chains where they are many."""
    groups = np.repeat(np.arange(chains), 90)
    x = np.random.default_rng(0).standard_normal((90 * chains, 1))
    method = sq.Subset(sq.ControlFunctional(), size=30)
    fitted, averaged = method._split(sq.Dataset(x, x, -x, groups=groups))
    assert 25 <= len(fitted) <= 30 and len(averaged) >= 0.6 * len(x)
    shared = set(groups[fitted]) & set(groups[averaged])
    assert len(shared) == (chains if chains < 8 else 0)
    for label in shared:
        own = groups == label
        assert fitted[own[fitted]].max() < averaged[own[averaged]].min()


def test_rare_events_are_not_called_constant():
    x = np.random.default_rng(0).standard_normal((4000, 1))
    f = np.maximum(x[:, 0] - 3, 0)
    found = sq.estimate(sq.Dataset(x, f, -x), method=sq.Subset(sq.ControlFunctional(), size=50))
    assert found.status.code == "suspect" and "carry the integral" in found.status.message


def test_weights_of_zero_among_the_averaged():
    weights = np.repeat([1.0, 0.0], 300)
    data = evaluations(600, 2, weights=weights)
    found = sq.Subset(sq.ControlFunctional(), size=100).estimate(data, None)
    assert abs(found.mean[0] - 2 * np.exp(-0.5)) < 5 * found.std[0] < 0.1


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: sq.Subset("CF"), "method is 'CF'"),
        (lambda: sq.Subset(sq.ControlFunctional(), size=2), "size is 2"),
        (
            lambda: sq.estimate(evaluations(20, 1), method=sq.Subset(sq.ControlFunctional())),
            "leaves too few to average",
        ),
        (
            lambda: sq.estimate(
                evaluations(50, 1, sampled=False), method=sq.Subset(sq.ControlFunctional(), 10)
            ),
            "not a sample",
        ),
    ],
)
def test_bad_input_is_one_sentence(make, words):
    with pytest.raises(sq.InputError, match=words) as caught:
        make()
    assert "\n" not in str(caught.value)


class BreaksDown(sq.Method):
    """Never has a finite answer."""

    name = "BreaksDown"

    def fit(self, data, measure, context):
        return sq.Fit.failed(data, "the numbers broke down")


def test_a_fit_that_breaks_down_is_said_to_have():
    est = sq.estimate(evaluations(100, 2), method=sq.Subset(BreaksDown(), size=50))
    assert est.status.code == "not_finite" and "the numbers broke down" in est.status.message
    assert np.isnan(est.mean).all() and np.isnan(est.std).all()


def test_constants_are_exact():
    data = sq.Dataset(np.arange(30.0), np.full(30, 2.0), -np.arange(30.0))
    found = sq.estimate(data, method=sq.Subset(sq.ControlFunctional(), size=10))
    assert found.mean == 2.0 and found.std == 0.0 and found.status.code == "constant"
    x = np.random.default_rng(0).standard_normal((500, 1))
    both = sq.Dataset(x, np.column_stack([np.cos(x), np.full(500, 0.1)]), -x)
    found = sq.estimate(both, method=sq.Subset(sq.ControlFunctional(), size=50))
    assert found.std[0] > 0 and found.std[1] == 0 and found.mean[1] == pytest.approx(0.1)


def test_as_the_method_of_a_posterior():
    x = np.random.default_rng(1).standard_normal((4, 500, 2))
    found = sq.posterior_expectation(
        x, score=-x, method=sq.Subset(sq.ControlFunctional(), size=200)
    )
    row = found["x0"]
    assert row.method == "CF on 200 points" and row.reduction > 100
    assert abs(row.mean) < 5 * row.std
