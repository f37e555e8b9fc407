"""Checks that all entry points share: what passes is float64 or int, what does not is named."""

import numpy as np
import pytest

import steinquad as sq
from steinquad._types import as_count, as_finite, as_points, as_positive, is_count


@pytest.mark.parametrize("value", [3, np.int32(3), np.uint8(3)])
def test_integers_of_any_kind_count(value):
    assert is_count(value, 3) and type(as_count("n", value, 3)) is int
    assert not is_count(value, 4)


@pytest.mark.parametrize("value", [True, np.True_, 3.0, "3", None, [3]])
def test_nothing_else_counts(value):
    assert not is_count(value, 0)
    with pytest.raises(sq.InputError, match="^n is .*; give an integer of at least 1[.]$"):
        as_count("n", value, 1)


@pytest.mark.parametrize("value", [2, 0.5, np.float32(0.5), np.int64(3)])
def test_positive_numbers_become_floats(value):
    given = as_positive("scale", value)
    assert given == value and type(given) is float
    assert as_positive("penalty", 0, or_zero=True) == 0.0


@pytest.mark.parametrize("value", [True, "1", None, [1.0], -1.0, np.inf, np.nan, 0])
def test_nothing_else_is_positive(value):
    with pytest.raises(sq.InputError, match="^scale is .*; give a positive number[.]$"):
        as_positive("scale", value)
    if value != 0:
        with pytest.raises(sq.InputError, match="^scale is .*; give a number >= 0[.]$"):
            as_positive("scale", value, or_zero=True)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_points_are_rows_of_float64(d):
    given = np.arange(4 * d, dtype=np.int8).reshape(4, d)
    points = as_points("x", given.tolist(), d)
    assert points.shape == (4, d) and points.dtype == np.float64
    np.testing.assert_array_equal(as_points("x", points[:, 0]), points[:, :1])
    with pytest.raises(sq.InputError, match=f"x has shape .* but the measure has dim {d + 1}"):
        as_points("x", given, d + 1)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1.0, np.nan, np.inf], "NaN [(]2 entries, first in row 1[)]"),
        ([[0.0, 1.0], [np.inf, 0.0]], "inf [(]1 entries, first in row 1[)]"),
        (np.zeros((2, 2, 2)), "has shape [(]2, 2, 2[)]; pass a 1-d or 2-d array"),
        (["a", "b"], "is not numeric [(]got list[)]"),
        ([1j, 2.0], "is not numeric"),
        (3.0, "has shape [(][)]"),
    ],
)
def test_what_is_wrong_with_an_array_is_one_sentence(values, message):
    with pytest.raises(sq.InputError, match=f"^fx .*{message}") as caught:
        as_finite("fx", values)
    assert "\n" not in str(caught.value)
