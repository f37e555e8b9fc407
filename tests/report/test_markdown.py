"""The Markdown report: the same words and numbers as the page."""

import html
import re

from html_page import Page

from steinquad.report.numbers import with_std


def test_the_three_say_the_same(report):
    """Every sentence and cell of the page is in the Markdown, in that order; numbers in both."""
    plain = html.unescape(re.sub(r"\\([\\`*_{}\[\]|~$@:])", r"\1", report.md))
    plain = re.sub(r"\s+", " ", plain)
    at = 0
    for leaf in Page(report.html).leaves:
        leaf = re.sub(r"\s+", " ", leaf).strip().removeprefix("✓ ").removeprefix("! ")
        if leaf in ("share", ""):  # of the bars, which are not in Markdown
            continue
        found = plain.find(leaf, at)
        assert found >= 0, f"{leaf!r} is not in the Markdown after {plain[max(at - 50, 0) : at]!r}"
        at = found
    for output in report.content["outputs"]:
        unit = " ".join(output["unit"].split())
        if output["std"]:
            assert with_std(output["mean"], output["std"], unit) in plain
