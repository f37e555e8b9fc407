"""The HTML of an answer: well formed, escaped, and with nothing to load."""

from html.parser import HTMLParser

import numpy as np
import pytest

from steinquad.candidates import Candidate
from steinquad.estimate_html import MOST_ANSWERS, MOST_COLUMNS, ShownAnswer, to_html

VOID = {"br", "hr", "img", "input"}


class Page(HTMLParser):
    """Elements that are closed in order, their attributes, and the rows of the table."""

    def __init__(self, text):
        super().__init__()
        self.open, self.attributes, self.rows, self.text = [], [], [], ""
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.attributes += [(tag, *attr) for attr in attrs]
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data
        if self.open and self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data


def answer(name="f"):
    return ShownAnswer(name, "1.234", "0.011", "[1.21, 1.26]")


def candidate(method="A", **fields):
    """With one weight for each output, if it has any."""
    known = dict.fromkeys(("rms", "weight", "weights", "mean", "std"))
    weights = fields.get("weights")
    chosen = weights is not None and bool(np.any(np.asarray(weights) > 0))
    return Candidate(method, **(known | {"chosen": chosen, "note": ""} | fields))


def page(answers=None, candidates=(), status=("converged", "all is well")):
    return Page(to_html("Stack, n = 9", answers or [answer()], status, candidates))


def test_answer_status_and_heading():
    text = page().text
    for part in ("Stack, n = 9", "E[f] = 1.234 ± 0.011", "[1.21, 1.26]", "converged: all is well"):
        assert part in text
    assert "candidate" not in text


def test_the_color_says_whether_to_trust():
    good, doubt = (to_html("M", [answer()], (word, "s"), ()) for word in ("converged", "suspect"))
    assert good != doubt.replace("suspect", "converged")


def test_columns_are_those_that_have_something_to_say():
    numbers = {"mean": np.array([1.2345678]), "std": np.array([1e-3])}
    few = page(candidates=[candidate(rms=0.1), candidate("B", note="skipped")])
    assert few.rows == [
        ["candidate", "held-out rms", ""],
        ["A", "1.00e-01", ""],
        ["B", "", "skipped"],
    ]
    head, first, _ = page(
        candidates=[candidate(weights=np.array([0.25]), **numbers), candidate("B")]
    ).rows
    assert head == ["candidate", "weight", "E[f]", ""]
    assert first == ["A", "0.250", "1.23457 ± 0.001", ""]


def test_a_mean_without_a_std_stands_by_itself():
    for std in (None, np.zeros(1), np.full(1, np.inf)):
        assert page(candidates=[candidate(mean=np.ones(1), std=std)]).rows[1][1] == "1"


def test_each_output_has_its_weights():
    numbers = {"mean": np.array([1.0, np.nan]), "std": np.array([0.1, np.nan])}
    both = [
        candidate(weights=np.array([0.0, 0.83]), mean=np.ones(2), std=np.ones(2)),
        candidate("B", weights=np.array([1.0, np.nan]), **numbers),
    ]
    head, first, second = page([answer("a"), answer("b")], both).rows
    assert head == ["candidate", "weight, a", "E[a]", "weight, b", "E[b]", ""]
    assert first == ["A", "0.000", "1 ± 1", "0.830", "1 ± 1", ""]
    assert second == ["B", "1.000", "1 ± 0.1", "", "", ""]
    html = to_html("S", [answer("a"), answer("b")], ("converged", ""), both)
    cells = [cell.split("</td>")[0] for cell in html.split("<td ")[1:]]
    assert ["bold" in cell for cell in cells[:5]] == [True, False, False, True, True]


@pytest.mark.parametrize("k", [1, 2, 30])
def test_many_outputs_are_cut(k):
    numbers = {"mean": np.ones(k), "std": np.ones(k)}
    shown = page([answer(f"f{j}") for j in range(k)], [candidate(**numbers)])
    assert shown.text.count("95 %") == min(k, MOST_ANSWERS)
    assert len(shown.rows[0]) == 2 + min(k, MOST_COLUMNS)
    assert ("10 more" in shown.text) == (k == 30)


def test_texts_of_others_are_only_texts():
    evil = "<script>alert(1)</script>\"'&\x1b[31m"
    shown = page([answer(evil)], [candidate(evil, note=evil)], (evil, evil))
    assert shown.text.count("<script>alert(1)</script>\"'&?[31m") >= 5
    names = {attribute for _, attribute, _ in shown.attributes}
    assert names == {"style", "open"}  # nothing to load, nothing to run
    assert "url(" not in str(shown.attributes)
