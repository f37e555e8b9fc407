"""PyMC models: value transforms there and back, scores against densities written by hand."""

import warnings

import four_supports as four
import numpy as np
import pytest

import steinquad as sq
from steinquad import InputError
from steinquad.chains.targets.pymc import _vectorized, _without_compiler

pm = four.import_pymc()

ORDER = ["mu", "sigma", "r", "theta", "B"]


@pytest.fixture
def target(pymc_target):
    return pymc_target


def test_scores_are_those_of_the_density_written_by_hand(target):
    points = target.unconstrain(four.draws(5))
    by_hand = four.scores_by_hand(points, ORDER, four.log_ratios)
    np.testing.assert_allclose(target.score(points), by_hand, rtol=1e-10, atol=1e-10)


def test_draws_come_back_from_the_value_variables(target):
    draws = four.draws(5)
    back = target._constrain(target._split(target.unconstrain(draws)))
    for (name, values), returned in zip(draws.items(), back, strict=True):
        np.testing.assert_allclose(returned, values, rtol=1e-12, err_msg=name)


def test_correlations_order_and_bounds_go_through_the_models_transforms():
    with pm.Model() as model:
        pm.LKJCholeskyCov("chol", n=3, eta=2.0, sd_dist=pm.Exponential.dist(1.0))
        pm.Normal("cut", np.arange(3.0), 2.0, transform=pm.distributions.transforms.ordered)
        a = pm.Exponential("a", 1.0)
        pm.Uniform("b", 0.0, a)
        pm.ZeroSumNormal("zero", shape=4)
    target = sq.targets.PyMC(model)
    rng = np.random.default_rng(0)
    z = rng.normal(size=(3, target.dim))
    draws = dict(zip(target._shapes, target._constrain(target._split(z)), strict=True))
    np.testing.assert_allclose(target.unconstrain(draws), z, rtol=1e-9, atol=1e-9)
    with _without_compiler():
        log_density = _vectorized(model.value_vars, [model.logp(jacobian=True)])
    moves = 1e-5 * np.concatenate([np.eye(target.dim), -np.eye(target.dim)])
    moved = (z[:, None] + moves).reshape(-1, target.dim)
    up, down = np.split(log_density(target._split(moved))[0].reshape(3, -1), 2, axis=1)
    np.testing.assert_allclose(target.score(z), (up - down) / 2e-5, rtol=1e-6, atol=1e-6)


def test_wrong_models_and_draws_are_refused(target):
    with pm.Model() as mixture:
        k = pm.Bernoulli("k", 0.5)
        pm.Normal("y", 1.0 * k, 1.0, observed=1.0)
    with pytest.raises(InputError, match="discrete variable 'k', so its posterior has no score"):
        sq.targets.PyMC(mixture)
    with pytest.raises(InputError, match="no free variables"):
        sq.targets.PyMC(pm.Model())
    with pytest.raises(InputError, match="model is a str; pass a pymc.Model"):
        sq.targets.PyMC("model")
    draws = four.draws(5)
    missing = {name: values for name, values in draws.items() if name != "r"}
    with pytest.raises(InputError, match="no variable 'r', which the model samples"):
        target.unconstrain(missing)
    with pytest.raises(InputError, match=r"draws of 'B' have shape \(5, 3\)"):
        target.unconstrain({**draws, "B": draws["B"][:, 0]})
    outside = {"sigma": -draws["sigma"], "r": draws["r"] + 9.0, "theta": 2 * draws["theta"]}
    for name, values in outside.items():
        with pytest.raises(InputError, match=f"draws of '{name}' leave the support.*draw 0"):
            target.unconstrain({**draws, name: values})
    with pytest.raises(InputError, match="on the edge of the support.*first draw 0"):
        target.unconstrain({**draws, "sigma": np.zeros(5)})


def test_one_line_from_its_own_output():
    """A normal mean with known variance: the better mean is that of the posterior, exactly."""
    y = np.array([0.3, 1.9, 0.7])
    with warnings.catch_warnings(), pm.Model() as model:
        warnings.simplefilter("ignore")  # of few draws and of its own dependencies
        mu = pm.Normal("mu", 0.0, 1.0)
        pm.Normal("y", mu, np.float64(2.0), observed=y)
        drawn = pm.sample(
            50, tune=50, chains=2, cores=1, progressbar=False, random_seed=0, step=pm.Metropolis()
        )
    result = sq.posterior_expectation(drawn, score=model)
    exact = y.sum() / 4 / (1 + len(y) / 4)
    assert abs(result["mu"].mean - exact) < 1e-8 < abs(result["mu"].plain - exact)
    assert "posterior_expectation" in result.to_datatree().children
