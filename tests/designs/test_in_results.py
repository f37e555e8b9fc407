"""What a design has to say reaches the estimate."""

import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

import steinquad as sq


def test_chains_that_disagree_make_the_estimate_suspect():
    """Two modes 20 apart, chains started in each: R-hat says so and the result repeats it."""

    def log_density(x):
        return jnp.logaddexp(-0.5 * (x[0] - 10) ** 2, -0.5 * (x[0] + 10) ** 2)

    design = sq.designs.MALA(chains=2, warmup=50, step_size=0.5, start=np.array([[-10.0], [10.0]]))
    est = sq.integrate(
        lambda x: x[:, 0],
        sq.LogDensity(log_density, dim=1),
        n=200,
        design=design,
        method=sq.MonteCarlo(),
    )
    assert est.status.code == "suspect" and "R-hat" in est.status.message
    assert np.max(est.stats["design"]["rhat"]) > 1.01


@pytest.mark.slow
def test_default_on_nuts_draws_beats_their_average():
    """A correlated, skewed posterior, d = 2: mean of x1 known from the conditional."""

    def log_density(x):  # x1 ~ N(0, 1), x2 | x1 ~ N(0.5 x1^2, 0.5^2)
        return -0.5 * x[0] ** 2 - 2.0 * (x[1] - 0.5 * x[0] ** 2) ** 2

    measure = sq.LogDensity(log_density, dim=2)
    sample = sq.designs.NUTS(chains=2, warmup=300).draw(
        measure, 600, seed=1, progress=lambda *_: None
    )
    data = sq.Dataset(sample.x, sample.x[:, 1], sample.score, groups=sample.groups)
    plain = sq.estimate(data, method=sq.MonteCarlo())
    better = sq.estimate(data, method=sq.Choose([sq.MonteCarlo(), sq.ControlFunctional()]))
    assert better.method == "Choose: CF"
    low, high = better.interval(0.999)
    assert low < 0.5 < high and better.std < 0.2 * plain.std
    assert abs(better.mean - 0.5) < 0.2 * abs(plain.mean - 0.5)
    assert better.check is not None and better.check.folds == 5


def test_sobol_points_and_grids_reach_any_method():
    normal = dist.Normal(0, 1).expand([2]).to_event(1)
    for design in (sq.designs.Sobol(), sq.designs.Grid(width=4.0)):
        est = sq.integrate(
            lambda x: np.cos(x[:, 0]) + x[:, 1] ** 2,
            normal,
            n=256,
            design=design,
            method=sq.Polynomial(features="score", order=8),
        )
        assert abs(est.mean - np.exp(-0.5) - 1) < 1e-2 and est.status.code == "converged"
