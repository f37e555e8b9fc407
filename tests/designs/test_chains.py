"""What is said of chains: R-hat, effective size, and those that do not move."""

import jax.numpy as jnp
import numpy as np
import pytest
from sound_chains import NORMAL, N

import steinquad as sq
from steinquad.designs import MALA
from steinquad.designs.chains import convergence, stuck
from steinquad.measures import LogDensity


@pytest.mark.parametrize("d", (1, 2, 5))
def test_numbers_do_not_depend_on_units(d):
    x = np.random.default_rng(d).normal(size=(4, 50, d))
    names = [f"x{i}" for i in range(d)]
    stats, _ = convergence(x, names)
    tiny, _ = convergence(2.0**-130 * x, names)  # exact: no ranks change
    for key in ("rhat", "ess"):
        np.testing.assert_allclose(tiny[key], stats[key], rtol=1e-12)
    assert np.all(stats["ess"] > 80) and np.all(np.abs(stats["rhat"] - 1) < 0.1)


def test_a_drift_of_one_chain_is_seen_in_its_halves():
    walk = np.linspace(0.0, 5.0, 101)[None, :, None] + np.random.default_rng(0).normal(
        size=(1, 101, 1)
    )
    stats, (note,) = convergence(walk, ["level"])
    assert stats["rhat"][0] > 1.1 and "in coordinate level, so the chains have not mixed" in note
    halves, _ = convergence(walk[:, 1:].reshape(2, 50, 1), ["level"])
    assert halves["rhat"] == stats["rhat"]


def test_constants_and_few_draws_have_no_number():
    x = np.random.default_rng(0).normal(size=(2, 20, 2))
    x[:, :, 1] = 3.0
    stats, _ = convergence(x, ["a", "b"])
    assert np.isfinite(stats["rhat"][0]) and np.isnan(stats["rhat"][1])
    few, notes = convergence(x[:, :7], ["a", "b"])
    assert np.isnan(few["ess"]).all() and notes == []


def test_chains_that_stand_still_are_named():
    x = np.random.default_rng(0).normal(size=(9, 4, 2))
    assert stuck(x) == [] and stuck(x[:, :1]) == []
    x[3] = x[3, 0]
    assert stuck(x)[0].startswith("chain 3 did not move (4 identical draws)")
    assert stuck(np.zeros((9, 4, 2)))[0].startswith("chains 0, 1, 2, 3, 4, ... did not move")


def test_a_huge_step_does_not_move():
    sample = MALA(step_size=1e8).draw(NORMAL, N, seed=1)
    assert "chains 0, 1, 2, 3 did not move (1000 identical draws)" in sample.notes[0]
    assert np.all(np.isnan(sample.stats["rhat"]) | (sample.stats["rhat"] > 1.01))


def test_chains_in_different_modes_have_a_high_rhat():
    def two_modes(x):
        return jnp.logaddexp(-((x[0] - 8) ** 2) / 2, -((x[0] + 8) ** 2) / 2) - x[1] ** 2 / 2

    measure = LogDensity(two_modes, 2, names=["mode", "other"])
    start = [[8.0, 0.0], [8.0, 0.0], [-8.0, 0.0], [-8.0, 0.0]]
    apart = MALA(start=start, warmup=300).draw(measure, N, seed=0)
    assert len(apart.notes) == 1
    assert apart.notes[0].startswith("R-hat is ") and "coordinate mode" in apart.notes[0]
    together = MALA(start=np.abs(start), warmup=300).draw(measure, N, seed=0)
    assert not any("coordinate mode" in note for note in together.notes)


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
