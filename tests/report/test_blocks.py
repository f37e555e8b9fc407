"""Every kind of block: shown on both pages, with all its words."""

from typing import get_args

import pytest
from html_page import Page

from steinquad.report.blocks import Answer, Block, Figure, Heading, Note, Quote, Table, Text
from steinquad.report.html import to_html
from steinquad.report.markdown import to_markdown

TABLE = Table(("head-a", "head-b"), (("cell-a", "1.5"), ("cell-b", "2.5")))
BLOCKS = [
    Heading(2, "a-title"),
    Text("some-words"),
    Note("doubt", "the-head", "the-reason"),
    Answer("y", "1.0 ± 0.1", "95 % interval: 0.8 to 1.2", "more-words"),
    TABLE,
    Figure("<svg></svg>", "a-caption", TABLE),
    Quote("line-one\nline-two"),
]


def words(value):
    """All texts of a block, but for what decides on its looks."""
    if isinstance(value, str):
        return [] if value in ("doubt", "<svg></svg>") else value.splitlines()
    return [word for each in value for word in words(each)] if isinstance(value, tuple) else []


def test_these_are_all():
    assert {type(block) for block in BLOCKS} == set(get_args(Block))


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: type(block).__name__)
def test_all_words_are_on_both_pages_and_nothing_else(block):
    page = " ".join(Page(to_html("t", [block])).leaves)
    text = to_markdown([block])
    assert words(block) and all(word in page and word in text for word in words(block))
    assert to_markdown([Text("other")]) == "other\n"


def test_neighbors_of_one_kind_stand_side_by_side():
    answer, figure = BLOCKS[3], BLOCKS[5]
    page = to_html("t", [answer, answer, figure, Text("between"), figure])
    assert page.count('<div class="answers">') == 1 and page.count('<div class="figures">') == 2


def test_numbers_are_set_to_the_right_and_shares_are_cut_off_at_the_ends():
    assert "| --- | ---: |" in to_markdown([TABLE])
    assert to_html("t", [TABLE]).count('<td class="number">') == 2
    page = to_html("t", [TABLE._replace(bars=((-0.1, 0.5), (0.25, 1.5)))])
    assert [part.split('"')[0] for part in page.split('y="2" width="')[1:]] == ["0.0", "25.0"]
    assert [part.split('"')[0] for part in page.split('y="1" width="')[1:]] == ["50.0", "100.0"]
