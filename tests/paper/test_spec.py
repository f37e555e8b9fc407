"""Specs are data: all of ours load, unknown keys and names are one clear sentence."""

import pytest

import steinquad as sq
from steinquad.paper.spec import ALONG_TRAINING, PRESETS, load, names

TINY = """
items = ["Table 1"]
title = "tiny"
problems = ["genz-continuous"]
methods = ["MC", "BSN.paper"]
panels = [["n", "error"]]

[quick]
n = [20, 10]
d = [1]
seeds = 2
max_steps = 5
most = {MC = 10}

[paper]
n = [100]
d = [1]
seeds = 3
max_steps = 50
"""


@pytest.fixture
def tiny(tmp_path):
    def write(old="", new=""):
        assert old in TINY
        path = tmp_path / "tiny.toml"
        path.write_text(TINY.replace(old, new, 1) if old else TINY + new)
        return load(str(path))

    return write


@pytest.mark.parametrize("name", names())
def test_ours_load_and_no_run_is_there_twice(name):
    spec = load(name)
    trained = any(panel[0] in ALONG_TRAINING for panel in spec.panels)
    ours = "BSN default Gauss-Newton" if trained else "Default"
    assert ours in spec.methods  # what is possible now, beside what was published
    for preset in PRESETS:
        runs = spec.runs(preset)
        assert len({run.key for run in runs}) == len(runs) > 0
    assert {run.seed for run in spec.runs("paper")} >= {run.seed for run in spec.runs("quick")}


def test_runs(tiny):
    runs = tiny().runs("quick")
    assert [(run.method, run.n, run.seed) for run in runs] == [
        *(("MC", 10, 0), ("BSN.paper", 10, 0), ("MC", 10, 1), ("BSN.paper", 10, 1)),
        *(("BSN.paper", 20, 0), ("BSN.paper", 20, 1)),
    ]
    assert runs[0].settings == {"design": "iid"}  # no steps: the same run in both presets
    assert runs[1].settings == {"design": "iid", "max_steps": 5}
    assert {run.seed for run in tiny().runs("paper", [7])} == {7}


def test_some_methods_have_steps_of_their_own(tiny):
    runs = tiny("most = {MC = 10}", 'steps = {"BSN.paper" = 3}').runs("quick")
    assert {run.settings.get("max_steps") for run in runs} == {None, 3}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("title", "titel", "tiny has the unknown key 'titel'; known are name, title"),
        ("max_steps = 5\n", "max_step = 5\n", "tiny.quick has the unknown key 'max_step'"),
        ("seeds = 2\n", "", "tiny.quick has no key 'seeds'; add it"),
        ('title = "tiny"\n', "", "tiny has no key 'title'"),
        ('"MC", ', '"mc", ', "tiny.methods has 'mc'; known are MC, BQ"),
        ("genz-continuous", "genz", "tiny.problems has 'genz'; known are genz-continuous"),
        ("Table 1", "Table 9", "tiny.items has 'Table 9'"),
        ('"n", "error"', '"n", "errors"', "tiny.panels has 'errors'"),
        ('["n", "error"]', '["n"]', r"tiny.panels has \['n'\]; give pairs"),
        ("n = [20, 10]", "n = 20", "tiny.quick.n is 20; give a list of integers"),
        ("n = [20, 10]", "n = [0]", "tiny.quick has 0; give integers >= 1"),
        ("d = [1]", "d = [1, 2]", "tiny.quick has several values of n and d"),
        ("genz-continuous", "wind-farm", r"tiny.quick.d is \[1\]; wind-farm has d = 7"),
        ("genz-continuous", "goodwin-k", "tiny.designs of goodwin-k has 'iid'; known are mala"),
        ("{MC = 10}", "3", "tiny.quick.most is 3; give a table"),
        ("most", "steps = {mc = 3}\nmost", "tiny.quick.steps has 'mc'"),
        ("most", "steps = {MC = 0}\nmost", "tiny.quick has 0; give integers >= 1"),
        ('"n", "error"', '"iteration", "error"', "panels has 'error'; known are loss, condition"),
        ("", "[published.genz-corner]\nmc = 1.0\n", "published.genz-corner has 'mc'"),
        ("[quick]", "quick = 3\n[quickly]", "tiny.quick is 3; give a table"),
        ("items =", "items", "is not TOML"),
    ],
)
def test_wrong_specs_are_refused(tiny, old, new, message):
    with pytest.raises(sq.InputError, match=message):
        tiny(old, new)


def test_chains_are_five(tmp_path):
    text = TINY.replace("genz-continuous", "goodwin-k").replace("d = [1]", "d = [4]")
    path = tmp_path / "tiny.toml"
    path.write_text('designs = ["mala"]\n' + text.replace("[20, 10]", "[20, 12]"))
    with pytest.raises(sq.InputError, match=r"tiny.quick.n is \[20, 12\]; five chains take"):
        load(str(path))


def test_a_figure_need_not_be_of_the_paper(tiny):
    assert tiny('items = ["Table 1"]\n', "").items == ()


def test_one_input_is_one_dimension(tmp_path):
    text = TINY.replace("genz-continuous", "wind-farm-direction").replace("d = [1]", "d = [2]")
    path = tmp_path / "two.toml"
    path.write_text(text)
    with pytest.raises(sq.InputError, match="wind-farm-direction has d = 1"):
        load(str(path))


def test_unknown_names_are_refused():
    with pytest.raises(sq.InputError, match="'table2' is no figure; choose all, a .toml file"):
        load("table2")
    with pytest.raises(sq.InputError, match="cannot be read"):
        load("none.toml")
