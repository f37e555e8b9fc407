"""Figures that can be read."""

import itertools

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from steinquad.paper.figures import _thin_out


@pytest.mark.parametrize("low", [1e-7, 1.7e-3, 4.0])
@pytest.mark.parametrize("span", [1.5, 2.5, 20.0, 90.0, 1e5])
def test_labels_of_a_logarithmic_axis_do_not_overlap(low, span):
    figure = Figure(figsize=(3.0, 2.6))  # as in a figure of several panels
    FigureCanvasAgg(figure)
    axis = figure.subplots()
    axis.plot([low, low * span], [1, 2], "o")
    axis.set_xscale("log")
    axis.tick_params(which="both", labelsize=7)
    _thin_out(axis)
    figure.draw_without_rendering()
    edges = axis.get_window_extent().intervalx
    boxes = [label.get_window_extent() for label in axis.get_xticklabels(which="both")]
    inside = [box for box in boxes if edges[0] <= (box.x0 + box.x1) / 2 <= edges[1]]
    inside = [box for box in inside if box.width > 1]  # not an empty label
    assert len(inside) >= 2
    assert not any(one.overlaps(other) for one, other in itertools.combinations(inside, 2))
