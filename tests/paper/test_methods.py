"""Problems and methods by their names: as published, with the truths that are stored."""

import numpy as np
import pytest

import steinquad as sq
from steinquad.paper.methods import (
    COSTLY,
    DIMENSIONS,
    METHODS,
    build_method,
    build_problem,
    designs_of,
    takes_steps,
)
from steinquad.paper.training import Training
from steinquad.problems.goodwin import PARAMETERS, TRUTHS


@pytest.mark.parametrize("name", METHODS)
def test_methods_are_as_published(name):
    method = build_method(name, 7)
    if isinstance(method, sq.BSN):
        assert takes_steps(name) and method.folds == 1 and not method.flat
        assert method.optimizer == sq.LBFGS(max_steps=7, rtol=0.0)
        assert build_method(name).optimizer == sq.BSN.paper().optimizer
    if isinstance(method, sq.BayesianQuadrature):
        assert (method.mean, method.criterion) == ("zero", "likelihood")
    if name == "Default":
        assert isinstance(method, sq.Stack)
    if isinstance(method, Training):
        assert takes_steps(name) and method.optimizer.max_steps == 7
        assert method.stein == name.startswith("BSN")
        assert (method.activation == "relu") == name.endswith("ReLU")


def test_the_one_input_wind_farm_is_there():
    problem = build_problem("wind-farm-direction", 1)
    assert problem.measure.dim == 1 and problem.truth == pytest.approx(0.746083)


@pytest.mark.parametrize("name", COSTLY)
def test_problems_have_the_stored_truths(name):
    problem = build_problem(name, DIMENSIONS[name])
    assert problem.measure.dim == DIMENSIONS[name]
    if name == "wind-farm":
        assert problem.truth == sq.problems.wind_farm().truth
    else:
        column = PARAMETERS.index(name.removeprefix("goodwin-"))
        assert problem.truth == TRUTHS[0][column]
        w = np.log([[1.0, 3.0, 1.1, 0.5]])
        np.testing.assert_allclose(problem.integrand(w), np.exp(w[:, column]))


@pytest.mark.parametrize("d", [1, 2, 5])
def test_a_genz_family_has_any_number_of_coordinates(d):
    assert build_problem("genz-corner", d).measure.dim == d
    assert designs_of("genz-corner") == ("iid", "sobol", "grid")


def test_only_networks_of_the_paper_and_trainings_take_steps():
    steady = {"MC", "BQ", "BQ Matern 1/2", "Stein-CF", "Default"}
    assert {name for name in METHODS if not takes_steps(name)} == steady
    for name in steady:
        assert type(build_method(name, 7)) is type(build_method(name))


def test_points_are_those_that_a_problem_can_have():
    assert {name: designs_of(name) for name in COSTLY if name != "wind-farm"} == dict.fromkeys(
        [name for name in COSTLY if name != "wind-farm"], ("mala", "mala-warm")
    )
    assert designs_of("wind-farm") == ("iid",) and "sobol" in designs_of("wind-farm-direction")
