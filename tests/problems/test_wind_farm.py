"""The wind farm as a problem: its measure, its truths, every estimator, wrong input."""

import sys

import numpy as np
import pytest
import scipy.integrate
from scipy.special import ndtr

import steinquad as sq
from steinquad.problems.wind_farm import ThrustCoefficient, truth_of, wind_farm
from steinquad.problems.wind_farm_inputs import (
    MEANS,
    NAMES,
    VARIANCES,
    WEIGHTS,
    direction_distribution,
)
from steinquad.problems.wind_farm_layout import COARSE_GRID

VARIANTS = [("whole", "paper"), ("components", "paper"), ("whole", "code")]


@pytest.mark.parametrize(("truncation", "turbulence"), VARIANTS)
def test_score_against_finite_differences(truncation, turbulence):
    measure = wind_farm(direction_truncation=truncation, turbulence=turbulence).measure
    x = measure.sample(20, seed=3)
    score = measure.score(x)
    for j in range(7):
        step = np.zeros(7)
        step[j] = 1e-4 * x[:, j].std()
        slope = (measure.log_density(x + step) - measure.log_density(x - step)) / (2 * step[j])
        np.testing.assert_allclose(slope, score[:, j], rtol=1e-5, atol=1e-6 / x[:, j].std())


@pytest.mark.parametrize("truncation", ["whole", "components"])
def test_the_direction_is_normalized_and_cut_where_it_says(truncation):
    distribution = direction_distribution(truncation)

    def density(t):
        return np.exp(distribution.log_density(np.array([[t]])))[0]

    total, _ = scipy.integrate.quad(density, 0.0, 45.0, epsabs=1e-12)
    assert total == pytest.approx(1.0, abs=1e-10)
    assert np.isinf(distribution.log_density(np.array([[-0.1], [45.1]]))).all()
    # The density by hand: one cut of the sum, or a cut of each of its parts.
    t, scale = 17.0, np.sqrt(VARIANCES)
    parts = np.exp(-((t - np.array(MEANS)) ** 2) / (2 * scale**2)) / (scale * np.sqrt(2 * np.pi))
    masses = ndtr((45 - np.array(MEANS)) / scale) - ndtr(-np.array(MEANS) / scale)
    weights = np.array(WEIGHTS) / sum(WEIGHTS)
    whole = weights @ parts / (weights @ masses)
    want = whole if truncation == "whole" else weights @ (parts / masses)
    assert density(t) == pytest.approx(want, rel=1e-12)


def test_effective_weights_of_the_mixture():
    law = direction_distribution("whole").factors()
    assert law is not None
    np.testing.assert_allclose(law.weights, [0.2273, 0.5681, 0.2046], atol=5e-5)


def test_problem_is_complete():
    problem = wind_farm()
    assert problem.name == "wind-farm-p22-whole-paper-all"
    assert problem.measure.names == NAMES and "cdf" in problem.measure.provides
    assert abs(problem.truth - 0.72928) < 3 * np.hypot(1e-5, truth_of(problem)[1])
    assert "standard error" in problem.source
    assert np.isnan(wind_farm(physics="p26", direction_truncation="components").truth)


@pytest.mark.slow
def test_the_truth_of_one_input_by_quadrature():
    problem = wind_farm(inputs="direction")
    nodes, weights = np.polynomial.legendre.leggauss(4)
    # f jumps a little where turbines enter the farm and is steep near 0: short pieces there.
    edges = 45.0 * np.linspace(0.0, 1.0, 51) ** 1.5
    lengths = np.diff(edges)[:, None]
    x = (edges[:-1, None] + lengths * (1 + nodes) / 2).reshape(-1, 1)
    density = np.exp(problem.measure.log_density(x))
    total = (lengths * weights / 2).reshape(-1) @ (density * problem.integrand(x))
    assert total == pytest.approx(problem.truth, abs=1e-5)


@pytest.fixture(scope="module")
def cheap():
    """f on the coarse grid, and as data."""
    problem = wind_farm()
    x = problem.measure.sample(60, seed=1)
    fx = ThrustCoefficient(grid=COARSE_GRID)(x)
    return problem.measure, sq.Dataset(x, fx)


@pytest.mark.parametrize(
    "method",
    [
        sq.MonteCarlo(),
        sq.Polynomial(),
        sq.BayesianQuadrature(),
        sq.ControlFunctional(),
        sq.BSN(width=8, activation="tanh", folds=2, optimizer=sq.GaussNewton(max_steps=10)),
        sq.Choose([sq.MonteCarlo(), sq.Polynomial()]),
    ],
    ids=lambda method: type(method).__name__,
)
def test_every_estimator_runs(cheap, method):
    measure, data = cheap
    est = sq.estimate(data, measure=measure, method=method)
    assert est.std > 0 and np.isfinite(est.std)
    assert abs(est.mean - 0.729) < 0.05  # sd(f) is 0.12: three standard errors of Monte Carlo


def test_progress_is_reported():
    seen = []
    f = ThrustCoefficient(grid=COARSE_GRID)
    values = f(wind_farm().measure.sample(3, seed=0), progress=lambda *step: seen.append(step))
    assert [step[:2] for step in seen] == [(1, 3), (2, 3), (3, 3)]
    assert [step[2] for step in seen] == values.tolist()


POINT = [1.33, 0.38, 4e-3, 0.1, 20.0, 100.0, 100.0]


def changed(**values):
    return [[values.get(name, v) for name, v in zip(NAMES, POINT, strict=True)]]


@pytest.mark.parametrize(
    ("x", "words"),
    [
        (
            changed(direction=50.0),
            r"direction = 50 in row 0, outside its physical range \[0, 45\]",
        ),
        (changed(ct_prime=0.0), r"ct_prime = 0 in row 0, outside its physical range \(0, 4\)"),
        (changed(ct_prime=4.0), "ct_prime = 4"),
        (changed(turbulence=-0.01), "turbulence = -0.01"),
        (changed(w1=-1e-9), "w1 = -1e-09"),
        (changed(hub_height=60.0, diameter=150.0), "rotor touches the ground"),
        (changed(turbulence=np.nan), "x contains NaN"),
        (changed(diameter=np.inf), "x contains inf"),
        ([POINT[:6]], r"x has shape \(1, 6\); pass points of shape \(n, 7\)"),
        (POINT, r"x has shape \(7,\); pass points of shape \(n, 7\)"),
        ([["a"] * 7], "x is not numeric"),
    ],
)
def test_wrong_points(x, words):
    with pytest.raises(sq.InputError, match=words):
        wind_farm().integrand(x)


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        ({"physics": "p25"}, "physics is 'p25'; choose one of p22, p26."),
        ({"direction_truncation": "half"}, "choose one of whole, components"),
        ({"turbulence": None}, "turbulence is None; choose one of paper, code"),
        ({"inputs": "two"}, "choose one of all, direction"),
        ({"simulator": "fuga"}, "choose one of jax, pywake"),
    ],
)
def test_wrong_choices(choice, words):
    with pytest.raises(sq.InputError, match=words):
        wind_farm(**choice)


def test_without_pywake_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "py_wake", None)
    with pytest.raises(sq.InputError, match=r"pip install 'steinquad\[wind\]'"):
        wind_farm(simulator="pywake")
    assert wind_farm().integrand.simulator == "jax"
