"""What the values themselves say: well spread, cancelling, or carried by a handful of points."""

import numpy as np
import pytest

import steinquad as sq
from steinquad.checking.plausibility import beside_average, well_informed

RNG = np.random.default_rng(0)
X = RNG.standard_normal(1000)


def judged(fx, code="converged", **options):
    data = sq.Dataset(X[: len(fx)], fx, **options)
    zero, status = np.zeros(data.outputs), sq.Status(code, "went well")
    fit = sq.Fit(theta0=zero, covariance=np.diag(zero), model=None, status=status)
    return well_informed(fit, data)


def spikes(count, n=1000):
    """An f that only `count` points see."""
    return np.where(np.arange(n) < count, 1.0, 0.0) + 1e-9 * X[:n]


def test_a_well_spread_f_is_left_alone():
    assert judged(np.cos(X)) == sq.Status("converged", "went well")
    assert judged(2.0 + X) == sq.Status("converged", "went well")


def test_a_cancelling_f_gets_a_note_and_keeps_its_code():
    status = judged(X)
    assert status.code == "converged" and status.message.startswith("went well; ")
    assert "nearly cancels out" in status.message and "% of its average size" in status.message
    assert judged(X, "max_steps").code == "max_steps"


def test_few_points_that_carry_the_integral_get_a_note_and_very_few_are_suspect():
    assert judged(spikes(200)).message == "went well"
    rather = judged(spikes(100))
    assert rather.code == "converged"
    assert "few informative points: about 100 carry the integral" in rather.message
    few = judged(spikes(20))
    assert few.code == "suspect" and "about 20 carry the integral;" in few.message
    one = judged(spikes(1))
    assert one.code == "suspect" and "about 1 carry" in one.message


@pytest.mark.parametrize(
    "left, carry, code",
    [(0.5, 7, "suspect"), (0.5, 9, "converged"), (0.05, 3, "suspect"), (0.05, 5, "converged"),
     (1e-8, 2, "converged"), (None, 25, "suspect")],
)  # fmt: skip
def test_held_out_points_that_were_predicted_need_less_company(left, carry, code):
    data = sq.Dataset(X, spikes(carry))
    check = None
    if left is not None:
        nothing = np.zeros(1)
        residual = left * data.fx.std(axis=0)
        check = sq.Check(nothing, nothing, folds=10, dof=9.0, residual=residual, distance=0.0)
    status = sq.Status("converged", "went well")
    fit = sq.Fit(
        theta0=np.zeros(1), covariance=np.zeros((1, 1)), model=None, status=status, check=check
    )
    assert well_informed(fit, data).code == code


def test_few_points_of_a_well_spread_f_are_no_trouble():
    for n in (10, 20, 40):
        assert judged(np.cos(X[:n]) + 2).message == "went well"


def test_weights_count_for_points():
    weights = np.where(np.arange(1000) < 20, 1.0, 1e-6)
    assert judged(np.cos(X) + 2, weights=weights).code == "suspect"
    assert judged(np.cos(X) + 2, weights=np.full(1000, 7.0)).message == "went well"


def test_the_worst_output_is_named():
    status = judged(np.column_stack([np.cos(X), spikes(20), np.full(1000, 3.0)]))
    assert status.code == "suspect" and "carry the integral of output 1" in status.message
    status = judged(np.column_stack([np.cos(X), X]))
    assert "the average of output 1 is" in status.message


@pytest.mark.parametrize("value", [0.0, 3.0])
def test_constant_outputs_divide_nothing_by_zero(value):
    """Warnings are errors here."""
    constant = np.full(1000, value)
    assert judged(np.column_stack([constant, np.cos(X)])).message == "went well"
    assert judged(np.column_stack([constant, X])).message != "went well"
    assert judged(constant, "constant").message == "went well"


def test_trouble_that_is_known_is_not_replaced():
    assert judged(spikes(20), "not_finite").message == "went well"
    suspect = judged(spikes(20), "suspect")
    assert suspect.code == "suspect" and suspect.message.startswith("went well; few informative")
    assert judged(spikes(20), sampled=False).message == "went well"


def test_a_cancelling_output_does_not_hide_a_concentrated_one():
    status = judged(np.column_stack([X, spikes(20)]))
    assert status.code == "suspect" and "of output 1" in status.message


def test_the_entry_points_ask():
    x = X[:, None]
    for fx, code in ((np.cos(X), "converged"), (spikes(20), "suspect")):
        est = sq.estimate(sq.Dataset(x, fx, -x), method=sq.MonteCarlo())
        assert est.status.code == code
    note = sq.estimate(sq.Dataset(x, X, -x), method=sq.MonteCarlo()).status
    assert note.code == "converged" and "nearly cancels out" in note.message


def test_an_answer_far_from_the_average_is_suspect():
    data = sq.Dataset(X, np.cos(X))
    mean, fine = data.fx.mean(axis=0), sq.Status("converged", "went well")
    assert beside_average(fine, mean, data) is fine
    far = beside_average(fine, mean + 1.0, data)
    assert far.code == "suspect" and "plain average" in far.message
    for code in ("not_finite", "constant"):
        assert beside_average(sq.Status(code, ""), mean + 1.0, data).code == code
    grid = sq.Dataset(X, np.cos(X), sampled=False)
    assert beside_average(fine, mean + 9.0, grid) is fine
