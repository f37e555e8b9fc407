"""The paper's chains, and how they leave the prior."""

import numpy as np
import pytest
from scipy.special import stdtrit

import steinquad as sq
from steinquad.checking.standard_error import standard_error
from steinquad.designs import MALA, Resumable, TruncatedMALA, Whitened, _langevin, laplace
from steinquad.problems.goodwin import GENERATING


def distances(sample, problem):
    """Of each chain's last draw from the mode, in posterior standard deviations."""
    mode = np.log(problem.truth)
    last = sample.x.reshape(5, -1, 4)[:, -1]
    return np.max(np.abs(last - mode) / [0.00608, 0.01685, 0.00497, 0.00356], axis=1)


def test_the_preset_is_the_papers(tmp_path):
    design = sq.problems.goodwin_mala()
    assert isinstance(design, TruncatedMALA)
    assert (design.chains, design.thin, design.warmup) == (5, 20, 2000)
    assert design.step_size is not None
    np.testing.assert_allclose(np.sqrt(2 * design.step_size), 0.0033)  # the noise's std
    paper = sq.problems.goodwin_mala(warmup=0)
    assert isinstance(paper, TruncatedMALA) and paper.warmup == 0
    starts = paper.start.sample(2000, seed=0)  # N(0, I): mean and std within 5 standard errors
    assert np.all(np.abs(starts.mean(axis=0)) < 0.12)
    assert np.all(np.abs(starts.std(axis=0) - 1) < 0.08)
    kept = sq.problems.goodwin_mala(path=tmp_path / "run")
    assert isinstance(kept, Resumable) and isinstance(kept.design, TruncatedMALA)
    assert kept.block == 5 and kept.design.step_size == design.step_size


@pytest.mark.slow
def test_a_chain_without_warm_up_begins_at_the_prior_and_ends_at_the_mode():
    problem = sq.problems.goodwin(rtol=1e-5)
    sample = sq.problems.goodwin_mala(warmup=0).draw(problem.measure, 5 * 45, seed=0)
    assert np.all(distances(sample, problem) < 8)
    first = sample.x.reshape(5, -1, 4)[:, 0]
    assert np.abs(first - np.log(problem.truth)).max() > 0.5  # draws on the way are kept
    assert "failed_proposals" in sample.stats


@pytest.mark.slow
def test_plain_mala_freezes_there():
    problem = sq.problems.goodwin(rtol=1e-5)
    options = sq.problems.goodwin_mala(warmup=0)
    assert isinstance(options, TruncatedMALA)
    plain = MALA(5, 0, 20, step_size=options.step_size, start=options.start)
    sample = plain.draw(problem.measure, 5 * 45, seed=0)
    assert np.sum(distances(sample, problem) > 8) >= 3
    assert any("did not move" in note for note in sample.notes)


@pytest.mark.slow
def test_whitened_nuts_starts_at_the_laplace_approximation(tmp_path):
    problem = sq.problems.goodwin(observations=240, rtol=1e-6)
    design = sq.problems.goodwin_nuts(problem, chains=2, warmup=20, path=tmp_path)
    assert isinstance(design, Whitened) and design.block == 2
    scores = problem.measure.score(design.affine.shift[None])
    assert np.max(np.abs(scores @ design.affine.matrix)) < 1e-4  # zero at the mode
    seen = []
    sample = design.draw(problem.measure, 40, seed=0, progress=lambda *r: seen.append(r))
    z = design.affine.points(sample.x)
    assert np.abs(z).max() < 6 and len(seen) > 10
    again = design.draw(problem.measure, 40, seed=0)
    np.testing.assert_array_equal(again.x, sample.x)


def identity_excess():
    """Of the Stein identities E[score_i] = 0 and E[w_i score_i] = -1 over what chance allows.

    The drift is cut at nearly every point. Below 1 for a sound chain but for one seed in 1e5:
    chains are cut into 16 pieces each, longer than their memory.
    """
    problem = sq.problems.goodwin(observations=60, rtol=1e-4)
    mode = laplace(problem.measure, np.log(GENERATING))
    start = np.tile(mode.shift, (4, 1))
    design = TruncatedMALA(4, 200, 10, step_size=3e-4, truncation=10.0, start=start)
    sample = design.draw(problem.measure, 1600, seed=0)
    assert sample.score is not None
    z, score = mode.points(sample.x), mode.score(sample.score)
    assert np.mean(np.linalg.norm(sample.score, axis=1) > 10) > 0.9
    values = np.hstack([score, z * score])
    error, dof = standard_error(values, np.ones(1600), np.arange(1600) // 25)
    limit = stdtrit(dof, 1 - 1e-5 / (2 * 8))
    return np.max(np.abs(values.mean(axis=0) - np.repeat([0, -1], 4)) / error) / limit


@pytest.mark.slow
def test_truncated_drift_keeps_the_posterior():
    assert identity_excess() < 1


@pytest.mark.slow
def test_without_the_metropolis_correction_it_does_not(monkeypatch):
    def always(key, log_p, state, new_state):
        return new_state, (True, 1.0, None)

    monkeypatch.setattr(_langevin, "static_binomial_sampling", always)
    assert identity_excess() > 1  # the same check, which it fails
