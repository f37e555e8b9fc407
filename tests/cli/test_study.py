"""The commands on a study: init, run, status, estimate, report, export; mistakes are one line."""

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

from steinquad.cli.main import main
from steinquad.cli.study import EXAMPLES
from steinquad.studies import Study

STUDY = """\
name = "<b>beam</b> $(id)"
outputs = ["y<i>", "z"]
method = "mc"

[integrand]
function = "f.py:f"
retries = 0

[inputs.a]
distribution = "normal"
mean = 0.0
std = 1.0

[budget]
runs = 30

[run]
where = "here"
"""
FUNCTION = "def f(a):\n    return [a + 9, a]\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "s.toml").write_text(STUDY)
    (tmp_path / "f.py").write_text(FUNCTION)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["steinquad", *map(str, arguments)])
    with pytest.raises(SystemExit) as stop:
        main()
    return stop.value.code, capsys.readouterr()


def test_from_the_beginning_to_the_end(folder, monkeypatch, capsys):
    code, out = run(monkeypatch, capsys, "status", "s.toml")
    assert code == 0 and "<b>beam</b> $(id): 0 of 30 evaluations done, 0 failed" in out.out
    code, out = run(monkeypatch, capsys, "run", "s.toml")
    assert code == 0 and "E[y<i>] = " in out.out and "E[z] = " in out.out
    code, out = run(monkeypatch, capsys, "status", "s.toml")
    assert code == 0 and "30 of 30 evaluations done" in out.out
    assert "last estimate, from 30 points:\n    y<i> = " in out.out and "\n    z = " in out.out
    assert max(map(len, out.out.splitlines())) < 100
    code, shown = run(monkeypatch, capsys, "estimate", "s.toml", "--json")
    record = json.loads(shown.out)
    assert code == 0 and record["outputs"] == ["y<i>", "z"] and record["n"] == 30
    code, out = run(monkeypatch, capsys, "run", "s.toml", "--json")
    assert code == 0 and json.loads(out.out) == record
    code, out = run(monkeypatch, capsys, "status", "s.toml", "--json")
    status = json.loads(out.out)
    assert (status["done"], status["failed"]) == (30, 0)
    assert status["estimate"]["mean"] == record["mean"]


def test_export_has_every_row(folder, monkeypatch, capsys):
    assert run(monkeypatch, capsys, "run", "s.toml")[0] == 0
    assert run(monkeypatch, capsys, "export", "s.toml", "out.csv")[0] == 0
    assert run(monkeypatch, capsys, "export", "s.toml", "out.json")[0] == 0
    with open("out.csv", newline="") as file:
        table = list(csv.DictReader(file))
    with open("out.json") as file:
        objects = json.load(file)
    study = Study.load(folder / "s.toml")
    want = [study.numbered[i][0] for i in range(30)]
    assert [row["a"] for row in objects] == want == [float(row["a"]) for row in table]
    assert [row["y<i>"] for row in objects] == [a + 9 for a in want]
    code, _ = run(monkeypatch, capsys, "export", "s.toml", "bad.json", "--failed")
    assert code == 0 and json.loads((folder / "bad.json").read_text()) == []
    assert not list(folder.glob("*.part*"))


def test_report_writes_what_it_is_asked_for(folder, monkeypatch, capsys):
    code, out = run(monkeypatch, capsys, "report", "s.toml")
    assert code == 2 and "run the study first" in out.err and out.err.count("\n") == 1
    assert run(monkeypatch, capsys, "run", "s.toml")[0] == 0
    code, out = run(monkeypatch, capsys, "report", "s.toml")
    assert code == 0 and "Wrote s-report.html." in out.out
    assert "&lt;b&gt;beam&lt;/b&gt; $(id)" in (folder / "s-report.html").read_text()
    code, out = run(monkeypatch, capsys, "report", "s.toml", "r.md", "r.JSON")
    assert code == 0 and "Wrote r.md and r.JSON." in out.out
    assert json.loads((folder / "r.JSON").read_text())["answer"]["n"] == 30
    code, out = run(monkeypatch, capsys, "report", "s.toml", "r.pdf")
    assert code == 2 and ".html, .md, .json" in out.err and out.err.count("\n") == 1
    assert not list(folder.glob("*.part*"))


def test_run_writes_a_report_too(folder, monkeypatch, capsys):
    code, out = run(monkeypatch, capsys, "run", "s.toml", "--report", "no/r.html")
    assert code == 2 and "cannot be written" in out.err and not (folder / "s.sqlite").exists()
    code, out = run(
        monkeypatch, capsys, "run", "s.toml", "--report", "r.html", "--report", "r.json"
    )
    assert code == 0 and out.out.endswith("Wrote r.html and r.json.\n")
    content = json.loads((folder / "r.json").read_text())
    code, out = run(monkeypatch, capsys, "run", "s.toml", "--json", "--report", "r.json")
    assert json.loads(out.out)["mean"] == [each["mean"] for each in content["outputs"]]
    again = json.loads((folder / "r.json").read_text())
    assert {**again, "made": content["made"]} == content


def test_failures_are_shown_and_can_be_tried_again(folder, monkeypatch, capsys):
    (folder / "f.py").write_text("def f(a):\n    return [a, a] if a < 1 else [float('nan'), a]\n")
    code, out = run(monkeypatch, capsys, "run", "s.toml")
    assert code == 2 and "of 30 evaluations failed" in out.err and out.err.count("\n") == 1
    code, out = run(monkeypatch, capsys, "report", "s.toml", "r.json")
    assert code == 3 and "the report has no answer" in out.err and (folder / "r.json").exists()
    code, out = run(monkeypatch, capsys, "status", "s.toml")
    assert code == 0 and "by answer" in out.out
    found = re.search(r"\n  the first by answer, point (\d+), at a = (.*): .*is nan\n", out.out)
    assert found and float(found[2]) >= 1
    code, out = run(monkeypatch, capsys, "status", "s.toml", "--json")
    example = json.loads(out.out)["first_failures"]["answer"]
    assert example["number"] == int(found[1]) and f"{example['input']['a']:.6g}" == found[2]
    code, out = run(monkeypatch, capsys, "export", "s.toml", "bad.csv", "--failed")
    assert code == 0 and "'y<i>' is nan" in (folder / "bad.csv").read_text()
    (folder / "f.py").write_text(FUNCTION)
    code, out = run(monkeypatch, capsys, "run", "s.toml", "--retry-failed")
    assert code == 3 and "suspect: the evaluations are by 2 versions" in out.out


def test_init_writes_a_study_that_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code, out = run(monkeypatch, capsys, "init", "new")
    assert code == 0 and "steinquad run new/study.toml" in out.out
    text = (tmp_path / "new" / "study.toml").read_text().replace("runs = 200", "runs = 40")
    (tmp_path / "new" / "study.toml").write_text('method = "mc"\n' + text)
    code, out = run(monkeypatch, capsys, "run", "new/study.toml")
    assert code == 0 and "E[deflection] = 0.00" in out.out and "E[stress] = 2" in out.out
    code, out = run(monkeypatch, capsys, "init", "new")
    assert code == 2 and "already; give another" in out.err


def test_init_takes_a_name_that_ends_in_toml_for_the_file(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code, out = run(monkeypatch, capsys, "init", "new/beam.toml")
    assert code == 0 and "steinquad run new/beam.toml" in out.out
    assert sorted(os.listdir("new")) == ["beam.toml", "simulator.py"]
    assert Study.load("new/beam.toml").runs == 200
    assert run(monkeypatch, capsys, "init", "hidden/.toml")[0] == 0
    assert sorted(os.listdir("hidden")) == [".toml", "simulator.py"]
    (tmp_path / "link.toml").symlink_to("elsewhere")
    code, out = run(monkeypatch, capsys, "init", "link.toml")
    assert code == 2 and "link.toml already" in out.err and not (tmp_path / "elsewhere").exists()


def test_export_and_report_write_over_no_file_of_the_study(folder, monkeypatch, capsys):
    (folder / "s.toml").write_text('store = "store.json"\n' + STUDY)
    assert run(monkeypatch, capsys, "run", "s.toml")[0] == 0
    kept = {name: (folder / name).read_bytes() for name in ("s.toml", "f.py", "store.json")}
    os.link("store.json", "hard.csv")
    os.symlink("s.toml", "link.json")
    os.link("f.py", "code.json")
    (folder / "victim").write_text("precious")
    for name in ("out.csv.part", "out.json.part"):
        os.symlink("victim", name)
    (folder / "sub").mkdir()
    refused = ["store.json", "./sub/../store.json", "hard.csv", "link.json", "code.json"]
    for target in refused:
        code, out = run(monkeypatch, capsys, "export", "s.toml", target)
        assert code == 2 and "give another file" in out.err and out.err.count("\n") == 1
    for target in ("store.json", "link.json", "code.json"):
        for line in (["report", "s.toml", target], ["run", "s.toml", "--report", target]):
            code, out = run(monkeypatch, capsys, *line)
            assert code == 2 and "give another file" in out.err
    for target in ("out.csv", "out.json"):
        assert run(monkeypatch, capsys, "export", "s.toml", target)[0] == 0
    assert (folder / "victim").read_text() == "precious"
    assert kept == {name: (folder / name).read_bytes() for name in kept}


def test_texts_of_an_exported_table_are_no_formulas(folder, monkeypatch, capsys):
    text = STUDY.replace('["y<i>", "z"]', '["=1+1", "@z"]')
    (folder / "s.toml").write_text(text + '[units]\n"@z" = "m"\n')
    (folder / "f.py").write_text("def f(a):\n    return {'=1+1': a, '@z': -1e300}\n")
    run(monkeypatch, capsys, "run", "s.toml")
    assert run(monkeypatch, capsys, "export", "s.toml", "out.csv")[0] == 0
    with open("out.csv", newline="") as file:
        head, first, *_ = csv.reader(file)
    assert {"'=1+1", "'@z"} <= set(head) and first[head.index("'@z")] == "-1e+300"


def test_estimate_shows_the_distributions_that_are_asked_for(folder, monkeypatch, capsys):
    tables = '[outputs."y<i>"]\nabove = [2]\n[outputs.z]\nquantiles = [0.01]\n'
    (folder / "s.toml").write_text(STUDY.replace('outputs = ["y<i>", "z"]\n', "") + tables)
    code, out = run(monkeypatch, capsys, "run", "s.toml")
    assert code == 0 and "std of y<i> = " in out.out and "P[y<i> > 2] = " in out.out
    code, out = run(monkeypatch, capsys, "estimate", "s.toml")
    assert code == 0 and "1 % quantile of z = " in out.out and "95 %: [-inf, " in out.out
    code, out = run(monkeypatch, capsys, "estimate", "s.toml", "--json")
    record = json.loads(out.out)
    assert [row["kind"] for row in record["distribution"]["z"]] == ["std", "quantile"]
    assert record["distribution"]["z"][1]["low"] is None


def test_every_example_is_written_and_loads(tmp_path, monkeypatch, capsys):
    for example in EXAMPLES:
        place = tmp_path / example
        assert run(monkeypatch, capsys, "init", place, "--example", example)[0] == 0
        assert Study.load(place / "study.toml").runs == 200
    code, out = run(monkeypatch, capsys, "init", tmp_path, "--example", "bridge")
    assert code == 2 and "--example is 'bridge'; choose one of beam, wind-farm" in out.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "no.toml"], "no.toml cannot be read"),
        (["status", "no.toml"], "no.toml cannot be read"),
        (["run", "broken.toml"], "broken.toml, line 2: not TOML"),
        (["run", "unknown.toml"], "unknown.toml, line 1: colour is not a key"),
        (["estimate", "s.toml"], "s.sqlite does not exist; run the study first"),
        (["export", "s.toml", "out.csv"], "does not exist; run the study first"),
        (["export", "s.toml", "out.xlsx"], "give a file ending in .csv, .json"),
        (["export", "s.toml", "nowhere/out.csv"], "give a file ending in .csv, .json"),
        (["run", "lost.toml"], "cannot be loaded"),
        (["run", "damaged.toml"], "not an SQLite file"),
        (["status", "damaged.toml"], "not an SQLite file"),
        (["init", "s.toml"], "place has s.toml already"),
        (["init", "f.py"], "cannot be written"),
    ],
)
def test_mistakes_are_one_line_and_exit_2(folder, monkeypatch, capsys, arguments, message):
    (folder / "broken.toml").write_text("a = 1\nb = \n")
    (folder / "unknown.toml").write_text('colour = "red"\n' + STUDY)
    (folder / "lost.toml").write_text(STUDY.replace("f.py:f", "f.py:g"))
    (folder / "damaged.toml").write_text(STUDY)
    (folder / "damaged.sqlite").write_text(
        "not a database, but long enough to look like one\n" * 9
    )
    code, out = run(monkeypatch, capsys, *arguments)
    assert code == 2 and message in out.err
    assert out.err.count("\n") == 1 and "Traceback" not in out.err
    assert not (folder / "out.csv").exists()


def test_ctrl_c_keeps_everything_and_says_so(folder):
    (folder / "f.py").write_text(
        "import time\n\ndef f(a):\n    time.sleep(0.05)\n    return a, a\n"
    )
    text = STUDY.replace('"here"', '"pool"\nworkers = 2').replace("runs = 30", "runs = 2000")
    (folder / "s.toml").write_text(text)
    process = subprocess.Popen(
        [sys.executable, "-m", "steinquad", "run", "s.toml"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ,
    )
    study, deadline = Study.load(folder / "s.toml"), time.monotonic() + 120
    while not (folder / "s.sqlite").exists() or study.status().done < 5:
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130 and "Traceback" not in err
    assert f"Stopped with {study.status().done} evaluations stored; run again" in err
