"""Tails without a variance: how often they are seen, and how often where there are none."""

import numpy as np
import pytest

import steinquad as sq
from steinquad.checking.standard_error import weighted_mean
from steinquad.checking.tails import Tails, pareto_shape


def tails_of(values, data):
    """Those of an answer that agrees with what held-out points say."""
    return Tails.of(weighted_mean(values, data.effective_weights), values, data)


def share_called_heavy(draw, n, seeds=60):
    called = 0
    for seed in range(seeds):
        fx = draw(np.random.default_rng(seed), n)
        data = sq.Dataset(np.arange(float(n)), fx)
        called += tails_of(data.fx, data).sentence is not None
    return called / seeds


LIGHT = {
    "normal": lambda rng, n: rng.standard_normal(n),
    "uniform": lambda rng, n: rng.uniform(size=n),
    "laplace": lambda rng, n: rng.laplace(size=n),
    "squares": lambda rng, n: rng.standard_normal(n) ** 2,
}
HEAVY = {
    "x^-0.9": lambda rng, n: rng.uniform(size=n) ** -0.9,
    "Cauchy": lambda rng, n: rng.standard_cauchy(n),
}


@pytest.mark.parametrize("name", LIGHT)
@pytest.mark.parametrize("n", [100, 500])
def test_light_tails_are_seldom_called_heavy(name, n):
    """At most 12 of 60 at n = 100 and 3 of 60 at n = 500; benchmarks/tails.py: 10 % at most."""
    assert share_called_heavy(LIGHT[name], n) <= (0.2 if n == 100 else 0.05)


@pytest.mark.parametrize("name", HEAVY)
def test_infinite_variance_is_seen(name):
    assert share_called_heavy(HEAVY[name], 500) >= 0.9


def test_residuals_of_a_bounded_f_are_never_called_so():
    """A good fit leaves much at a few points; f between 0 and 1 has a variance all the same."""
    rng = np.random.default_rng(0)
    data = sq.Dataset(np.arange(500.0), rng.uniform(size=500))
    residuals = 1e-3 * rng.standard_cauchy(500)[:, None]
    assert pareto_shape(residuals[:, 0]) > 0.7
    assert tails_of(residuals, data).sentence is None


@pytest.mark.parametrize("n, called", [(100, False), (500, True), (5000, True)])
def test_of_few_values_f_has_to_be_heavier(n, called):
    """Quantiles of f with shape 0.45, beside residuals that certainly have no variance."""
    p = (np.arange(n) + 0.5) / n
    data = sq.Dataset(np.arange(float(n)), (1 - p) ** -0.45)
    assert 0.36 < pareto_shape(data.fx[:, 0]) < 0.5
    tails = tails_of((1 - p[:, None]) ** -0.9, data)
    assert (tails.widening[0] > 1) == called
    assert not tails.suspect  # f has a variance
    certain = sq.Dataset(np.arange(float(n)), (1 - p) ** -0.9)
    assert tails_of(certain.fx, certain).suspect


def test_a_tiny_residual_without_a_variance_counts():
    """Of a heavy f it widens the std; suspect is what was not predicted to four digits.

    Below twelve digits it is rounding.
    """
    rng = np.random.default_rng(0)
    data = sq.Dataset(np.arange(500.0), rng.uniform(size=500) ** -0.9)
    residuals = rng.standard_cauchy((500, 1))
    residuals *= data.fx.std() / residuals.std()
    assert tails_of(1e-3 * residuals, data).suspect
    tiny = tails_of(1e-4 * residuals, data)
    assert not tiny.suspect and tiny.widening[0] == pytest.approx(500**0.2)
    assert tiny.sentence is not None and "3.5 times as large" in tiny.sentence
    assert tails_of(1e-17 * residuals, data).sentence is None


def test_an_infinite_tail_that_the_model_has_taken_is_not_called_so():
    """Unless its answer is far from what held-out points say of it."""
    rng = np.random.default_rng(0)
    data = sq.Dataset(np.arange(500.0), rng.uniform(size=500) ** -0.9)
    values = 1e-3 * rng.standard_normal((500, 1))
    assert pareto_shape(data.fx[:, 0]) > 0.7
    assert tails_of(values, data).sentence is None
    assert Tails.of(values.mean(axis=0) + 1e-2, values, data).suspect


def test_counted_events_have_no_tail():
    """Of weights there is one, but f is bounded."""
    rng = np.random.default_rng(0)
    fx = (rng.uniform(size=500) < 0.1).astype(float)
    data = sq.Dataset(np.arange(500.0), fx, weights=rng.uniform(size=500) ** -0.5)
    assert pareto_shape(data.effective_weights * (fx - 0.1)) > 0.5
    assert tails_of(data.fx, data).sentence is None


def test_each_tail_counts_by_itself():
    values = np.random.default_rng(1).uniform(size=1000) ** -0.9
    np.testing.assert_allclose(pareto_shape(values), pareto_shape(-values))
    assert pareto_shape(values) > 0.6


def test_values_that_repeat_have_no_shape():
    assert pareto_shape(np.repeat([0.0, 1.0], 50)) == -np.inf
    assert pareto_shape(np.zeros(100)) == -np.inf


@pytest.mark.parametrize(
    "power, factor, suspect", [(-0.4, 1.0, False), (-0.6, 500**0.1, False), (-0.9, 500**0.2, True)]
)
def test_the_std_is_of_the_order_of_the_error(power, factor, suspect):
    """That of an average of n values of shape k is n^(k - 1), not n^(-1/2): quantiles of x^-k."""
    x = (np.arange(500) + 0.5) / 500
    data = sq.Dataset(x, x**power)
    found = tails_of(data.fx, data)
    assert found.widening[0] == pytest.approx(factor, rel=0.3)
    assert found.suspect == suspect
    assert (found.sentence is not None) == (factor > 1)


def test_the_sentence_names_the_output():
    rng = np.random.default_rng(0)
    fx = np.stack([rng.uniform(size=500), rng.uniform(size=500) ** -1.2], axis=1)
    said = tails_of(fx, sq.Dataset(np.arange(500.0), fx)).sentence
    assert said is not None and "of output 1" in said


def test_weights_make_tails_and_tame_them():
    """What counts is the tail of the weighted values, of 20 importance samples each."""
    tamed = made = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        wide, narrow = rng.standard_t(2.5, 400), rng.standard_normal(400)
        t = lambda x, nu: (1 + x**2 / nu) ** (-(nu + 1) / 2)  # noqa: E731
        one = sq.Dataset(wide, np.abs(wide) ** 1.5, weights=np.exp(-(wide**2) / 2) / t(wide, 2.5))
        two = sq.Dataset(narrow, narrow**2, weights=t(narrow, 2.1) / np.exp(-(narrow**2) / 2))
        tamed += tails_of(one.fx, one).sentence is not None
        made += tails_of(two.fx, two).sentence is not None
    assert tamed <= 3 < 10 <= made
