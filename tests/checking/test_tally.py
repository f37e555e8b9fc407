"""Least and largest values and how often they are: merged as if they had been together."""

import numpy as np
import pytest

from steinquad.checking.tally import Tally

NORMAL = np.random.default_rng(0).standard_normal(50)
EVENT = np.where(np.arange(50) == 7, 1.0, 0.0)
COLUMNS = {
    "normal": NORMAL,
    "never": np.zeros(50),
    "always": np.ones(50),
    "event": EVENT,
    "two": np.where(NORMAL > 0, 5.0, 2.0),
    "once": np.where(EVENT, 5.0, 2.0),
    "rare loss": 3.2 * EVENT,
    "constant": np.full(50, 2.5),
    "three": np.clip(np.arange(50) - 1.0, 0.0, 1.0) + EVENT / 2,
}
VALUES = np.column_stack(list(COLUMNS.values()))


@pytest.mark.parametrize("cuts", [[], [1], [7, 8], [2, 30, 49]])
def test_parts_say_the_same_as_the_whole(cuts):
    whole, parts = Tally.of(VALUES), [Tally.of(part) for part in np.split(VALUES, cuts)]
    for ordered in (parts, parts[::-1]):
        merged = ordered[0]
        for part in ordered[1:]:
            merged = merged.merged(part)
        for name, value in vars(whole).items():
            np.testing.assert_array_equal(getattr(merged, name), value)


def test_which_take_two_values():
    tally = Tally.of(VALUES)

    def which(mask):
        return {name for name, yes in zip(COLUMNS, mask, strict=True) if yes}

    assert which(tally.constant) == {"never", "always", "constant"}
    assert which(tally.indicator) == {"never", "always", "event"}
    assert which(tally.two_values) == {"never", "always", "event", "two", "once"}
    low, high = tally.levels
    assert (low[1], high[1], low[2], high[2], low[4], high[4]) == (0, 1, 0, 1, 2, 5)
    assert tally.higher[[1, 2, 3, 5]].tolist() == [0, 50, 1, 1]
