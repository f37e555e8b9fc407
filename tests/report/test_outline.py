"""Which sections a page has: also of failures, of methods without a model, without an answer."""

from functools import partial

import pytest
import scipy.stats as st
from html_page import Page

import steinquad as sq


def test_failures_and_a_flat_output_are_told(bad):
    evaluations = bad.content["evaluations"]
    assert evaluations["failed"] == sum(each["count"] for each in evaluations["kinds"]) > 0
    assert bad.content["answer"]["status"] == "suspect" and "Status suspect" in bad.html
    assert evaluations["kinds"][0]["kind"] == "exception"
    first = evaluations["kinds"][0]
    a, b = first["input"].values()
    assert a > 1.5 and f"= {a:.6g}, b = {b:.6g}:" in bad.html
    assert "does not vary, so no input matters" in bad.html
    assert "fitted: the model has seen these runs" in bad.html


def test_wishes_and_what_a_small_sample_cannot_tell(make, tmp_path):
    wishes = {"quantiles": [0.01], "above": [2.0], "below": []}
    study = make(outputs={"f": wishes})
    study.run()
    content = sq.report.write(study, tmp_path / "r.html")
    _, quantile, above = content["outputs"][0]["distribution"]
    assert quantile["low"] is None and (above["kind"], above["at"]) == ("above", 2.0)
    shown = " ".join(Page((tmp_path / "r.html").read_text()).leaves)
    assert "1 % quantile" in shown and "chance of more than 2 " in shown and "… to " in shown
    assert "An end that is not given would take more runs." in shown
    known = sq.report.write(study, estimate=study.estimate(), distribution=study.distribution())
    assert {**known, "made": content["made"]} == content


def test_a_plain_average_has_no_model(make, tmp_path):
    study = make()
    study.run()
    sq.report.write(study, tmp_path / "r.html", tmp_path / "r.md")
    text = (tmp_path / "r.md").read_text()
    assert "averages the values and has no model" in text and "No held-out check" in text
    assert "One estimate is stored" in text
    Page((tmp_path / "r.html").read_text())


def test_without_an_answer_it_tells_of_the_failures(make, tmp_path):
    study = make(name="raises")
    with pytest.raises(sq.InputError, match="evaluations failed"):
        study.run()
    content = sq.report.write(study, tmp_path / "r.html", tmp_path / "r.md", tmp_path / "r.json")
    assert content["answer"] is None and "evaluations failed" in content["refused"]
    text = (tmp_path / "r.html").read_text()
    assert "No answer" in text and "second line &lt;b&gt;&amp;" in text
    Page(text)


def flat(names, a, b):
    values = {"load": 9.0 + a + b, "flat": 2.0, "event": 0.0}
    return {name: values[name] for name in names}


@pytest.mark.parametrize("names", [["load", "flat", "event"], ["event"]])
def test_a_constant_output_is_no_good_news(tmp_path, names):
    inputs = sq.Product({"a": st.norm(), "b": st.uniform(0, 1)})
    options = {"outputs": names, "method": sq.Polynomial(order=1), "where": "here"}
    study = sq.Study(partial(flat, names), inputs, tmp_path / "s.sqlite", 64, **options)
    study.run()
    content = sq.report.write(study, tmp_path / "r.md", tmp_path / "r.html")
    assert [each["constant"] for each in content["outputs"]] == [each != "load" for each in names]
    shown = (tmp_path / "r.md").read_text()
    assert "no run has seen" in shown and "all checks passed" not in shown
    assert "of an indicator" in shown
    assert shown.count("All runs gave the same value") == len(names) - ("load" in names)
    assert ("95 % interval: none, for lack of any variation" in shown) == ("flat" in names)
