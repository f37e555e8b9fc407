"""Every file that a study lives by is known, without running any of them."""

import os
import sys
from pathlib import Path

import small_study

import steinquad as sq
from steinquad.studies.needed_files import files_of, needed_files


def existing(study):
    return {file.name: what for file, what in needed_files(study).items() if file.exists()}


def test_store_study_file_inputs_and_integrand(tmp_path):
    (tmp_path / "m.py").write_text("raise SystemExit('nobody runs this')\n")
    (tmp_path / "data.csv").write_text("\n".join(["a", *map(str, range(20))]))
    text = small_study.with_distribution("empirical", 'file = "data.csv"\ncolumn = "a"')
    (tmp_path / "s.toml").write_text(text)
    for ending in ("", "-wal", "-shm", "-journal", ".lock"):
        (tmp_path / f"s.sqlite{ending}").write_text("")
    study = sq.Study.load(tmp_path / "s.toml")
    known = existing(study)
    assert set(known) == {file.name for file in tmp_path.iterdir()}
    assert known["s.sqlite"] == "the store of the study"
    assert known["s.sqlite-wal"] == "part of the store of the study"
    assert known["data.csv"] == known["s.toml"] == "a file that the study is read from"
    assert known["m.py"] == "a file of the integrand"


def test_files_of_a_store_behind_a_link_are_beside_what_it_leads_to(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "s.sqlite").symlink_to("real/store")
    study = small_study.study(tmp_path)
    assert (tmp_path / "real" / "store-wal").resolve() in needed_files(study)


def test_scripts_of_a_command_and_the_file_of_a_function(tmp_path):
    script = small_study.HERE / "integrands.py"
    command = sq.Command([sys.executable, "integrands.py", "{a}"])
    assert script.name in existing(small_study.study(tmp_path, integrand=command))
    function = small_study.study(tmp_path, integrand=lambda a, b: a)
    assert Path(__file__) in needed_files(function)


def test_a_module_and_its_packages_without_an_import(tmp_path):
    package = tmp_path / "never_imported"
    package.mkdir()
    for name in ("__init__.py", "inside.py"):
        (package / name).write_text("1 / 0\n")
    found = list(files_of("never_imported.inside:f", tmp_path))
    assert found == [package / "__init__.py", package / "inside.py"]
    assert list(files_of("no_such_module:f", tmp_path)) == []
    assert list(files_of("os:getcwd", tmp_path)) == [Path(os.__file__)]
    assert list(files_of("", tmp_path)) == []
