"""Ticks of the figures: in the range, readable, never none."""

import numpy as np
import pytest

from steinquad.report.axes import Axes, _ticks


@pytest.mark.parametrize(
    ("low", "high", "labels"),
    [
        (1e-5, 1e-2, ["10⁻⁵", "10⁻⁴", "10⁻³", "0.01"]),
        (2e-4, 6e-4, ["2·10⁻⁴", "5·10⁻⁴"]),
        (2.9e-4, 4.6e-4, ["3·10⁻⁴", "3.5·10⁻⁴", "4·10⁻⁴", "4.5·10⁻⁴"]),
        (31.0, 39.0, ["32", "34", "36", "38"]),
    ],
)
def test_logarithmic_ticks(low, high, labels):
    assert [label for _, label in _ticks((low, high), True)[1]] == labels


def test_every_range_has_ticks_inside():
    rng = np.random.default_rng(0)
    for _ in range(500):
        low = 10.0 ** rng.uniform(-12, 6)
        high = low * (1 + 10.0 ** rng.uniform(-2, 4))
        for log in (True, False):
            values = [value for value, _ in _ticks((low, high), log)[1]]
            assert 2 <= len(values) <= 8, (low, high, log)
            assert low * (1 - 1e-9) <= values[0] and values[-1] <= high * (1 + 1e-9)


def test_a_short_logarithmic_range_can_be_drawn():
    axes = Axes((10, 40), (2.9e-4, 4.6e-4), ("runs", ""), ("std", "m"), log=True)
    axes.line([10, 40], [4.6e-4, 2.9e-4], "line-a")
    assert "3.5·10⁻⁴" in axes.svg("short")
