"""What all designs have in common."""

import numpy as np
import numpyro.distributions as dist
import pytest
import scipy.stats as st

import steinquad as sq
from steinquad.designs import IID, Design, Grid, Sample, Sobol
from steinquad.measures import Product

MIXED = Product({"a": st.norm(3.0, 2.0), "b": st.uniform(), "c": st.gamma(2.0)})


@pytest.mark.parametrize("design", [IID(), Sobol(), Sobol(replicates=2), Grid()])
def test_designs_follow_the_protocol(design):
    assert isinstance(design, Design)
    sample = design.draw(MIXED, 64, seed=3)
    assert isinstance(sample, Sample) and sample.notes == ()
    assert sample.x.shape == (64, 3) and sample.x.dtype == np.float64
    assert MIXED.support.contains(sample.x).all() and np.isfinite(MIXED.score(sample.x)).all()
    assert sample.sampled == (design.name != "Grid")
    again = design.draw(MIXED, 64, seed=3)
    np.testing.assert_array_equal(sample.x, again.x)


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


def test_joined_samples_have_groups_of_their_own():
    x, score = np.arange(6.0).reshape(6, 1), np.ones((6, 1))
    groups = np.array([0, 0, 0, 1, 1, 1])
    one = Sample(x, score, groups=groups, notes=("too short",))
    two = Sample(x + 6, None, groups=groups, stats={"rhat": 1.0})
    both = Sample.joined([one, two, two])
    np.testing.assert_array_equal(both.x[:12, 0], np.arange(12))
    np.testing.assert_array_equal(both.groups, np.repeat(np.arange(6), 3))
    assert both.score is None and both.notes == () and both.stats == {"rhat": 1.0}
    again = Sample.joined([one, one])
    assert again.score is not None and again.score.shape == (12, 1) and again.weights is None
    assert Sample.joined([one]) is one and Sample.joined([one, Sample(x)]).groups is None


@pytest.mark.parametrize(("block", "first"), [(1, 200), (3, 201), (300, 300)])
def test_the_first_round_is_of_whole_blocks(block, first):
    design = sq.designs.MALA(chains=block)
    assert design.first_round(10_000) == first and design.first_round(100) == 100
