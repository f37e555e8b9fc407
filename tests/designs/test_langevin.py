"""One transition: the measure stays invariant, and proposals that fail are counted."""

import gc
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats as st
from blackjax.mcmc.mala import MALAState, build_kernel
from sound_chains import N, excess

from steinquad.designs import MALA, TruncatedMALA, _langevin
from steinquad.designs._langevin import langevin_kernel
from steinquad.designs._target import PROGRAMS
from steinquad.measures import LogDensity


def quantile_excess():
    """Of a standard normal, with a drift that is cut at nearly every point."""
    measure = LogDensity(lambda x: -x @ x / 2, 1)
    design = TruncatedMALA(warmup=50, thin=3, step_size=0.8, truncation=0.3, start=np.zeros(4))
    sample = design.draw(measure, N, seed=2)
    p = np.array([0.1, 0.25, 0.5, 0.75, 0.9])
    below = (sample.x <= st.norm().ppf(p)).astype(float)
    return excess(below, p, sample.groups)


def test_truncated_drift_keeps_the_measure():
    before = len(PROGRAMS)
    assert quantile_excess() < 1
    gc.collect()
    assert len(PROGRAMS) <= before  # compiled programs do not keep a measure alive


def test_without_the_metropolis_correction_it_does_not(monkeypatch):
    def always(key, log_p, state, new_state):
        return new_state, (True, 1.0, None)

    monkeypatch.setattr(_langevin, "static_binomial_sampling", always)
    assert quantile_excess() > 1.5


@pytest.mark.parametrize("kind", [MALA, TruncatedMALA], ids=lambda kind: kind.__name__)
def test_proposals_without_a_density_are_counted(kind):
    """Every one of them where there is density only at the start (none for a normal, above)."""
    point = LogDensity(lambda x: jnp.where(jnp.abs(x[0]) < 1e-9, 0.0 * x[0], jnp.nan), 1)
    design = kind(chains=2, warmup=10, thin=2, step_size=1.0, start=np.zeros(2))
    sample = design.draw(point, 40, seed=0)
    assert sample.stats["failed_proposals"] == 2 * (10 + 2 * 20) and np.all(sample.x == 0)


@pytest.mark.parametrize("d", (1, 2, 5))
def test_without_a_limit_it_is_the_kernel_of_blackjax(d):
    def log_density(x):
        return -jnp.sum(x**4) / 4

    with jax.enable_x64(True):
        position = jnp.arange(1.0, d + 1)
        state = MALAState(position, *jax.value_and_grad(log_density)(position))
        for seed in range(4):
            key = jax.random.key(seed)
            theirs, their_info = build_kernel()(key, state, log_density, 0.02)
            ours, info = langevin_kernel(math.inf)(key, state, log_density, 0.02)
            far, _ = langevin_kernel(1e9)(key, state, log_density, 0.02)
            for other in (ours, far):
                np.testing.assert_allclose(other.position, theirs.position, rtol=1e-12)
            assert float(info.acceptance_rate) == pytest.approx(
                float(their_info.acceptance_rate), rel=1e-10
            )
            assert int(info.failed) == 0
