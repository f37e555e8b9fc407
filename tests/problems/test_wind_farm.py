"""The wind farm as a problem: its measure, its truths, every estimator, wrong input."""

import numpy as np
import pytest

import steinquad as sq
from steinquad.problems.wind_farm import ThrustCoefficient, truth_of, wind_farm
from steinquad.problems.wind_farm_inputs import NAMES
from steinquad.problems.wind_farm_layout import COARSE_GRID


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
        sq.Stack([sq.MonteCarlo(), sq.Polynomial()]),
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
