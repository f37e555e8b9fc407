"""Column lists and bounds as users write them."""

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steinquad.cli.tables import (
    column_names,
    parse_support,
    read_table,
    safe_for_spreadsheets,
    select,
)
from steinquad.errors import InputError

# Whatever a column may be called, but for the comma, and without spaces at its ends.
NAMES = st.text(st.characters(exclude_characters=",", exclude_categories=["Cs"]), min_size=1).map(
    str.strip
)
SPACES = st.text(" \t", max_size=2)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(st.tuples(NAMES, SPACES, SPACES), min_size=1))
def test_names_come_back_whatever_the_spaces_around_them(parts):
    text = ",".join(before + name + after for name, before, after in parts)
    assert column_names(text) == [name for name, _, _ in parts]


@given(st.data(), st.lists(NAMES.filter(bool), min_size=1, max_size=5, unique=True))
def test_columns_are_selected_in_the_order_in_which_they_are_named(data, names):
    table = pa.table({name: [float(i), i + 0.5] for i, name in enumerate(names)})
    chosen = data.draw(st.lists(st.sampled_from(names), min_size=1, max_size=4))
    array = select(table, "--x", ",".join(chosen))
    np.testing.assert_array_equal(array[0], [names.index(name) for name in chosen])
    assert array.shape == (2, len(chosen)) and array.dtype == np.float64


@given(st.text(), st.lists(NAMES, max_size=3, unique=True))
def test_any_text_is_an_array_or_one_sentence(text, names):
    table = pa.table({name: [1.0] for name in names})
    if set(column_names(text)) <= set(names):
        assert select(table, "--x", text).shape == (1, text.count(",") + 1)
    else:
        with pytest.raises(InputError, match="--x names column"):
            select(table, "--x", text)


@pytest.mark.parametrize(
    ("cells", "found"),
    [
        ("2020-01-01\n2020-01-02", "but date32"),
        ("2020-01-01 12:00:00\n2020-01-02 12:00:00", "but timestamp"),
        ("12:00:00\n13:00:00", "but time32"),
        ("1.5\n1_0", "row 1 has '1_0'"),
        ("٣\n1", "row 0 has '٣'"),
        ("1\n\x002", "row 1 has '.x002'"),
        ("1\nabc", "row 1 has 'abc'"),
    ],
)
def test_what_is_no_number_in_a_file_is_refused(tmp_path, cells, found):
    file = tmp_path / "table.csv"
    file.write_text(f"x\n{cells}\n", encoding="utf-8")
    with pytest.raises(InputError, match=f"--x names column 'x', which is not numeric.*{found}"):
        select(read_table(file), "--x", "x")


@pytest.mark.parametrize(
    ("column", "wanted"),
    [
        (pa.array([0, 1, None], pa.duration("s")), None),
        (pa.array(["1", " +2.5 ", None]), [1.0, 2.5, np.nan]),
        (pa.array(["1", "2", "1"]).dictionary_encode(), [1.0, 2.0, 1.0]),
        (pa.array([1, None, 2]), [1.0, np.nan, 2.0]),
        (pa.array([True, False, None]), [1.0, 0.0, np.nan]),
        (pa.array([None, None, None]), [np.nan] * 3),
        (pa.array([Decimal("1.5"), None, Decimal(2)]), [1.5, np.nan, 2.0]),
        (pa.array([[1.0], [2.0], [3.0]]), None),
        (pa.array([b"1", b"2", b"3"]), None),
    ],
)
def test_columns_of_every_type_are_numbers_or_refused(column, wanted):
    table = pa.table({"x": column})
    if wanted is None:
        with pytest.raises(InputError, match="not numeric but (duration|list|binary)"):
            select(table, "--x", "x")
    else:
        np.testing.assert_array_equal(select(table, "--x", "x")[:, 0], wanted)


KEYS = st.integers(0, 99) | st.from_regex(r"[a-z]\w{0,5}", fullmatch=True)
SIDES = st.none() | NUMBERS


@given(st.dictionaries(KEYS, st.tuples(SIDES, SIDES), min_size=1, max_size=5))
def test_bounds_come_back(bounds):
    sides = {key: ["" if side is None else repr(side) for side in bounds[key]] for key in bounds}
    text = ",".join(f"{key}={low}:{high}" for key, (low, high) in sides.items())
    assert parse_support(text) == bounds


@given(st.text("0123456789=:,.- ax"))
def test_any_bounds_are_read_or_refused_with_an_example(text):
    try:
        bounds = parse_support(text)
    except InputError as error:
        assert str(error).startswith("--support has ") and str(error).endswith("0=0:45,3=0:.")
    else:
        assert 1 <= len(bounds) <= text.count(",") + 1


@given(st.text() | st.integers() | NUMBERS | st.none())
def test_no_cell_begins_like_a_formula_and_numbers_stay(cell):
    safe = safe_for_spreadsheets(cell)
    if isinstance(cell, str):
        assert safe in (cell, f"'{cell}") and not safe.startswith(("=", "+", "-", "@", "\t", "\r"))
    else:
        assert safe is cell


@pytest.mark.parametrize("digits", ["\u00b2", "\u0663", "1_0", "0x1", "\uff11"])
def test_odd_digits_are_no_bounds(digits):
    with pytest.raises(InputError, match="--support has"):
        parse_support(f"0={digits}:")
    assert list(parse_support(f"{digits}=0:")) == [digits]


def test_a_column_that_is_there_twice_is_not_guessed():
    table = pa.Table.from_arrays([pa.array([1.0]), pa.array([2.0])], names=["x", "x"])
    with pytest.raises(InputError, match="the file has it 2 times"):
        select(table, "--x", "x")
