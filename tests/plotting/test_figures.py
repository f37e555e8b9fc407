"""One estimate at a glance: panels, what is in them, and what is said without matplotlib."""

import sys
from dataclasses import replace

import numpy as np
import pytest
import scipy.stats as st

import steinquad as sq
from steinquad.plotting import diagnose
from steinquad.plotting.figures import MOST_POINTS, new_figure


def answer(method, d=2, n=60, outputs=2):
    x = np.random.default_rng(0).normal(size=(n, d))
    values = np.stack([x[:, 0] + j for j in range(outputs)], axis=1)
    data = sq.Dataset(x, values[:, 0] if outputs == 1 else values, -x)
    return sq.estimate(data, method=method)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_without_a_model_the_values_are_counted(d):
    histogram, integral = diagnose(answer(sq.MonteCarlo(), d)).axes
    assert sum(bar.get_height() for bar in histogram.patches) == 60
    assert histogram.get_title() == "values of f" and integral.get_title().startswith("E[f] = ")


def test_the_bar_is_the_interval_and_the_line_the_truth():
    found = answer(sq.MonteCarlo())
    for output in (0, 1):
        axis = diagnose(found, output=output, truth=float(output)).axes[1]
        bar, line = axis.lines
        low, high = (side[output] for side in found.interval(0.95))
        np.testing.assert_allclose(bar.get_xdata() + found.mean[output], [low, high])
        np.testing.assert_allclose(line.get_xdata(), output - found.mean[output])
        left, right = axis.get_xlim()
        assert left < line.get_xdata()[0] < right


def test_a_far_truth_is_still_in_the_panel():
    found = answer(sq.MonteCarlo(), outputs=1)
    axis = diagnose(found, truth=found.mean + 50 * found.std).axes[1]
    assert axis.get_xlim()[1] > 50 * found.std


def test_fitted_against_true_values_and_few_enough_of_them():
    n = 2 * MOST_POINTS + 2
    axis = diagnose(answer(sq.Polynomial(order=1), d=1, n=n, outputs=1)).axes[0]
    diagonal, points = axis.lines
    assert MOST_POINTS <= len(points.get_xdata()) <= 2 * MOST_POINTS
    np.testing.assert_allclose(points.get_xdata(), points.get_ydata(), atol=1e-8)
    np.testing.assert_array_equal(diagonal.get_xdata(), diagonal.get_ydata())


def with_members(*members):
    """An answer with such candidates: name, weight, mean and std."""
    found = answer(sq.MonteCarlo(), outputs=1)
    rows = tuple(
        {"method": name, "weight": weight, "mean": mean, "std": std, "held_out_rms": 1.0}
        for name, weight, mean, std in members
    )
    return replace(found, candidates=rows)


def test_members_stand_beside_the_answer():
    found = with_members(("A", 0.0, 0.5, 0.3), ("B", 1.0, 0.1, 0.05), ("C", 0.0, None, None))
    axis = diagnose(found, truth=0.0).axes[2]
    assert [label.get_text() for label in axis.get_yticklabels()] == [
        "A  0.00",
        "B  1.00",
        "answer",
    ]
    bars = [line for line in axis.lines if len(line.get_xdata()) == 2][:-1]
    sides = np.array([bar.get_xdata() for bar in bars]) + found.mean
    t = st.t(found.dof).ppf(0.975)
    want = [[0.5 - t * 0.3, 0.5 + t * 0.3], [0.1 - t * 0.05, 0.1 + t * 0.05]]
    np.testing.assert_allclose(sides, [*want, list(found.interval(0.95))])
    assert bars[0].get_color() != bars[1].get_color()  # A has no part in the answer


def test_a_member_far_off_does_not_hide_the_others():
    found = with_members(("A", 0.0, 1e6, 1e5), ("B", 1.0, 0.1, 0.05))
    left, right = diagnose(found).axes[2].get_xlim()
    low, high = found.interval(0.95)
    assert right - left < 10 * (high - low)
    far, bar, *_ = diagnose(found).axes[2].lines  # no stub of a bar, but an arrow
    assert far.get_marker() == ">" and left < far.get_xdata()[0] < right
    assert len(bar.get_xdata()) == 2
    exact = with_members(("A", 0.5, found.mean, 0.0), ("B", 0.5, found.mean, 0.0))
    assert len(diagnose(replace(exact, std=0.0)).axes) == 3


def test_weights_are_those_of_the_output():
    found = answer(sq.MonteCarlo())
    rows = (
        {"method": "A", "weight": [0.0, 0.83], "mean": [0.1, 1.0], "std": [0.1, 0.1]},
        {"method": "B", "weight": [1.0, np.nan], "mean": [0.0, np.nan], "std": [0.1, np.nan]},
    )
    shown = []
    for output in (0, 1):
        axis = diagnose(replace(found, candidates=rows), output=output).axes[2]
        shown.append([label.get_text() for label in axis.get_yticklabels()])
        assert (axis.lines[0].get_color() == axis.lines[-1].get_color()) == (output == 1)
    assert shown == [["A  0.00", "B  1.00", "answer"], ["A  0.83", "answer"]]


def test_limits_of_few_events_have_no_bell():
    x = np.random.default_rng(0).normal(size=(100, 1))
    found = sq.estimate(sq.Dataset(x, x[:, 0] > 1.9), method=sq.MonteCarlo())
    axis = diagnose(found, truth=0.03).axes[1]
    assert not axis.collections and axis.get_xlim()[1] > 0.03 - found.mean
    assert sum(bar.get_height() for bar in diagnose(found).axes[0].patches) == 100
    for line, level in zip(axis.lines, (0.95, 0.8, 0.5), strict=False):
        np.testing.assert_allclose(line.get_xdata() + found.mean, found.interval(level))
        assert min(line.get_xdata()) >= -found.mean


def test_without_members_that_panel_is_missing():
    found = answer(sq.Stack([sq.MonteCarlo(), sq.Polynomial(order=1)]), outputs=1)
    assert len(found.candidates) == 2
    rows = tuple({"method": "A", "held_out_rms": 0.1} for _ in range(2))
    assert len(diagnose(replace(found, candidates=rows)).axes) == 2


def test_a_constant_has_no_width_and_can_be_drawn(tmp_path):
    x = st.norm.rvs(size=(20, 1), random_state=0)
    found = sq.estimate(sq.Dataset(x, np.full(20, 3.0)), method=sq.MonteCarlo())
    axis = diagnose(found).axes[1]
    assert not axis.collections and "no interval" in axis.texts[0].get_text()
    diagnose(found, truth=3.0, path=tmp_path / "flat.png")
    assert (tmp_path / "flat.png").stat().st_size > 5000


@pytest.mark.parametrize("output", [-1, 2])
def test_an_output_that_is_not_there(output):
    with pytest.raises(sq.InputError, match=f"output is {output}; the estimate has 2 outputs"):
        diagnose(answer(sq.MonteCarlo()), output=output)


def test_without_matplotlib_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(sq.InputError, match=r"plot needs matplotlib; install steinquad\[plot\]"):
        new_figure(1.0, 1.0)
    monkeypatch.undo()
    assert tuple(new_figure(3.0, 2.0).get_size_inches()) == (3.0, 2.0)
