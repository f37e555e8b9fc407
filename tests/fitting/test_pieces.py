"""Integrands that jump: networks of their own in the boxes between the jumps."""

import re
from dataclasses import dataclass, replace

import numpy as np
import numpyro.distributions as dist
import pytest
import scipy.stats as st
from scipy.special import ndtr

import steinquad as sq
from steinquad.dataset import Dataset
from steinquad.fitting.jumps import Cut
from steinquad.fitting.pieces import Partition, between_points, fit_by_pieces
from steinquad.fitting.shapes import Limits
from steinquad.measures import as_measure


@dataclass(frozen=True)
class Pieces(sq.Method):
    """Another method in every box."""

    method: sq.Method
    name: str = "Pieces"

    def fit(self, data, measure, context):
        def fit_box(b, part):
            own = replace(context, seed=context.seed + b)
            return self.method.checked_fit(part, None, own)

        return fit_by_pieces(Partition.of(data, measure), data, fit_box)


def normal(d: int):
    return dist.Normal(0, 1).expand([d]).to_event(1)


def step(x):
    """E = e^(1/2) P[Z < 0.3 - 1] + 2 P[Z > 0.3] in the first coordinate."""
    return np.where(x[:, 0] < 0.3, np.exp(x[:, 0]), 2.0)


TRUTH = float(np.exp(0.5) * ndtr(-0.7) + 2 * ndtr(-0.3))


@pytest.mark.parametrize(
    ("d", "n", "method"),
    [
        (2, 400, sq.BSN(folds=2, limits=Limits(narrow=8))),
        pytest.param(2, 400, sq.BSN(), marks=pytest.mark.slow),
        pytest.param(5, 2000, sq.BSN(), marks=pytest.mark.slow),
    ],
    ids=["small", "default", "many"],
)
def test_a_step_is_integrated_box_by_box(d, n, method):
    calls = []
    est = sq.integrate(
        step,
        normal(d),
        n=n,
        method=method,
        design=sq.designs.IID(),  # of some Sobol points one network knows as much as two
        progress=lambda *call: calls.append(call),
    )
    assert est.stats["boxes"] == 2 and est.stats["cuts"][0][0] == "x0"
    assert est.status.code in ("converged", "max_steps")
    assert abs(est.mean - TRUTH) < 3 * est.std
    # The jump is known to a slab of a few points of n; Monte Carlo has 0.6 / sqrt(n).
    assert est.std < (0.3 if d == 5 else 0.1) * 0.6 / np.sqrt(n)
    assert est.check is not None and len(est.fit.history["theta0"]) == len(est.fit.history["loss"])
    assert np.array_equal(est.fit.history["loss"], [loss for _, _, loss in calls])
    assert [done for done, _, _ in calls] == list(range(1, len(calls) + 1))
    assert all(done <= total for done, total, _ in calls) and est.stats["steps"] == len(calls)
    cut = est.stats["cuts"][0][1]
    sides = np.array([[cut - 1e-6] * d, [cut + 1e-6] * d])
    left, right = est.predict(x=sides)
    assert left == pytest.approx(np.exp(0.3), abs=0.05) and right == pytest.approx(2.0, abs=0.05)


def test_the_intervals_cover():
    # 20 seeds; a 95 % interval misses more than four of them once in 400.
    missed = 0
    for seed in range(20):
        x = np.random.default_rng(seed).standard_normal((400, 1))
        data = Dataset(x, (x[:, 0] > 0.2) * 3.0, score=-x)
        est = sq.estimate(data, measure=normal(1), method=Pieces(sq.MonteCarlo()))
        assert est.std > 0  # f is known in both boxes, and where it jumps is not
        low, high = est.interval(0.95)
        missed += not low < 3 * ndtr(-0.2) < high
    assert missed <= 4


def test_shares_and_means_make_up_the_answer():
    x = np.random.default_rng(1).standard_normal((1000, 2))
    data = Dataset(x, np.stack([step(x), x[:, 1]], axis=1), score=-x)
    measure = as_measure(normal(2))
    partition = Partition.of(data, measure)
    boxes, (cut,) = partition.boxes, partition.cuts
    est = sq.estimate(data, measure=normal(2), method=Pieces(sq.MonteCarlo()))
    by_hand = sum(box.share * data.fx[box.rows].mean(axis=0) for box in boxes)
    np.testing.assert_allclose(est.mean, by_hand, rtol=1e-14, atol=1e-15)
    within = [data.fx[box.rows].var(axis=0, ddof=1) / len(box.rows) for box in boxes]
    variance = sum(box.share**2 * own for box, own in zip(boxes, within, strict=True))
    np.testing.assert_allclose(est.std**2, variance + (cut.share * cut.jump) ** 2 / 12)


def test_only_where_the_shares_of_boxes_are_known():
    x = np.random.default_rng(0).standard_normal((400, 1))
    measure, data = as_measure(normal(1)), Dataset(x, step(x), score=-x)
    assert Partition.of(data, measure) is not None
    unknown = sq.LogDensity(lambda x: -0.5 * (x**2).sum(), dim=1)
    for other, target in (
        (data, None),
        (data, as_measure(unknown)),
        (Dataset(x, step(x), score=-x, weights=np.full(400, 2.0)), measure),
        (Dataset(x, step(x), score=-x, noise=0.1), measure),
        (Dataset(x, step(x), score=-x, groups=np.arange(400) // 100), measure),
        (Dataset(x, np.cos(x[:, 0]), score=-x), measure),
    ):
        assert Partition.of(other, target) is None


def test_one_network_where_that_is_asked_for_or_anything_is_given():
    short, small = sq.GaussNewton(max_steps=15), Limits(narrow=4)
    for options in ({"pieces": "one"}, {"optimizer": short}):
        method = sq.BSN(members=1, limits=small, **options)
        est = sq.integrate(step, normal(1), n=200, method=method)
        assert "boxes" not in est.stats
    with pytest.raises(sq.InputError, match="pieces is 'many'; choose one of auto, one"):
        sq.BSN(pieces="many")


def test_a_kink_that_is_taken_for_a_jump_does_not_widen_the_std():
    x = np.random.default_rng(3).standard_normal((300, 2))
    taken = Cut(0, 0.2, share=0.1, least=1e-2, jump=np.array([2.0]))
    below, above = x[x[:, 0] < 0.2, 0].max(), x[x[:, 0] >= 0.2, 0].min()

    def kink(x):
        return np.abs(x[:, :1] - 0.2)

    def jump(x):
        return 3.0 * (x[:, :1] > 0.2)

    moved = abs((above - 0.2) - (0.2 - below))
    assert between_points([taken], x, kink) == pytest.approx((1e-2 * moved) ** 2 / 12)
    assert between_points([taken], x, jump) == pytest.approx((1e-2 * 3.0) ** 2 / 12)
    assert between_points([], x, jump) == 0.0


@pytest.mark.parametrize(
    "seed", [0, pytest.param(1, marks=pytest.mark.slow), pytest.param(5, marks=pytest.mark.slow)]
)
def test_one_network_does_not_know_either_where_f_jumps(seed):
    # No point of the first fold is near the jump: the network seems to be perfect.
    x = np.random.default_rng(seed).random((400, 1))
    data = Dataset(x, (x[:, 0] > 0.7) + x[:, 0] ** 2)
    est = sq.estimate(data, measure=st.uniform(), method=sq.BSN())
    assert abs(est.mean - 0.3 - 1 / 3) < 3 * est.std < 0.03


def test_what_needs_a_density_keeps_one_network():
    x = np.random.default_rng(0).standard_normal((300, 1))
    f = np.where(x[:, 0] < 0.3, 0.0, 1 + x[:, 0] ** 2) + 0.1 * np.sin(20 * x[:, 0])
    method = sq.BSN(multiplier=sq.multipliers.Density(), members=1, limits=Limits(narrow=4))
    est = sq.estimate(Dataset(x, f), measure=normal(1), method=method)
    assert "boxes" not in est.stats and np.isfinite(est.std)


def test_predictions_ask_for_points_inside_and_scores_of_their_shape():
    x = np.random.default_rng(0).random((400, 1))
    data = Dataset(x, (x[:, 0] > 0.5) * 1.0, score=0 * x)
    est = sq.estimate(data, measure=st.uniform(), method=Pieces(sq.BSN(pieces="one", members=1)))
    assert est.predict(x=[[0.2], [0.8]]) == pytest.approx([0.0, 1.0])
    with pytest.raises(sq.InputError, match="outside the support"):
        est.predict(x=[[1.5]])
    with pytest.raises(sq.InputError, match="score has shape"):
        est.predict(x=[[0.2]], score=[[1.0, 2.0]])


@dataclass(frozen=True)
class Troubled(sq.Method):
    """Ends with another status in each box."""

    codes: tuple
    name: str = "Troubled"

    def fit(self, data, measure, context):
        status = sq.Status(self.codes[context.seed], "so")
        return sq.Fit(theta0=np.zeros(1), covariance=np.eye(1), model=None, status=status)


@pytest.mark.parametrize(
    ("codes", "worst", "message"),
    [
        (("constant", "converged"), "converged", "2 boxes between jumps; so"),
        (("max_steps", "suspect"), "suspect", r"2 boxes between jumps; in \(.*, inf\): so"),
        (("not_finite", "suspect"), "not_finite", r"2 boxes between jumps; in \(-inf, .*\): so"),
    ],
)
def test_trouble_in_a_box_is_reported(codes, worst, message):
    x = np.random.default_rng(0).standard_normal((200, 1))
    data = Dataset(x, step(x) + x[:, 0])
    fit = Pieces(Troubled(codes)).fit(data, as_measure(normal(1)), sq.Context())
    assert fit.status.code == worst and re.fullmatch(message, fit.status.message)
