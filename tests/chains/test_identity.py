"""Scores that do not belong to the draws are found; sound ones pass, however slow the chains.

The test allows a false alarm in 10,000 sound datasets. Below are 90 sound ones; that any of them
fails by chance has a probability of 0.9 %, and the seeds are fixed.
"""

import numpy as np
import pytest
from made_up_chains import Known, independent, mixing, normal, skewed

import steinquad as sq
from steinquad.chains.identity import identity_violation


def violation(known: Known, score: np.ndarray) -> str | None:
    chains, draws, d = known.draws.shape
    data = sq.Dataset(
        known.draws.reshape(-1, d),
        np.zeros(chains * draws),
        score.reshape(-1, d),
        groups=np.repeat(np.arange(chains), draws),
    )
    return identity_violation(data)


@pytest.mark.parametrize("d", (1, 2, 5))
@pytest.mark.parametrize("distribution", [normal, skewed])
def test_sound_scores_pass(distribution, d):
    for seed in range(5):
        for rho in (0.0, 0.5, 0.95):
            known = distribution(100 + seed, d, rho=rho)
            assert violation(known, known.score) is None


@pytest.mark.parametrize("d", (1, 2, 5))
@pytest.mark.parametrize("rho", (0.0, 0.8))
@pytest.mark.parametrize("distribution", [normal, skewed])
def test_wrong_scores_are_found(distribution, rho, d):
    known = distribution(200, d, rho=rho, draws=1000)
    precision = np.linalg.inv(mixing(d) @ mixing(d).T)
    shifted = known.score + 0.5 * precision[0]  # as of a normal model half a unit away
    assert "E[score] = 0" in str(violation(known, shifted))
    for factor in (0.5, 2.0):  # a tempered density; data counted twice
        assert "do not belong" in str(violation(known, factor * known.score))


def test_scores_of_another_scale_or_order_are_found():
    known = normal(201, 2, draws=1000)
    wide = -(known.draws - known.mean) / 4.0
    assert "E[x score^T] = -I" in str(violation(known, wide))
    assert violation(known, known.score[..., ::-1]) is not None  # coordinates mixed up
    assert violation(known, known.score[:, ::-1]) is not None  # draws mixed up


def test_a_forgotten_jacobian_is_found():
    known = skewed(202, 1, draws=1000)
    assert violation(known, known.score - 1.0) is not None


def test_what_is_found_is_reported_and_nothing_is_corrected():
    known = normal(203, 2)
    result = sq.posterior_expectation(known.draws, score=0.5 * known.score)
    assert result.status.code == "suspect" and "do not belong to the draws" in str(result)
    for row in result:
        assert row.method == "plain mean" and row.mean == row.plain and row.std == row.mcse


@pytest.mark.parametrize("shape", [(4, 256, 2), (4, 300, 2), (4, 256, 1), (4, 300, 1)])
def test_scores_of_zero_are_found_whatever_rounding_says(shape):
    x = independent(*shape)
    score = -x
    score[..., -1] = 0.0
    result = sq.posterior_expectation(x, score=score)
    assert result.status.code == "suspect" and "do not belong" in result.warnings[0]
    assert result["x0"].mean == result["x0"].plain


@pytest.mark.parametrize("n", [20, 24, 30, 64, 99])
def test_few_draws_cannot_tell_whose_scores_they_are(n):
    for seed in range(5):
        x = independent(1, n, 1, seed)
        for score in (-5 * (x - 1), -x):
            result = sq.posterior_expectation(x, score=score)
            assert result.status.code == "suspect" and "too few to tell" in result.warnings[0]
            assert result["x0"].mean == result["x0"].plain


def test_nor_can_draws_that_have_hardly_any_weight():
    x, w = independent(1, 2000, 1), np.full(2000, 1e-3)
    w[:60] = 1.0
    result = sq.posterior_expectation(x, score=-3 * (x - 0.3), weights=w)
    assert result.status.code == "suspect" and result["x0"].mean == result["x0"].plain
    assert any("by their weights 6" in note for note in result.warnings)


def test_scores_that_are_a_fifth_too_large_are_found_in_2000_draws():
    # ... as the documentation says; a tenth is not.
    x = independent(4, 500, 1)
    assert sq.posterior_expectation(x, score=-1.2 * x).status.code == "suspect"
    assert sq.posterior_expectation(x, score=-1.1 * x).status.code == "converged"
