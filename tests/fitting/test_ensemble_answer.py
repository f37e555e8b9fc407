"""One answer from the networks of all folds: each formula of the module, by hand."""

from types import SimpleNamespace

import jax
import numpy as np
import pytest
from helpers import random_network

import steinquad as sq
from steinquad.checking.standard_error import standard_error
from steinquad.fitting.ensemble_answer import BETWEEN, Member, NetworkModel, combine
from steinquad.fitting.standard_frame import StandardFrame
from steinquad.points import Points
from steinquad.posterior.laplace import laplace
from steinquad.stein.multipliers import Boundary, Constant

N, FOLDS = 80, 4


def member(theta0, held, values, variance=0.04):
    """A network of which only the integrals count."""
    theta0 = np.atleast_1d(np.asarray(theta0, float))
    posterior = SimpleNamespace(theta0_covariance=variance * np.eye(len(theta0)))
    values = np.asarray(values, float).reshape(-1, len(theta0))
    return Member(
        SimpleNamespace(theta0=theta0), None, lambda: posterior, np.asarray(held, int), values
    )


def frame_of(values, weights):
    """What of the data in standard units counts."""
    return SimpleNamespace(weights=weights, outputs=SimpleNamespace(values=values))


def problem(theta0s, residuals, weights=None, **options):
    """Members whose held-out values are `theta0 + residual`; the rows in an odd order."""
    theta0s = np.asarray(theta0s, float).reshape(len(theta0s), -1)
    residuals = np.asarray(residuals, float).reshape(N, -1)
    rows = np.array_split(np.random.default_rng(9).permutation(N), len(theta0s))
    members = [
        member(theta0, held, theta0 + residuals[held])
        for theta0, held in zip(theta0s, rows, strict=True)
    ]
    values = np.empty_like(residuals)
    for theta0, held in zip(theta0s, rows, strict=True):
        values[held] = theta0 + residuals[held]
    weights = np.ones(N) if weights is None else weights
    data = sq.Dataset(np.arange(float(N)), residuals, **options)
    return members, frame_of(residuals, weights), data, values


def noise(seed=0, outputs=1):
    """Residuals with mean 0 exactly."""
    r = np.random.default_rng(seed).normal(size=(N, outputs))
    return r - r.mean(axis=0)


THETA0S = [0.1, 0.3, -0.2, 0.2]


@pytest.mark.parametrize("shift", [0.0, 0.05, 0.5, -3.0])
def test_every_formula(shift):
    weights = np.random.default_rng(1).uniform(0.5, 2.0, N)
    members, frame, data, values = problem(THETA0S, noise() + shift, weights)
    answer = combine(members, frame, data)
    plain = np.mean(THETA0S)
    held = weights @ values[:, 0] / weights.sum()
    (s,), dof = standard_error(values, weights)
    b = np.std(THETA0S, ddof=1)
    c = held - plain
    share = min(max((c**2 / s**2 - 4) / 5, 0.0), 1.0)
    spread = BETWEEN * b**2
    assert answer.plain[0] == pytest.approx(plain)
    assert answer.held_out.mean[0] == pytest.approx(held)
    assert answer.held_out.standard_error[0][0] == pytest.approx(s)
    residual = np.sqrt(weights @ (values[:, 0] - held) ** 2 / weights.sum())
    assert answer.held_out.rms[0] == pytest.approx(residual)
    assert answer.corrected[0] == pytest.approx(share)
    assert answer.mean[0] == pytest.approx(plain + share * c)
    assert answer.between[0] == pytest.approx(b)
    assert answer.covariance[0, 0] == pytest.approx(s**2 + spread)
    welch = (s**2 + spread) ** 2 / (s**4 / dof + spread**2 / (FOLDS - 1))
    assert answer.dof == pytest.approx(welch)


def test_corrections_within_their_noise_are_not_made_and_large_ones_are():
    members, frame, data, _ = problem(THETA0S, noise())
    near = combine(members, frame, data)
    # unequal folds of 20: exactly no correction, since the residuals have mean 0
    assert near.corrected[0] == 0.0 and near.mean[0] == near.plain[0]
    members, frame, data, _ = problem(THETA0S, noise() + 100.0)
    far = combine(members, frame, data)
    assert far.corrected[0] > 0.99 and far.mean[0] == pytest.approx(100.1, abs=0.01)


def test_networks_known_to_be_biased_are_corrected_whatever_the_noise():
    members, frame, data, values = problem(THETA0S, noise() + 0.05)
    doubtful, known = combine(members, frame, data), combine(members, frame, data, biased=True)
    assert doubtful.corrected[0] == 0.0 and known.corrected[0] == 1.0
    assert known.mean[0] == pytest.approx(values.mean())
    assert known.covariance[0, 0] == doubtful.covariance[0, 0]


def test_networks_that_agree_and_miss_nothing_have_no_variance():
    members, frame, data, _ = problem([0.5] * FOLDS, np.r_[np.zeros(N - 1), 0.0])
    answer = combine(members, frame, data)
    assert answer.covariance[0, 0] == 0.0 and answer.corrected[0] == 0.0
    assert answer.mean[0] == 0.5 and answer.dof > 0


def test_a_network_on_all_of_the_data_is_corrected_by_what_the_others_miss():
    """Its integral in the place of the average; correction and variance are those of the folds."""
    members, frame, data, values = problem(THETA0S, noise() + 0.5)
    full = member(0.7, [], [], variance=0.09)
    alone, answer = combine(members, frame, data), combine(members, frame, data, full)
    assert answer.plain[0] == 0.7
    correction = values.mean() - np.mean(THETA0S)
    assert answer.mean[0] == pytest.approx(0.7 + answer.corrected[0] * correction)
    np.testing.assert_array_equal(answer.corrected, alone.corrected)
    # the std counts how far the others are from it
    between = np.sqrt(np.sum((np.asarray(THETA0S) - 0.7) ** 2) / (len(THETA0S) - 1))
    assert answer.between[0] == pytest.approx(between)
    variance = answer.held_out.standard_error[0][0] ** 2 + BETWEEN * between**2
    assert answer.covariance[0, 0] == pytest.approx(variance)
    assert answer.held_out.mean == alone.held_out.mean and answer.held_out.folds == FOLDS


def test_several_outputs_are_corrected_one_by_one():
    residuals = noise(outputs=2) + np.array([0.0, 9.0])
    theta0s = np.column_stack([THETA0S, 2 * np.array(THETA0S)])
    members, frame, data, values = problem(theta0s, residuals)
    both = combine(members, frame, data)
    assert both.corrected[0] == 0.0 and both.corrected[1] > 0.99
    dofs = []
    for j in range(2):
        one = combine(*problem(theta0s[:, j], residuals[:, j])[:3])
        assert both.mean[j] == pytest.approx(one.mean[0])
        assert both.covariance[j, j] == pytest.approx(one.covariance[0, 0])
        dofs.append(one.dof)
    assert both.dof == pytest.approx(min(dofs), rel=0.2)  # one freedom of s for both outputs
    correlation = np.corrcoef(values.T)[0, 1]
    wanted = correlation * np.sqrt(both.covariance[0, 0] * both.covariance[1, 1])
    assert both.covariance[0, 1] == both.covariance[1, 0] == pytest.approx(wanted)


def test_groups_of_the_rows_are_counted():
    """Ten replicates that differ as a whole: s is the spread between them."""
    groups = np.repeat(np.arange(10), N // 10)
    residuals = np.random.default_rng(3).normal(size=10)[groups]
    members, frame, data, values = problem([0.0] * FOLDS, residuals, groups=groups)
    answer = combine(members, frame, data)
    (s,), _ = standard_error(values, np.ones(N), groups)
    assert answer.held_out.standard_error[0][0] == pytest.approx(s)
    free = combine(*problem([0.0] * FOLDS, residuals)[:3])
    assert s > 2 * free.held_out.standard_error[0][0]  # negative control


def test_points_that_are_no_sample_rely_on_the_posterior():
    members, frame, data, _ = problem(THETA0S, noise() + 5.0, sampled=False)
    answer = combine(members, frame, data)
    assert answer.held_out is None and answer.corrected[0] == 0.0
    assert answer.mean[0] == answer.plain[0] == pytest.approx(np.mean(THETA0S))
    assert answer.covariance[0, 0] == pytest.approx(0.04 + np.var(THETA0S, ddof=1))
    assert answer.dof == N - 1


@pytest.mark.parametrize("outputs", [1, 2])
def test_one_network_on_all_of_the_data_relies_on_the_posterior(outputs):
    data = sq.Dataset(np.arange(float(N)), np.ones((N, outputs)))
    alone = member(np.full(outputs, 0.3), [], [])
    answer = combine([alone], frame_of(data.fx, np.ones(N)), data)
    assert answer.between is None and answer.held_out is None
    np.testing.assert_allclose(answer.mean, 0.3)
    np.testing.assert_allclose(answer.covariance, 0.04 * np.eye(outputs))


def test_one_of_the_folds_has_no_spread_between_networks():
    """A quick look: one network and the points of its fold."""
    members, frame, data, values = problem(THETA0S, noise() + 0.5)
    answer = combine(members[:1], frame, data)
    rows = members[0].held
    (s,), dof = standard_error(values[np.sort(rows)], np.ones(len(rows)))
    assert answer.between is None and answer.dof == dof
    assert answer.covariance[0, 0] == pytest.approx(s**2)
    assert answer.held_out.mean[0] == pytest.approx(values[rows].mean())


def test_a_posterior_is_found_once_and_only_when_asked_for():
    found = []

    def find():
        found.append(1)
        return "posterior"

    lazy = Member(None, None, find, np.arange(0), np.zeros((0, 1)))
    assert not found
    assert lazy.posterior == lazy.posterior == "posterior" and found == [1]


@pytest.mark.parametrize("d", [1, 2, 5])
def test_the_model_is_the_average_of_its_members_with_their_spread(d):
    x = np.random.default_rng(d).standard_normal((30, d))
    data = sq.Dataset(x, 5 + 3 * np.cos(x[:, 0]), -x)
    frame = StandardFrame.fit(
        data, None, multiplier=Constant(), boundary=Boundary(), standardize="diagonal"
    )
    with jax.enable_x64(True):
        networks = [random_network(seed, dim=d, width=3) for seed in (0, 1)]
        posteriors = [laplace(network, frame.at_all(), flat=True) for network in networks]
    members = [
        Member(network, None, lambda own=own: own, np.arange(0), np.zeros((0, 1)))
        for network, own in zip(networks, posteriors, strict=True)
    ]
    points = Points(x[:4], -x[:4])
    (first, one), (second, two) = (NetworkModel(frame, [each])(points, True) for each in members)
    mean, std = NetworkModel(frame, members)(points, True)
    np.testing.assert_allclose(mean, (first + second) / 2, rtol=1e-12)
    between = ((first - second) / 2) ** 2
    np.testing.assert_allclose(std**2, (one**2 + two**2) / 2 + between, rtol=1e-9)
    assert NetworkModel(frame, members)(points, False)[1] is None
