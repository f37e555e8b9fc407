"""The files of a report: those that can be written, whole or not at all."""

import pytest

import steinquad as sq
from steinquad.report.files import replaced


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


def test_a_file_is_replaced_as_a_whole_or_left_as_it_was(tmp_path):
    target = tmp_path / "r.md"
    target.write_text("old")
    with pytest.raises(ZeroDivisionError), replaced(target) as partial:
        partial.write_text("half")
        raise ZeroDivisionError
    assert target.read_text() == "old" and list(tmp_path.iterdir()) == [target]
    with pytest.raises(sq.InputError, match="r.md cannot be written"), replaced(target) as partial:
        (partial / "below").write_text("no directory")
    assert target.read_text() == "old"
    with replaced(target) as partial:
        partial.write_text("new")
    assert target.read_text() == "new" and list(tmp_path.iterdir()) == [target]
