"""The files of a report: those that can be written, whole or not at all."""

import os
from pathlib import Path

import pytest
import small_study

import steinquad as sq


def test_wrong_targets_and_no_store(make, tmp_path):
    study = make()
    for target in ("r.pdf", "r", "nowhere/r.html"):
        with pytest.raises(sq.InputError, match=r"ending in \.html, \.md, \.json"):
            sq.report.write(study, tmp_path / target)
    with pytest.raises(sq.InputError, match="run the study first"):
        sq.report.write(study, tmp_path / "r.html")
    with pytest.raises(sq.InputError, match="is the store of the study"):
        sq.report.write(study, study.store)
    assert list(tmp_path.iterdir()) == []


def test_no_report_overwrites_a_file_of_the_study(make, tmp_path):
    study = make()
    study.run()
    before = Path(study.store).read_bytes()
    os.link(study.store, tmp_path / "r.html")
    (tmp_path / "r.md").symlink_to(small_study.HERE / "integrands.py")
    for name, what in (("r.html", "the store"), ("r.md", "a file of the integrand")):
        with pytest.raises(sq.InputError, match=f"is {what}"):
            sq.report.write(study, tmp_path / name)
    assert Path(study.store).read_bytes() == before and (tmp_path / "r.md").is_symlink()
