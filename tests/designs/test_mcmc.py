"""Markov chains of every kind: right distribution, right scores, options."""

import numpy as np
import numpyro.distributions as nd
import pytest
from sound_chains import NORMAL, NORMALS, N, excess

from steinquad.designs import MALA, NUTS, Design, TruncatedMALA
from steinquad.errors import InputError
from steinquad.measures import as_measure


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


def test_a_numpyro_gamma():
    measure = as_measure(nd.Gamma(3.0, 2.0))
    sample = MALA().draw(measure, N, seed=0)
    p = np.array([0.1, 0.25, 0.5, 0.75, 0.9])
    below = (sample.x <= measure.icdf(p[:, None])[:, 0]).astype(float)
    assert excess(below, p, sample.groups) < 1
    np.testing.assert_array_equal(sample.score, measure.score(sample.x))


def test_thinning_keeps_every_third_draw():
    options = {"step_size": 0.5, "start": np.zeros((4, 2))}
    thin = MALA(thin=3, warmup=7, **options).draw(NORMAL, 4 * 600, seed=0)
    full = MALA(warmup=0, **options).draw(NORMAL, 4 * 2000, seed=0)
    # the warm-up of 7 is rounded up to 9 transitions; the first draw is the twelfth state
    expected = full.x.reshape(4, 2000, 2)[:, 11::3][:, :600]
    np.testing.assert_allclose(thin.x.reshape(4, 600, 2), expected)


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
        (lambda: MALA().draw(NORMAL, 4001, seed=0), "chains is 4; give a multiple such as n=4000"),
    ],
)
def test_bad_input_is_one_sentence(call, message):
    with pytest.raises(InputError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value) and str(caught.value).endswith(".")
