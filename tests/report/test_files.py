"""The three files of a report: whole, harmless, and of one mind."""

import html
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
import scipy.stats as st
from small_study import HERE

import steinquad as sq
from steinquad.report.content import CITE
from steinquad.report.numbers import interval, percent, with_std

VOID = {"meta", "br", "img", "link", "input", "hr"}
TAGS = {
    *("html", "head", "meta", "title", "style", "body", "main", "div", "section", "p", "h1", "h2"),
    *("h3", "strong", "span", "table", "thead", "tbody", "tr", "th", "td", "pre", "figure"),
    *("figcaption", "details", "summary", "svg", "path", "text", "polyline", "polygon", "circle"),
    "rect",
}
LEAVES = {"h1", "h2", "h3", "p", "td", "th", "figcaption", "pre"}


class Page(HTMLParser):
    """Checks that tags nest, and collects what a reader sees."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.attributes, self.leaves = [], set(), [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)
        if tag in LEAVES:
            self.leaves.append("")

    def handle_startendtag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if LEAVES & set(self.open):
            self.leaves[-1] += data


@pytest.fixture(params=["good", "bad"])
def report(request):
    return request.getfixturevalue(request.param)


def test_it_is_one_whole_file_that_refers_to_nothing(report):
    page = Page(report.html)
    assert page.tags <= TAGS
    names = {name for name, _ in page.attributes}
    assert not names & {"src", "href", "xlink:href", "srcset", "action", "style"}
    assert not any(name.startswith("on") for name in names)
    assert "url(" not in report.html and "@import" not in report.html
    assert ("content", "width=device-width, initial-scale=1") in page.attributes
    assert "prefers-color-scheme: dark" in report.html


def test_users_text_is_escaped(bad):
    for text in ("<script", "<img", "<b ", "\x1b", "\u202e"):
        assert text not in bad.html
    assert "\x1b" not in bad.md and "\u202e" not in bad.md
    seen = " ".join(Page(bad.html).leaves)
    for text in ("<script>alert(1)</script>", "onerror=alert(2)", "</title><b onclick='x'>"):
        assert text in seen
    assert '</pre><script>alert("4")</script>' in seen and "RuntimeError" in seen
    outside_code = "\n".join(line for line in bad.md.split("\n") if not line.startswith("    "))
    assert "&lt;script&gt;alert(1)" in outside_code and "\\[a\\](b)" in outside_code
    assert "\\`x\\`" in outside_code and "<" not in outside_code


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


def test_numbers_are_those_of_the_estimate(good):
    content = good.content
    power, loss = content["outputs"]
    for output, truth in ((power, 3.025e6), (loss, 5e-5)):
        assert abs(output["mean"] - truth) < 5 * output["std"]
        low, high = output["interval95"]
        shown = interval(low, high, output["mean"], output["std"], output["unit"])
        assert f"95 % interval: {shown}" in good.html
    assert [look["n"] for look in power["convergence"]] == [40, 80]
    assert power["check"]["explained"] > 0.95 and content["answer"]["folds"] == 5
    shown = np.array(power["predicted"]["points"])
    assert power["predicted"]["kind"] == "cross-fitted" and shown.shape == (80, 2)
    # Of variance: 4e10 of a, 1e10 * Var(b^3) of b, 1e8 / 12 + ... of both.
    first = {each["inputs"][0]: each["first"] for each in power["effects"]}
    assert first["a"] == pytest.approx(0.98, abs=0.02) and first["b"] < 0.05
    std, *quantiles = power["distribution"]
    assert std["kind"] == "std" and std["low"] < 2.02e5 < std["high"]
    assert [each["at"] for each in quantiles] == [0.05, 0.5, 0.95]
    assert quantiles[1]["low"] < 3.02e6 < quantiles[1]["high"]
    (candidate,) = content["answer"]["candidates"]
    assert candidate["chosen"] and "held-out error" in good.html
    assert percent(candidate["held_out_rms"]) in good.html
    timing = content["timing"]
    assert timing["sessions"] == 1 and timing["elapsed"] >= timing["seconds"] > 0
    assert "The study was run once, first at" in good.html
    assert "None of 80 evaluations failed" in good.html
    assert json.loads(good.json)["versions"]["steinquad"] == sq.__version__


def test_failures_and_a_flat_output_are_told(bad):
    evaluations = bad.content["evaluations"]
    assert evaluations["failed"] == sum(each["count"] for each in evaluations["kinds"]) > 0
    assert bad.content["answer"]["status"] == "suspect" and "Status suspect" in bad.html
    assert evaluations["kinds"][0]["kind"] == "exception"
    assert "does not vary, so no input matters" in bad.html
    assert "fitted: the model has seen these runs" in bad.html


def test_wishes_and_what_a_small_sample_cannot_tell(tmp_path):
    wishes = {"quantiles": [0.01], "above": [2.0], "below": []}
    study = make(tmp_path, outputs={"f": wishes})
    study.run()
    content = sq.report.write(study, tmp_path / "r.html")
    _, quantile, above = content["outputs"][0]["distribution"]
    assert quantile["low"] is None and (above["kind"], above["at"]) == ("above", 2.0)
    shown = " ".join(Page((tmp_path / "r.html").read_text()).leaves)
    assert "1 % quantile" in shown and "chance of more than 2 " in shown and "… to " in shown
    assert "An end that is not given would take more runs." in shown
    known = sq.report.write(study, estimate=study.estimate(), distribution=study.distribution())
    assert {**known, "made": content["made"]} == content


def make(tmp_path, name="smooth", inputs=None, **settings):
    inputs = inputs or sq.Product({"a": st.norm(), "b": st.uniform(0, 1)})
    fixed = {"method": sq.MonteCarlo(), "directory": HERE, "where": "here", "retries": 0}
    integrand = f"integrands.py:{name}"
    return sq.Study(integrand, inputs, tmp_path / "s.sqlite", 64, **(fixed | settings))


def test_a_plain_average_has_no_model(tmp_path):
    study = make(tmp_path)
    study.run()
    sq.report.write(study, tmp_path / "r.html", tmp_path / "r.md")
    text = (tmp_path / "r.md").read_text()
    assert "averages the values and has no model" in text and "No held-out check" in text
    assert "One estimate is stored" in text
    Page((tmp_path / "r.html").read_text())


def test_sobol_points(tmp_path):
    study = make(tmp_path, points="sobol", method=sq.QuasiMonteCarlo())
    answer = study.run()
    content = sq.report.write(study, tmp_path / "r.html")
    (output,) = content["outputs"]
    averages = output["average"]
    # By the spread of the replicates, once each of the sixteen has a point.
    assert all((each["std"] is None) == (each["n"] < 16) for each in averages)
    assert averages[-1]["std"] == pytest.approx(answer.std, rel=1e-12)
    assert averages[-1]["mean"] == pytest.approx(answer.mean, rel=1e-12)
    assert output["weighted"] is False
    assert "no model" in content["sensitivity"]["reason"]


def test_adaptive_points_are_averaged_by_their_weights(tmp_path):
    study = replace(make(tmp_path, points="adaptive", method=sq.Polynomial()), runs=240)
    study.run()
    content = sq.report.write(study, tmp_path / "r.html", tmp_path / "r.md")
    assert content["outputs"][0]["weighted"] is True
    assert "The weighted average of the same runs has the std" in (tmp_path / "r.md").read_text()


def test_dependent_inputs(tmp_path):
    pair = st.multivariate_normal([0.0, 0.0], [[1.0, 0.5], [0.5, 1.0]])
    inputs = sq.Product({"pair": pair})
    inputs.names = ("a", "b")
    study = make(tmp_path, inputs=inputs, method=sq.Polynomial())
    study.run()
    assert "depend on each other" in sq.report.write(study)["sensitivity"]["reason"]


def test_without_an_answer_it_tells_of_the_failures(tmp_path):
    study = make(tmp_path, name="raises")
    with pytest.raises(sq.InputError, match="evaluations failed"):
        study.run()
    content = sq.report.write(study, tmp_path / "r.html", tmp_path / "r.md", tmp_path / "r.json")
    assert content["answer"] is None and "evaluations failed" in content["refused"]
    text = (tmp_path / "r.html").read_text()
    assert "No answer" in text and "second line &lt;b&gt;&amp;" in text
    Page(text)


def test_wrong_targets_and_no_store(tmp_path):
    study = make(tmp_path)
    for target in ("r.pdf", "r", "nowhere/r.html"):
        with pytest.raises(sq.InputError, match=r"ending in \.html, \.md, \.json"):
            sq.report.write(study, tmp_path / target)
    with pytest.raises(sq.InputError, match="run the study first"):
        sq.report.write(study, tmp_path / "r.html")
    with pytest.raises(sq.InputError, match="is the store of the study"):
        sq.report.write(study, study.store)
    assert list(tmp_path.iterdir()) == []


def test_the_citation_is_that_of_the_file():
    cff = (Path(__file__).parents[2] / "CITATION.cff").read_text(encoding="utf-8")
    title = re.search(r"    title: (.*)", cff)
    families = re.findall(r"family-names: (.*)", cff)
    assert title and title[1] in CITE["paper"]
    assert families and all(name in CITE["paper"] for name in families)
