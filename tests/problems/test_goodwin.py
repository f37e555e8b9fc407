"""The Goodwin posterior: trajectory, data and score by two roads each; failures are reported."""

import builtins

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import steinquad as sq
from steinquad.designs import TruncatedMALA
from steinquad.errors import InputError
from steinquad.problems.goodwin import GENERATING, NOISE, TRUTHS, observed, simulator

COARSE = 240  # observations, for a quick posterior


@pytest.fixture(scope="module")
def coarse():
    return sq.problems.goodwin(observations=COARSE, rtol=1e-10)


def near_mode(n):
    """Points within some posterior standard deviations of the generating parameters."""
    rng = np.random.default_rng(5)
    return np.log(GENERATING) + [0.02, 0.05, 0.015, 0.01] * rng.standard_normal((n, 4))


def trajectory(x, times):
    """The equations of the paper, written again for SciPy."""

    def slope(t, u):
        return [x[0] / (1 + x[1] * u[1] ** 10) - x[3] * u[0], x[2] * u[0] - x[3] * u[1]]

    return solve_ivp(slope, (0, 25), [0, 0], "DOP853", t_eval=times, rtol=1e-11, atol=1e-13).y.T


def test_the_data_are_the_trajectory_and_the_noise_of_their_seed():
    for seed in (0, 1):
        times, data = observed(seed)
        np.testing.assert_allclose(times, np.linspace(1, 25, 2400), rtol=1e-15)
        noise = np.random.default_rng(seed).standard_normal((2400, 2))
        expected = trajectory((1, 3, 1, 0.5), times) + np.array([0.1, 0.05]) * noise
        np.testing.assert_allclose(data, expected, atol=1e-12)


def test_trajectories_agree_with_another_solver():
    import jax

    times = np.linspace(1, 25, COARSE)
    with jax.enable_x64(True):
        solve = jax.jit(simulator(times, rtol=1e-9))
        for x in (GENERATING, (2.0, 1.0, 0.7, 0.3)):
            u, solved = solve(np.array(x))
            assert bool(solved)
            np.testing.assert_allclose(u, trajectory(x, times), atol=1e-7)


def test_log_density_is_prior_and_likelihood(coarse):
    w = near_mode(2)
    times, data = observed(0, COARSE)
    expected = [
        -np.sum(((trajectory(np.exp(p), times) - data) / NOISE) ** 2) / 2 - p @ p / 2 for p in w
    ]
    np.testing.assert_allclose(coarse.measure.log_density(w), expected, rtol=1e-7)


def test_score_against_finite_differences(coarse):
    w = near_mode(3)
    score = coarse.measure.score(w)
    h = 3e-4
    offsets = np.array([-2, -1, 1, 2])[:, None, None] * h * np.eye(4)  # (4 offsets, 4, 4)
    values = coarse.measure.log_density((w[:, None, None] + offsets).reshape(-1, 4))
    values = values.reshape(3, 4, 4)  # point, offset, coordinate
    slopes = np.tensordot(values, [1, -8, 8, -1], axes=(1, 0)) / (12 * h)
    assert np.max(np.abs(slopes - score)) < 1e-5 * np.abs(score).max()


@pytest.mark.slow
def test_forward_and_reverse_scores_are_the_same(coarse):
    reverse = sq.problems.goodwin(observations=COARSE, rtol=1e-10, sensitivity="reverse")
    w = near_mode(3)
    np.testing.assert_allclose(reverse.measure.score(w), coarse.measure.score(w), rtol=1e-9)


def test_integrand_is_the_four_parameters(coarse):
    w = near_mode(3)
    np.testing.assert_array_equal(coarse.integrand(w), np.exp(w))
    assert np.isnan(coarse.truth).all() and "nobody" in coarse.source
    known = sq.problems.goodwin(0)
    np.testing.assert_array_equal(known.truth, TRUTHS[0])
    assert "NUTS" in known.source
    # the posterior mean, not the generating parameters
    assert np.all(np.abs(known.truth - GENERATING) > 1e-4)


@pytest.mark.slow
def test_where_the_solver_gives_up_a_chain_goes_on_and_counts():
    """Forty steps of the solver suffice for most parameters that the prior allows, not for all."""
    problem = sq.problems.goodwin(observations=12, rtol=1e-2, max_steps=40)
    w = 2.0 * np.random.default_rng(0).standard_normal((40, 4))
    value, score = problem.measure.log_density(w), problem.measure.score(w)
    failed = np.isneginf(value)
    assert 0 < failed.sum() < 40
    assert np.isfinite(value[~failed]).all() and np.isfinite(score[~failed]).all()
    assert np.isnan(score[failed]).all()
    design = TruncatedMALA(4, 0, step_size=0.1, start=w[~failed][:4])
    sample = design.draw(problem.measure, 400, seed=0)
    assert 0 < sample.stats["failed_proposals"] < 200
    assert all(len(np.unique(chain)) > 2 for chain in sample.x[:, 0].reshape(4, 100))
    assert sample.score is not None and np.isfinite(sample.score).all()
    assert np.isfinite(problem.measure.log_density(sample.x)).all()


@pytest.mark.slow
def test_every_estimator_takes_it(coarse):
    start = np.log([GENERATING, GENERATING])
    design = TruncatedMALA(2, 100, 10, step_size=1e-4, start=start)
    sample = design.draw(coarse.measure, 60, seed=0)
    np.testing.assert_allclose(sample.score, coarse.measure.score(sample.x), rtol=1e-8)
    data = sq.Dataset(sample.x, coarse.integrand(sample.x), sample.score, groups=sample.groups)
    plain = sq.estimate(data, method=sq.MonteCarlo())
    methods = (
        sq.Polynomial(),
        sq.ControlFunctional(),
        sq.BSN(width=4, depth=1, activation="tanh", folds=1, standardize="whiten"),
    )
    for method in methods:
        answer = sq.estimate(data, measure=coarse.measure, method=method)
        assert np.shape(answer.mean) == np.shape(answer.std) == (4,)
        assert np.all(np.abs(answer.mean - plain.mean) < 6 * np.asarray(plain.std))
    with pytest.raises(InputError, match="BayesianQuadrature|BQ|measure"):
        sq.estimate(data, measure=coarse.measure, method=sq.BayesianQuadrature())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sq.problems.goodwin(-1), "seed is -1"),
        (lambda: sq.problems.goodwin(rtol=1.0), "rtol is 1.0"),
        (lambda: sq.problems.goodwin(rtol="tight"), "rtol is 'tight'"),  # pyright: ignore
        (lambda: sq.problems.goodwin(sensitivity="adjoint"), "sensitivity is 'adjoint'"),  # pyright: ignore
        (lambda: sq.problems.goodwin(observations=1), "observations is 1"),
        (lambda: sq.problems.goodwin(max_steps=0), "max_steps is 0"),
        (lambda: sq.problems.goodwin_mala(truncation=-1.0), "truncation is -1.0"),
        (lambda: sq.problems.goodwin().integrand(np.zeros((2, 3))), r"w has shape \(2, 3\)"),
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence(call, message):
    with pytest.raises(InputError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value) and str(caught.value).endswith(".")


def test_without_diffrax_the_extra_is_named(monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name == "diffrax":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(InputError, match=r"steinquad\[ode\]"):
        sq.problems.goodwin()
