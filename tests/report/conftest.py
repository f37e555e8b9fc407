"""Two studies that many tests look at: a usual one, and one whose every text is hostile."""

import json
from types import SimpleNamespace

import pytest
import scipy.stats as st
from small_study import HERE

import steinquad as sq

NAME = "<script>alert(1)</script> & $(id) | `x` [a](b)"
OUTPUT = 'y"><img src=x onerror=alert(2)>'
UNIT = "</text></svg><script>alert(3)</script>"
INPUT = "</title><b onclick='x'>|*_a_*"
ERROR = '</pre><script>alert("4")</script>\n\x1b[31m\u202e | http://example.org'


def hostile(inputs):
    a, b = inputs[INPUT], inputs["b"]
    if a > 1.5:
        raise RuntimeError(ERROR)
    return {OUTPUT: a * a + a * b + b, "flat": 2.0}


def usual(a, b):
    return {"power": 3e6 + 2e5 * a + 1e5 * b**3 + 1e4 * a * b, "loss": 1e-5 * (a + 2) ** 2}


def written(study, folder):
    """The content, and the three files as text and as paths."""
    paths = {ending: folder / f"report.{ending}" for ending in ("html", "md", "json")}
    content = sq.report.write(study, *paths.values())
    texts = {ending: path.read_text(encoding="utf-8") for ending, path in paths.items()}
    assert json.loads(texts["json"]) == content
    return SimpleNamespace(content=content, paths=paths, **texts)


@pytest.fixture(scope="session")
def bad(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bad")
    inputs = sq.Product({INPUT: st.norm(), "b": st.uniform(0.0, 1.0)})
    study = sq.Study(
        *(hostile, inputs, folder / "<s>.sqlite", 60),
        outputs=[OUTPUT, "flat"],
        style="dict",
        method=sq.Polynomial(),
        on_failure="ignore",
        retries=0,
        where="here",
        name=NAME,
        units={OUTPUT: UNIT, INPUT: UNIT},
    )
    study.run()
    return written(study, folder)


@pytest.fixture(scope="session")
def good(tmp_path_factory):
    folder = tmp_path_factory.mktemp("good")
    study = sq.Study(
        *(usual, sq.Product({"a": st.norm(), "b": st.uniform(0.0, 1.0)}), folder / "s.sqlite", 80),
        outputs=["power", "loss"],
        method=sq.Stack([sq.Polynomial()]),
        points="iid",
        every=40,
        where="here",
        name="a wind turbine",
        units={"power": "W", "a": "m/s"},
    )
    study.run()
    return written(study, folder)


@pytest.fixture(params=["good", "bad"])
def report(request):
    return request.getfixturevalue(request.param)


@pytest.fixture
def make(tmp_path):
    """A small study of one of the integrands, by plain average unless it says otherwise."""

    def study(name="smooth", inputs=None, runs=64, **settings):
        inputs = inputs or sq.Product({"a": st.norm(), "b": st.uniform(0, 1)})
        fixed = {"method": sq.MonteCarlo(), "directory": HERE, "where": "here", "retries": 0}
        integrand = f"integrands.py:{name}"
        return sq.Study(integrand, inputs, tmp_path / "s.sqlite", runs, **(fixed | settings))

    return study
