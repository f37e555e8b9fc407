"""Texts of others on a terminal: one line, of bearable length, and nothing that it obeys."""

from hypothesis import given
from hypothesis import strategies as st

from steinquad.terminal.plain import LONGEST, listed, one_line, printable


@given(st.text(), st.integers(1, 400))
def test_any_message_is_one_line(text, times):
    line = one_line(text * times)
    assert line.isprintable() and len(line) <= LONGEST + len(" ... ")


def test_a_long_message_keeps_its_beginning_and_its_end():
    line = one_line(f"--x names {'a' * 5000}; choose another.")
    assert line.startswith("--x names aaa") and line.endswith("aaa; choose another.")


def test_letters_of_all_scripts_stay_and_controls_go():
    assert printable("größe ١ \x1b[2J\r\x07\udcff") == "größe ١ ?[2J???"


def test_lists_are_short():
    assert listed(["a\nb", "c"]) == "a?b, c"
    many = listed([f"c{i}" for i in range(100_000)])
    assert many.endswith("c19, ... (100000 in all)") and len(many) < 200
    assert len(listed(["x" * 1000])) < 70
