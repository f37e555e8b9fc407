"""Scores that do not belong to the draws are found; sound ones pass, however slow the chains.

The test allows a false alarm in 10,000 sound datasets. Below are 90 sound ones; that any of them
fails by chance has a probability of 0.9 %, and the seeds are fixed.
"""

import numpy as np
import pytest
from made_up_chains import Known, mixing, normal, skewed

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
@pytest.mark.parametrize("law", [normal, skewed])
def test_sound_scores_pass(law, d):
    for seed in range(5):
        for rho in (0.0, 0.5, 0.95):
            known = law(100 + seed, d, rho=rho)
            assert violation(known, known.score) is None


@pytest.mark.parametrize("d", (1, 2, 5))
@pytest.mark.parametrize("rho", (0.0, 0.8))
@pytest.mark.parametrize("law", [normal, skewed])
def test_wrong_scores_are_found(law, rho, d):
    known = law(200, d, rho=rho, draws=1000)
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
    found = sq.posterior_expectation(known.draws, score=0.5 * known.score)
    assert found.status.code == "suspect" and "do not belong to the draws" in str(found)
    for row in found:
        assert row.method == "plain mean" and row.mean == row.plain and row.std == row.mcse
