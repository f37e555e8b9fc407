"""To a tolerance: keeps points, stops when it may, says so when it cannot, loses nothing."""

import numpy as np
import numpyro.distributions as dist
import pytest

import steinquad as sq


class Counted:
    """An integrand that remembers every point it was asked for."""

    def __init__(self, f, fail_after=None):
        self.f, self.points, self.fail_after = f, [], fail_after

    def __call__(self, x):
        if (
            self.fail_after is not None
            and len(np.concatenate([*self.points, x])) > self.fail_after
        ):
            raise RuntimeError("simulator died")
        self.points.append(x)
        return self.f(x)


def normal(d):
    return dist.Normal(0, 1).expand([d]).to_event(1)


def rough(x):
    return 1 + np.abs(x[:, 0])


@pytest.mark.parametrize("rtol", [4e-3, pytest.param(2e-3, marks=pytest.mark.slow)])
def test_stops_at_the_tolerance_without_repeating_a_point(rtol):
    f = Counted(rough)
    est = sq.integrate(f, normal(1), rtol=rtol, max_n=20_000, method=sq.Polynomial(order=3), n=100)
    assert est.std <= rtol * est.mean and est.status.code == "converged"
    assert abs(est.mean - 1 - np.sqrt(2 / np.pi)) < 4 * est.std
    points = np.concatenate(f.points)
    assert len(points) == est.n == len(np.unique(points)) and len(f.points) > 1
    assert est.check is not None


@pytest.mark.parametrize(("design", "first"), [(None, 256), (sq.designs.IID(), 200)])
def test_the_first_round_has_as_many_points_as_is_said(design, first):
    f = Counted(rough)
    sq.integrate(f, normal(2), rtol=0.5, method=sq.Polynomial(order=2), design=design)
    assert [len(x) for x in f.points] == [first]
    assert f"{first}" in str(sq.integrate.__doc__)


def test_says_when_it_runs_out_of_points():
    est = sq.integrate(rough, normal(1), rtol=1e-6, max_n=500, method=sq.MonteCarlo())
    assert est.status.code == "max_n" and est.n == 500
    assert "rtol=1e-06" in est.status.message and "max_n=" in est.status.message


def test_a_mean_of_zero_has_no_share():
    """An event that was not seen, an odd f, and a std over the mean that overflows."""
    for f in (lambda x: x[:, 0] > 9, lambda x: x[:, 0] ** 3):
        est = sq.integrate(f, normal(1), rtol=0.01, max_n=600, method=sq.MonteCarlo())
        assert est.status.code == "max_n" and est.n == 600
        assert "not told apart from 0" in est.status.message and "times" not in est.status.message
    two = sq.integrate(
        lambda x: np.stack([9 + x[:, 0], x[:, 0] > 9], 1),
        normal(1),
        **{"rtol": 0.01, "max_n": 300, "method": sq.MonteCarlo()},
    )
    assert "the mean of output 1, 0 +- 0.00" in two.status.message
    assert "output 1 of f is 0 at all 300 points" in two.status.message


@pytest.mark.parametrize(("max_n", "n"), [(1000, 1000), (700, 512), (1024, 1024), (2100, 2048)])
def test_a_sequence_takes_the_rest_where_that_is_worth_a_round(max_n, n):
    est = sq.integrate(rough, normal(1), rtol=1e-9, max_n=max_n, method=sq.Polynomial(order=3))
    assert est.n == n and est.status.code == "max_n"
    told = f"the next round takes {2 * n} points, allow them with max_n={2 * n}, or accept"
    assert (told in est.status.message) == (n < max_n)


def test_a_failing_integrand_keeps_what_was_computed():
    f = Counted(rough, fail_after=300)
    with pytest.raises(RuntimeError, match="simulator died") as caught:
        sq.integrate(f, normal(1), rtol=1e-6, max_n=5000, method=sq.MonteCarlo(), n=100)
    assert "evaluations before this one" in caught.value.__notes__[0]
    kept = caught.value.data
    assert kept.n == len(np.concatenate(f.points))
    assert np.isfinite(sq.estimate(kept, method=sq.MonteCarlo()).mean)


def test_the_default_method_and_replicates_work_too():
    est = sq.integrate(lambda x: np.exp(x[:, 0]), normal(2), rtol=1e-3, max_n=3000)
    assert est.std <= 1e-3 * est.mean and abs(est.mean - np.exp(0.5)) < 4 * est.std
    est = sq.integrate(
        lambda x: np.exp(x[:, 0]), normal(2), rtol=3e-3, n=256, method=sq.QuasiMonteCarlo()
    )
    assert est.std <= 3e-3 * est.mean and abs(est.mean - np.exp(0.5)) < 5 * est.std


def test_replicates_are_continued_not_redrawn():
    f = Counted(lambda x: np.exp(x[:, 0]))
    est = sq.integrate(f, normal(2), rtol=1e-9, n=64, max_n=1100, method=sq.QuasiMonteCarlo())
    assert est.n == 1024 and est.status.code == "max_n" and "max_n=2048" in est.status.message
    assert len(np.concatenate(f.points)) == 1024
    whole = sq.integrate(f.f, normal(2), n=1024, method=sq.QuasiMonteCarlo())
    assert whole.mean == est.mean and whole.std == est.std


@pytest.mark.slow
def test_a_network_starts_where_the_last_one_ended():
    steps = []
    for rtol in (None, 1e-9):
        method = sq.BSN(folds=2, optimizer=sq.GaussNewton(max_steps=40))
        options = {"n": 300} if rtol is None else {"n": 150, "rtol": rtol, "max_n": 300}
        est = sq.integrate(rough, normal(1), method=method, **options)
        assert est.n == 300
        steps.append(est)
    assert abs(steps[0].mean - steps[1].mean) < 4 * np.hypot(steps[0].std, steps[1].std)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rtol": 0}, "rtol is 0"),
        ({"rtol": "small"}, "rtol is 'small'"),
        ({"rtol": 0.1, "max_n": 1}, "max_n is 1"),
        ({"n": 50, "design": "sobol"}, "design is 'sobol'"),
    ],
)
def test_bad_input(options, message):
    with pytest.raises(sq.InputError, match=message):
        sq.integrate(rough, normal(1), **options)
    with pytest.raises(sq.InputError, match="leave rtol out"):
        sq.integrate(rough, sq.Draws([0.0, 1.0], [0.0, -1.0]), rtol=0.1)
