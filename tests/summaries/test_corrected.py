"""Statistics through a model: exact coverage of the test, and models that may be as bad as any."""

import numpy as np
import pytest
import scipy.stats as st

from steinquad.summaries import corrected, simulated
from steinquad.summaries.corrected import CRITICAL, Surrogate, score_statistic
from steinquad.summaries.statistic import better


def statistic(more, less, n, delta, noise=0.0):
    as_array = [np.atleast_1d(np.asarray(a, dtype=np.float64)) for a in (more, less)]
    wanted = np.atleast_1d(np.asarray(delta, dtype=np.float64))
    return score_statistic(*as_array, n, wanted, np.asarray(noise, dtype=np.float64))


@pytest.mark.parametrize(("more", "less"), [(3, 8), (5, 0), (1, 1)])
def test_of_no_difference_it_is_mcnemars(more, less):
    want = (more - less) / np.sqrt(more + less)
    assert statistic(more, less, 60, 0.0)[0] == pytest.approx(want)


def test_without_a_disagreement_the_ends_are_known():
    n, end = 150, CRITICAL**2 / (150 + CRITICAL**2)
    assert statistic(0, 0, n, [end, -end]) == pytest.approx([-CRITICAL, CRITICAL])
    model = Surrogate(np.arange(n) - 0.25, np.linspace(-1, 150, 10**6)[None], np.ones(1))
    found = corrected.chance(np.arange(n) - 0.25, model, "below", 74.5)
    assert found.value == pytest.approx(0.5, abs=1e-5)
    assert found.high - 0.5 == pytest.approx(end, rel=3e-3)  # and the noise of the draws


def test_it_is_the_likelihood_under_the_constraint():
    """The closed form of the chance of -1 against a search for the largest likelihood."""
    more, less, n, delta = 4, 2, 30, 0.15
    q = np.linspace(1e-7, 0.4, 1_000_001)
    largest = q[np.argmax(more * np.log(q + delta) + less * np.log(q)
                          + (n - more - less) * np.log(1 - 2 * q - delta))]  # fmt: skip
    want = (more - less - n * delta) / np.sqrt(n * (2 * largest + delta - delta**2))
    assert statistic(more, less, n, delta)[0] == pytest.approx(want, rel=1e-5)


@pytest.mark.parametrize("n", [20, 60])
def test_exact_coverage_over_a_grid_of_disagreements(n):
    more, less = (a.ravel() for a in np.mgrid[: n + 1, : n + 1])
    keep = more + less <= n
    more, less = more[keep].astype(float), less[keep].astype(float)
    covers = []
    for up in (0.0, 0.01, 0.03, 0.1, 0.3):
        for down in (0.0, 0.01, 0.03, 0.1, 0.3):
            law = st.multinomial(n, [up, down, 1 - up - down])
            chances = law.pmf(np.stack([more, less, n - more - less], axis=1))
            inside = np.abs(statistic(more, less, n, np.full_like(more, up - down))) <= CRITICAL
            covers.append(chances[inside].sum())
    assert min(covers) > 0.93 and np.mean(covers) > 0.95


# -- coverage with all kinds of models ---------------------------------------------------------

MODELS = {
    "good": lambda f, z, rng: f + 0.02 * np.sin(5 * z),
    "fair": lambda f, z, rng: f + 0.3 * np.sin(5 * z),
    "shifted": lambda f, z, rng: f + 1.0,
    "mirrored": lambda f, z, rng: -f,
    "noise": lambda f, z, rng: rng.normal(size=f.shape),
    "constant": lambda f, z, rng: np.zeros_like(f),
}
TRUTHS = [  # of f = exp(z / 2), z standard normal
    (0.5, 1.0),
    (0.9, st.lognorm(0.5).ppf(0.9)),
    (2.0, st.lognorm(0.5).sf(2.0)),
]


def coverage(kind, runs, n=100, shift=0.0):
    """Share of intervals, of f shifted by so much, around each of the truths."""
    rng, model = np.random.default_rng(5), MODELS[kind]
    inside = np.zeros((2, len(TRUTHS)))
    for _ in range(runs):
        z, fresh = rng.normal(size=n), rng.normal(size=(1, 2000))
        values = np.exp(z / 2)
        own = Surrogate(model(values, z, rng), model(np.exp(fresh / 2), fresh, rng), np.ones(1))
        for j, (at, truth) in enumerate(TRUTHS):
            if at < 1:
                pair = simulated.quantile(values, at), corrected.quantile(values, own, at)
            else:
                pair = (
                    simulated.chance(values, "above", at),
                    corrected.chance(values, own, "above", at),
                )
            for i, row in enumerate((pair[1], better(*pair))):
                inside[i, j] += row.low <= truth + shift <= row.high
    return inside / runs


@pytest.mark.parametrize("kind", MODELS)
def test_no_model_breaks_the_cover(kind):
    found = coverage(kind, 100)
    # Six numbers a model: at a coverage of 95 % one is below by chance with probability 1e-3.
    assert (found > 0.83).all(), found


def test_a_wrong_truth_is_not_covered():
    assert (coverage("good", 60, shift=0.3)[:, [0, 2]] < 0.5).all()


def test_a_good_model_shortens_and_a_bad_one_is_left_out():
    rng = np.random.default_rng(6)
    z, fresh = rng.normal(size=400), rng.normal(size=(1, 20_000))
    good = Surrogate(z + 1e-3, fresh + 1e-3, np.ones(1))
    bad = Surrogate(rng.normal(size=400), fresh, np.ones(1))
    plain = simulated.quantile(z, 0.5)
    helped, left = (better(plain, corrected.quantile(z, m, 0.5)) for m in (good, bad))
    assert helped.uses_model and helped.width < 0.4 * plain.width
    assert left is plain


def test_values_that_come_often_have_their_quantile():
    values = np.repeat([0.0, 1.0], [120, 80])
    model = Surrogate(values, np.repeat([[0.0, 1.0]], [600, 400], axis=1), np.ones(1))
    found = corrected.quantile(values, model, 0.5)
    assert found.low <= 0.0 <= found.high and found.value == 0.0
