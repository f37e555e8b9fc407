"""The two sketches: drawn without any record, in the colors of all other figures."""

import pytest
from matplotlib.colors import to_hex
from matplotlib.text import Annotation

from steinquad.paper.figures import KEPT
from steinquad.paper.sketches import sketch_cost, sketch_method, sketches


def test_a_network_is_between_monte_carlo_and_quadrature():
    (axis,) = sketch_cost().axes
    places = {text.get_text(): text.get_position() for text in axis.texts}
    assert places["MC"] < places["BSN"] < places["BQ"]
    drawn = [to_hex(line.get_color()) for line in axis.lines[:3]]
    assert drawn == [KEPT[name][0].lower() for name in ("MC", "BSN.paper", "BQ")]


def test_arrows_lead_from_the_data_to_the_integral():
    whole, data, posterior = sketch_method().axes
    arrows = [text for text in whole.texts if isinstance(text, Annotation)]
    assert len(arrows) == 5 and "Laplace" in " ".join(text.get_text() for text in whole.texts)
    assert data.get_position().x0 < posterior.get_position().x0
    assert "integral" in posterior.get_title()


@pytest.mark.parametrize("place", [".", "new/directory"])
def test_both_are_written(tmp_path, place):
    paths = sketches(tmp_path / place)
    assert [path.name for path in paths] == ["sketch-cost.png", "sketch-method.png"]
    assert all(path.stat().st_size > 5000 for path in paths)
