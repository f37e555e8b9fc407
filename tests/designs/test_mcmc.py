"""Markov chains: right distribution, right scores, and trouble that is reported."""

import gc

import jax.numpy as jnp
import numpy as np
import numpyro.distributions as nd
import pytest
import scipy.stats as st
from scipy.special import stdtrit

from steinquad.checking.standard_error import standard_error
from steinquad.designs import MALA, NUTS, Design, TruncatedMALA, _langevin, mala
from steinquad.designs._programs import PROGRAMS
from steinquad.errors import InputError
from steinquad.measures import Draws, LogDensity, Product, as_measure

FALSE_ALARM = 1e-5  # chance that a right sampler fails one of the tests, for a random seed
N = 4000


def excess(values, truth, groups):
    """Largest distance from the truth in units of what chance allows; below 1 for a sound chain.

    Chains are cut into 16 pieces each, longer than their memory: the error of the error is small.
    """
    pieces = 16 * groups + np.tile(np.arange(len(groups) // 4) * 16 * 4 // len(groups), 4)
    std, dof = standard_error(values, np.ones(len(values)), pieces)
    limit = stdtrit(dof, 1 - FALSE_ALARM / (2 * values.shape[1]))
    return np.max(np.abs(values.mean(axis=0) - truth) / std) / limit


def normal(d):
    """A normal of mean 1, 2, ... and correlation one half, its precision and covariance."""
    mean, covariance = np.arange(1.0, d + 1), 0.5 * np.eye(d) + 0.5
    precision = np.linalg.inv(covariance)

    def log_density(x):
        return -(x - mean) @ precision @ (x - mean) / 2

    return LogDensity(log_density, d), mean, covariance


NORMALS = {d: normal(d) for d in (1, 2, 5)}
NORMAL = NORMALS[2][0]
# log density -x^4 / 4: at x = 20 the score is -8000 and a step of .05 overshoots to -380
QUARTIC = LogDensity(lambda x: -jnp.sum(x**4) / 4, 1)


@pytest.mark.parametrize(
    ("design", "d"),
    [(MALA(), 1), (MALA(), 2), (MALA(), 5), (TruncatedMALA(), 2), (NUTS(), 5)],
    ids=lambda case: getattr(case, "name", str(case)),
)
def test_moments_of_a_correlated_normal(design, d):
    measure, mean, covariance = NORMALS[d]
    sample = design.draw(measure, N, seed=1)
    assert isinstance(design, Design) and sample.sampled and sample.x.dtype == np.float64
    centered = sample.x - mean
    squares = centered[:, :, None] * centered[:, None, :]
    values = np.hstack([centered, squares[:, *np.triu_indices(d)]])
    truth = np.append(np.zeros(d), covariance[np.triu_indices(d)])
    assert excess(values, truth, sample.groups) < 1
    np.testing.assert_array_equal(sample.groups, np.repeat(np.arange(4), N // 4))
    np.testing.assert_allclose(sample.score, measure.score(sample.x), rtol=1e-10, atol=1e-10)
    assert sample.stats["rhat"].shape == sample.stats["ess"].shape == (d,)
    assert np.all(sample.stats["rhat"] < 1.02) and np.all(sample.stats["ess"] > 200)
    assert sample.stats.get("failed_proposals", 0) == 0
    target = 0.574 if isinstance(design, MALA) else 0.85  # BlackJAX ends a little above its target
    assert np.all(np.abs(sample.stats["acceptance"] - target) < 0.12)


def test_bounded_coordinates_of_every_kind():
    """A gamma, a uniform and a reflected exponential, which the chain sees as logs and logits."""

    def log_density(x):
        return 2 * jnp.log(x[0]) - 3 * x[0] + 2 * x[2]

    support = {"g": (0, None), "u": (-1, 3), "e": (None, 5)}
    measure = LogDensity(log_density, 3, support, names=["g", "u", "e"])
    sample = MALA(thin=2).draw(measure, N, seed=0)
    marginals = (st.gamma(3, scale=1 / 3), st.uniform(-1, 4), st.expon())
    uniform = np.column_stack([marginals[0].cdf(sample.x[:, 0]), marginals[1].cdf(sample.x[:, 1]),
                               marginals[2].sf((5 - sample.x[:, 2]) * 2)])  # fmt: skip
    below = (uniform[:, :, None] < [0.1, 0.25, 0.5, 0.75, 0.9]).reshape(N, -1).astype(float)
    assert excess(below, np.tile([0.1, 0.25, 0.5, 0.75, 0.9], 3), sample.groups) < 1
    assert measure.support.contains(sample.x).all()
    np.testing.assert_array_equal(sample.score, measure.score(sample.x))
    np.testing.assert_allclose(sample.score[:, 1:], np.broadcast_to([0, 2], (N, 2)), atol=1e-12)


def test_a_numpyro_gamma():
    measure = as_measure(nd.Gamma(3.0, 2.0))
    sample = MALA().draw(measure, N, seed=0)
    p = np.array([0.1, 0.25, 0.5, 0.75, 0.9])
    below = (sample.x <= measure.icdf(p[:, None])[:, 0]).astype(float)
    assert excess(below, p, sample.groups) < 1
    np.testing.assert_array_equal(sample.score, measure.score(sample.x))


# The truncated kernel --------------------------------------------------------------------------


def quantile_excess():
    """Of a standard normal, with a drift that is cut at nearly every point."""
    measure = LogDensity(lambda x: -x @ x / 2, 1)
    design = TruncatedMALA(warmup=50, thin=3, step_size=0.8, truncation=0.3, start=np.zeros(4))
    sample = design.draw(measure, N, seed=2)
    p = np.array([0.1, 0.25, 0.5, 0.75, 0.9])
    below = (sample.x <= st.norm().ppf(p)).astype(float)
    return excess(below, p, sample.groups)


def test_truncated_drift_keeps_the_measure():
    before = len(PROGRAMS)
    assert quantile_excess() < 1
    gc.collect()
    assert len(PROGRAMS) <= before  # compiled programs do not keep a measure alive


def test_without_the_metropolis_correction_it_does_not(monkeypatch):
    def always(key, log_p, state, new_state):
        return new_state, (True, 1.0, None)

    monkeypatch.setattr(_langevin, "static_binomial_sampling", always)
    assert quantile_excess() > 1.5


def test_truncated_drift_comes_back_from_a_tail_where_plain_mala_freezes():
    options = {"chains": 2, "warmup": 0, "step_size": 0.05, "start": [[20.0], [-20.0]]}
    plain = MALA(**options).draw(QUARTIC, 400, seed=0)
    assert np.all(np.abs(plain.x) == 20)
    assert "chains 0, 1 did not move (200 identical draws)" in plain.notes[0]
    cut = TruncatedMALA(**options).draw(QUARTIC, 400, seed=0)
    assert np.all(np.abs(cut.x.reshape(2, 200)[:, 100:]) < 4)
    assert not any("did not move" in note for note in cut.notes)


# Trouble that is reported ----------------------------------------------------------------------


def test_a_huge_step_does_not_move():
    sample = MALA(step_size=1e8).draw(NORMAL, N, seed=1)
    assert "chains 0, 1, 2, 3 did not move (1000 identical draws)" in sample.notes[0]
    assert np.all(np.isnan(sample.stats["rhat"]) | (sample.stats["rhat"] > 1.01))


def test_chains_in_different_modes_have_a_high_rhat():
    def two_modes(x):
        return jnp.logaddexp(-((x[0] - 8) ** 2) / 2, -((x[0] + 8) ** 2) / 2) - x[1] ** 2 / 2

    measure = LogDensity(two_modes, 2, names=["mode", "other"])
    start = [[8.0, 0.0], [8.0, 0.0], [-8.0, 0.0], [-8.0, 0.0]]
    apart = MALA(start=start, warmup=300).draw(measure, N, seed=0)
    assert len(apart.notes) == 1
    assert apart.notes[0].startswith("R-hat is ") and "coordinate mode" in apart.notes[0]
    together = MALA(start=np.abs(start), warmup=300).draw(measure, N, seed=0)
    assert not any("coordinate mode" in note for note in together.notes)


@pytest.mark.parametrize("kind", [MALA, TruncatedMALA], ids=lambda kind: kind.__name__)
def test_proposals_without_a_density_are_counted(kind):
    """Every one of them where there is density only at the start (none for a normal, above)."""
    point = LogDensity(lambda x: jnp.where(jnp.abs(x[0]) < 1e-9, 0.0 * x[0], jnp.nan), 1)
    design = kind(chains=2, warmup=10, thin=2, step_size=1.0, start=np.zeros(2))
    sample = design.draw(point, 40, seed=0)
    assert sample.stats["failed_proposals"] == 2 * (10 + 2 * 20) and np.all(sample.x == 0)


# Seeds, thinning, starts, progress -------------------------------------------------------------


def test_same_seed_same_draws_bit_for_bit(monkeypatch):
    first = MALA().draw(NORMAL, N, seed=1)
    PROGRAMS.pop(NORMAL)  # compiled once more, and once only for all blocks
    make, traces, seen = mala._langevin_step, [], []

    def counted(*args):
        step = make(*args)
        return lambda *carry: traces.append(1) or step(*carry)

    monkeypatch.setattr(mala, "_langevin_step", counted)
    again = MALA().draw(NORMAL, N, seed=1, progress=lambda *_: seen.append(len(traces)))
    other = MALA().draw(NORMAL, N, seed=2, progress=lambda *_: seen.append(len(traces)))
    assert len(seen) > 20 and seen[0] == seen[-1] > 0
    np.testing.assert_array_equal(first.x, again.x)
    np.testing.assert_array_equal(first.score, again.score)
    assert not np.any(first.x == other.x)
    assert len(np.unique(first.x[:: N // 4, 0])) == 4  # chains differ


def test_thinning_keeps_every_third_draw():
    options = {"step_size": 0.5, "start": np.zeros((4, 2))}
    thin = MALA(thin=3, warmup=7, **options).draw(NORMAL, 4 * 600, seed=0)
    full = MALA(warmup=0, **options).draw(NORMAL, 4 * 2000, seed=0)
    # the warm-up of 7 is rounded up to 9 transitions; the first draw is the twelfth state
    expected = full.x.reshape(4, 2000, 2)[:, 11::3][:, :600]
    np.testing.assert_allclose(thin.x.reshape(4, 600, 2), expected)


def test_starts():
    def prior(chains, seed):
        return np.random.default_rng(seed).uniform(0, 1, (chains, 2)) * [[1], [-1]]

    # half of the starts from the prior have no density, and are drawn again
    half = LogDensity(lambda x: jnp.where(x[0] > 0, -x @ x / 2, jnp.nan), 2)
    calls = []

    def either(chains, seed):
        calls.append(seed)
        points = prior(chains, seed)
        return points if len(calls) < 2 else np.abs(points)

    options = {"chains": 2, "warmup": 0, "step_size": 1e-12}
    sample = MALA(start=either, **options).draw(half, 4, seed=0)
    assert sample.stats["redrawn_starts"] == 1 and len(calls) == 2
    np.testing.assert_allclose(sample.x[0], prior(2, calls[0])[0], atol=1e-4)
    np.testing.assert_allclose(sample.x[2], np.abs(prior(2, calls[1])[1]), atol=1e-4)
    box = as_measure(nd.Uniform(2.0, 3.0).expand([2]).to_event(1))
    for start in (box, box.dist, Product({"a": st.uniform(2, 1), "b": st.uniform(2, 1)})):
        x = MALA(start=start, **options).draw(half, 4, seed=0).x
        assert np.all((x > 1.9) & (x < 3.1))


def test_a_chain_starts_at_the_likeliest_of_its_candidates():
    normal = LogDensity(lambda x: -x @ x / 2, 2)
    drawn = []

    def prior(count, seed):
        drawn.append(np.random.default_rng(seed).normal(size=(count, 2)))
        return drawn[-1]

    options = {"chains": 3, "warmup": 0, "step_size": 1e-14, "start": prior}
    x = MALA(candidates=7, **options).draw(normal, 3, seed=0).x
    groups = drawn[0].reshape(3, 7, 2)
    nearest = np.linalg.norm(groups, axis=2).argmin(axis=1)
    np.testing.assert_allclose(x, groups[np.arange(3), nearest], atol=1e-5)
    with pytest.raises(InputError, match="candidates is 2, but start is an array"):
        MALA(candidates=2, start=np.zeros((4, 2))).draw(normal, 8, seed=0)
    with pytest.raises(InputError, match="candidates"):
        MALA(candidates=0)


def test_designs_can_be_compared():
    start = np.zeros((4, 2))
    assert MALA(start=start) == MALA(start=start.tolist()) != MALA()
    assert hash(MALA(start=start)) == hash(MALA(start=start))
    assert TruncatedMALA(start=start) != MALA(start=start)


@pytest.mark.parametrize("design", [MALA(), NUTS()], ids=lambda design: design.name)
def test_progress_rises_to_its_total(design):
    seen = []
    measure = NORMALS[2 if design.name == "MALA" else 5][0]
    design.draw(measure, N, seed=0, progress=lambda *report: seen.append(report))
    steps, totals, losses = zip(*seen, strict=True)
    assert len(seen) >= 10 and list(steps) == sorted(set(steps))
    assert set(totals) == {steps[-1]} and np.isfinite(losses).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: MALA(chains=0), "chains is 0"),
        (lambda: MALA(thin=0), "thin is 0"),
        (lambda: MALA(warmup=0), "step_size is missing"),
        (lambda: MALA(step_size=-1), "step_size is -1"),
        (lambda: TruncatedMALA(truncation=0), "truncation is 0"),
        (lambda: NUTS(warmup=5), "warmup is 5"),
        (lambda: NUTS(target_acceptance=2), "target_acceptance is 2"),
        (lambda: MALA().draw(NORMAL, 4001, seed=0), "chains is 4; give a multiple such as n=4000"),
        (lambda: MALA().draw(as_measure(st.norm()), 8, seed=0), "use design=IID"),
        (lambda: MALA().draw(Product({"a": nd.Normal()}), 8, seed=0), "LogDensity"),
        (lambda: NUTS().draw(Draws([1.0, 2.0], [1.0, 2.0]), 8, seed=0), "LogDensity"),
        (lambda: MALA(start=np.zeros((3, 2))).draw(NORMAL, 8, seed=0), r"shape \(3, 2\)"),
        (lambda: MALA(start=np.full((4, 2), np.nan)), "start contains NaN"),
        (lambda: MALA(start=-np.ones(4)).draw(as_measure(nd.Gamma(2.0)), 8, seed=0), "outside"),
        (lambda: MALA(start=np.zeros(4)).draw(as_measure(nd.Gamma(2.0)), 8, seed=0), "in row 0"),
        (lambda: MALA().draw(LogDensity(lambda x: jnp.log(-(x[0] ** 2)), 1), 8, seed=0),
         "no point of finite log density"),
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence(call, message):
    with pytest.raises(InputError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value) and str(caught.value).endswith(".")
