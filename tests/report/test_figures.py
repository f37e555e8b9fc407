"""The drawings of a report: every number at its place, none where there is none to draw."""

import re

import numpy as np
import pytest

from steinquad.report.axes import ACROSS, DOWN, LEFT, TOP
from steinquad.report.figures import convergence, main_effect, predictions, shrinking


def look(n, mean, std):
    return {"n": n, "mean": mean, "std": std, "interval95": [mean - 2 * std, mean + 2 * std]}


def output(looks, points=((0.0, 0.0), (1.0, 3.0))):
    average = [{"n": 8, "mean": 1.0, "std": 0.4, "half95": 0.8}]
    average += [{"n": 32, "mean": 2.0, "std": 0.2, "half95": 0.4}]
    return {
        **{"name": "y", "unit": "m", "mean": looks[-1]["mean"], "convergence": looks},
        **{"average": average, "predicted": {"points": points}},
    }


def dots(svg):
    found = re.findall(r'<circle[^>]* cx="([\d.]+)" cy="([\d.]+)"', svg)
    return np.array(found, dtype=float)


def points_of(kind, svg):
    (text,) = re.findall(rf'class="{kind}" points="([^"]*)"', svg)
    return np.array([pair.split(",") for pair in text.split()], dtype=float)


def test_the_last_estimate_is_level_with_zero_whatever_the_answer_is():
    near, far = (
        convergence(output([look(16, base - 1.0, 0.5), look(32, base, 0.25)]))
        for base in (0.0, 1e6)
    )
    np.testing.assert_array_equal(dots(near), dots(far))
    assert near == far and "line-b" not in near


def test_one_estimate_alone_has_the_average_beside_it():
    one = convergence(output([look(32, 2.0, 0.1)]))
    assert len(dots(one)) == 1 and len(points_of("line-b", one)) == 2
    band = points_of("band-b", one)
    # The band is closed: there and back, twice as wide where its std is.
    assert band[0, 1] - band[3, 1] == pytest.approx(2 * (band[1, 1] - band[2, 1]), abs=0.4)


def test_a_rate_is_a_slope_and_no_std_is_no_figure():
    looks = [look(n, 1.0, 4.0 / n) for n in (8, 16, 32)]
    places = dots(shrinking(output(looks)))
    steps = np.diff(places, axis=0)
    np.testing.assert_allclose(steps[0], steps[1], atol=0.11)
    assert shrinking(output([look(32, 1.0, 0.0)])) is None


def test_predictions_have_one_range_so_that_the_line_is_the_diagonal():
    svg = predictions(output([look(8, 1.0, 0.1)], points=((0.0, -1.0), (2.0, 2.0), (1.0, 7.0))))
    start, end = points_of("line-b", svg)
    right, up = (end - start) * (1, -1)
    assert right / ACROSS == pytest.approx(up / DOWN, abs=1e-3) and len(dots(svg)) == 3
    beside = [np.linalg.det([end - start, place - start]) for place in dots(svg)]
    assert abs(beside[1]) < 30 and min(abs(beside[0]), abs(beside[2])) > 1000


def test_curves_of_all_inputs_have_one_range():
    curve = {"x": [0.0, 0.5, 1.0], "mean": [1.0, 2.0, 3.0], "std": [0.1, 0.1, 0.1]}
    effect = {"inputs": ["a"], "curve": curve}
    given = output([look(8, 1.0, 0.1)])
    heights = [
        np.ptp(points_of("line-a", main_effect(given, effect, "s", reach))[:, 1])
        for reach in ((1.0, 3.0), (1.0, 5.0))
    ]
    assert heights[0] == pytest.approx(2 * heights[1], abs=0.2)
    svg = main_effect(given, effect, "s", (1.0, 3.0))
    inside = points_of("line-a", svg)
    assert np.all(inside[:, 0] > LEFT) and np.all(inside[:, 1] > TOP) and "a, s" in svg
