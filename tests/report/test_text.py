"""A user's text: as it was written, but for what a page or a terminal would obey."""

import html

from hypothesis import given, settings
from hypothesis import strategies as st

from steinquad.report.text import markup, visible


@settings(derandomize=True, deadline=None)
@given(st.text(), st.booleans())
def test_as_many_characters_and_all_of_them_printable(text, lines):
    shown = visible(text, lines=lines)
    assert len(shown) == len(text)
    assert all(c.isprintable() or (lines and c == "\n") for c in shown)
    assert all(a == b for a, b in zip(text, shown, strict=True) if a.isprintable())
    assert visible(shown, lines=lines) == shown


@settings(derandomize=True, deadline=None)
@given(st.text())
def test_escaping_can_be_undone_and_leaves_nothing_that_opens_a_tag(text):
    assert html.unescape(markup(text)) == visible(text)
    assert not set(markup(text)) & set("<>\"'")


def test_line_breaks_are_kept_only_where_they_are_asked_for():
    text = "one\ntwo\r\x1b[31m\u202e"
    assert visible(text) == "one two \ufffd[31m\ufffd"
    assert visible(text, lines=True) == "one\ntwo \ufffd[31m\ufffd"
