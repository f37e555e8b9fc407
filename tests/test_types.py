"""Checks that all entry points share: what passes is float64 or int, what does not is named."""

from decimal import Decimal
from fractions import Fraction

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

import steinquad as sq
from steinquad._types import (
    as_count,
    as_finite,
    as_flag,
    as_fraction,
    as_numbers,
    as_points,
    as_positive,
    as_seed,
    is_count,
    is_positive,
)


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
    assert given == value and type(given) is float and is_positive(value)
    assert as_positive("penalty", 0, or_zero=True) == 0.0


@pytest.mark.parametrize("value", [True, "1", None, [1.0], -1.0, np.inf, np.nan, 0, 10**400])
def test_nothing_else_is_positive(value):
    assert not is_positive(value)
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
        ([1j, 2.0], "is not numeric but complex"),
        (3.0, "has shape [(][)]"),
    ],
)
def test_what_is_wrong_with_an_array_is_one_sentence(values, message):
    with pytest.raises(sq.InputError, match=f"^fx .*{message}") as caught:
        as_finite("fx", values)
    assert "\n" not in str(caught.value)


MASK = [False, True, False]
MISSING = {
    "a masked array": np.ma.array([1.0, 2.0, 3.0], mask=MASK),
    "masked integers": np.ma.array([1, 2, 3], mask=MASK),
    "a list with a masked entry": [1.0, np.ma.masked, 3.0],
    "a list of masked rows": [
        np.ma.array([v], mask=[m]) for v, m in zip([1, 2, 3], MASK, strict=True)
    ],
    "a column of pandas": pd.array([1.0, None, 3.0], dtype="Float64"),
    "a data frame": pd.DataFrame({"a": pd.array([1, None, 3], dtype="Int64")}),
    "objects with None": np.array([1.0, None, 3.0], dtype=object),
    "objects with NA": np.array([1, pd.NA, 3], dtype=object),
    "a list with None": [1.0, None, 3.0],
}


@pytest.mark.parametrize("values", MISSING.values(), ids=MISSING)
def test_a_missing_value_is_never_a_number(values):
    assert np.isnan(as_numbers("fx", values)).ravel().tolist() == MASK
    with pytest.raises(sq.InputError, match="^fx contains NaN [(]1 entries, first in row 1[)]"):
        as_finite("fx", values)


@pytest.mark.parametrize(
    "values",
    [
        np.ma.array([1.0, 2.0, 3.0]),
        np.array([1, 2.0, Fraction(3)], dtype=object),
        [np.float32(1), Decimal(2), 3],
        (np.array(1.0), jnp.array(2.0), 3),
        pd.Series([1, 2, 3], dtype="Int64"),
        np.array([True, 2, 3], dtype=object),
    ],
)
def test_numbers_in_any_wrapping_are_numbers(values):
    array = as_numbers("fx", values)
    assert array.dtype == np.float64 and array.tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["1", "2"], "not numeric"),
        (np.array(["1", 2.0], dtype=object), "not numeric"),
        (np.arange(3).astype("M8[s]"), "not numeric"),
        (np.ma.array(["1", "2"], mask=[True, False]), "not numeric"),
        ({"a": 1.0}, r"not numeric \(got dict\)"),
        ([[1.0], [1.0, 2.0]], "not numeric"),
        ([10**400], "integer beyond what float64 holds"),
        ([1j], "not numeric but complex"),
        (np.array([1j, None], dtype=object), "not numeric"),
    ],
)
def test_what_is_no_number_is_refused(values, message):
    with pytest.raises(sq.InputError, match=f"^fx .*{message}.*[.]$"):
        as_numbers("fx", values)


@pytest.mark.parametrize(
    "value", [2**63, pytest.param(10**5000, id="long"), -1, 1.0, True, np.array([1, 2]), "1"]
)
def test_seeds_are_what_all_generators_take(value):
    with pytest.raises(sq.InputError, match="^seed is .{1,90}; give an integer >= 0 and below"):
        as_seed(value)
    assert as_seed(np.uint64(2**63 - 1)) == 2**63 - 1


@pytest.mark.parametrize("value", [1, "no", None, np.array([True, False]), [True]])
def test_flags_are_true_or_false(value):
    with pytest.raises(sq.InputError, match="^sampled is .*; give True or False[.]$"):
        as_flag("sampled", value)
    assert as_flag("sampled", np.True_) is True


@pytest.mark.parametrize("value", [0, 1, 10**400, "0.5", None, True, np.array([0.1, 0.2]), np.nan])
def test_fractions_lie_between_zero_and_one(value):
    with pytest.raises(sq.InputError, match="^rtol is .{1,90}; give a number between 0 and 1[.]$"):
        as_fraction("rtol", value)
    assert as_fraction("rtol", np.float32(0.5)) == 0.5


def test_more_than_a_billion_is_no_count():
    with pytest.raises(sq.InputError, match="^n is 10+[.]{3}; give at most 1000000000[.]$"):
        as_count("n", 10**400, 2)
