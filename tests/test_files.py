"""Files are written whole or not at all, beside nothing that was there and over nothing needed."""

import os
import stat
from pathlib import Path

import pytest

from steinquad._files import check_output, create, replaced
from steinquad.errors import InputError

SPELLINGS = ("plain", "relative", "hard link", "symbolic link", "link to a directory")


def spelled(how, path):
    """Another path to the same file."""
    place = path.parent
    if how == "relative":
        (place / "below").mkdir()
        return Path(os.path.relpath(place / "below" / ".." / path.name))
    if how == "hard link":
        os.link(path, place / "other.csv")
        return place / "other.csv"
    if how == "symbolic link":
        (place / "other.csv").symlink_to(path.name)
        return place / "other.csv"
    if how == "link to a directory":
        (place / "again").symlink_to(place)
        return place / "again" / path.name
    return path


@pytest.mark.parametrize("how", SPELLINGS)
def test_what_is_needed_is_not_overwritten_whatever_it_is_called(tmp_path, how):
    store = tmp_path / "store.csv"
    store.write_text("precious")
    target, needed = spelled(how, store), {store: "the store"}
    before = set(tmp_path.iterdir())
    with pytest.raises(InputError, match="is the store; give another file"):
        check_output(target, needed=needed)
    with pytest.raises(InputError, match="is the store"), replaced(target, needed=needed) as file:
        file.write_text("gone")
    assert store.read_text() == "precious" and set(tmp_path.iterdir()) == before


@pytest.mark.parametrize("name", ["store.csv", "STORE.csv", "sub/../Store.CSV", "link.csv"])
def test_a_file_that_is_not_there_yet_is_needed_in_any_case_of_letters(tmp_path, name):
    (tmp_path / "link.csv").symlink_to("store.csv")
    with pytest.raises(InputError, match="is the store"):
        check_output(tmp_path / name, needed={tmp_path / "store.csv": "the store"})


def test_another_file_is_not_needed(tmp_path):
    (tmp_path / "store.csv").write_text("precious")
    check_output(tmp_path / "Store.csv", needed={tmp_path / "store.csv": "the store"})
    assert [file.name for file in tmp_path.iterdir()] == ["store.csv"]


def test_an_argument_that_is_no_path_is_no_file(tmp_path):
    code = tmp_path / ("print(1); " * 30)  # of a command such as `python -c`
    check_output(tmp_path / "t.csv", needed={code: "a file of the integrand"})
    with replaced(tmp_path / "t.csv", needed={code: "a file of the integrand"}) as file:
        file.write_text("new")
    assert (tmp_path / "t.csv").read_text() == "new"


def test_a_target_that_becomes_the_store_meanwhile_is_refused(tmp_path):
    store, target = tmp_path / "store", tmp_path / "t.csv"
    store.write_text("precious")
    with (
        pytest.raises(InputError, match="is the store"),
        replaced(target, needed={store: "the store"}) as file,
    ):
        file.write_text("new")
        os.link(store, target)
    assert target.samefile(store) and store.read_text() == "precious"


def test_the_unfinished_file_is_new_and_follows_no_link(tmp_path, monkeypatch):
    victim, target = tmp_path / "victim", tmp_path / "t.csv"
    victim.write_text("precious")
    tokens = iter(["planted", "planted", "free"])
    monkeypatch.setattr("secrets.token_hex", lambda _: next(tokens))
    for name in ("t.csv.part", ".t.planted.part.csv"):
        (tmp_path / name).symlink_to(victim)
    with pytest.raises(InputError, match="File exists"), replaced(target) as file:
        file.write_text("new")
    with pytest.raises(InputError, match="File exists"):
        check_output(target)
    with replaced(target) as file:
        file.write_text("new")
    assert victim.read_text() == "precious" and target.read_text() == "new"
    assert (tmp_path / "t.csv.part").is_symlink() and not target.is_symlink()


def test_a_file_is_replaced_as_a_whole_or_left_as_it_was(tmp_path):
    target = tmp_path / "r.md"
    target.write_text("old")
    target.chmod(0o640)
    with pytest.raises(ZeroDivisionError), replaced(target) as partial:
        partial.write_text("half")
        raise ZeroDivisionError
    assert target.read_text() == "old" and list(tmp_path.iterdir()) == [target]
    with pytest.raises(InputError, match="r.md cannot be written"), replaced(target) as partial:
        (partial / "below").write_text("no directory")
    assert target.read_text() == "old"
    with replaced(target) as partial:
        partial.write_text("new")
        assert partial.suffix == ".md"
    assert target.read_text() == "new" and list(tmp_path.iterdir()) == [target]
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


def test_a_link_is_replaced_and_not_what_it_leads_to(tmp_path):
    (tmp_path / "other").write_text("precious")
    (tmp_path / "link.md").symlink_to("other")
    with replaced(tmp_path / "link.md") as partial:
        partial.write_text("new")
    assert (tmp_path / "other").read_text() == "precious"
    assert (tmp_path / "link.md").read_text() == "new"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("directory.csv", "it is a directory"),
        ("pipe.csv", "it is no file"),
        ("nowhere/t.csv", "No such file or directory"),
        ("file/t.csv", "Not a directory"),
        ("x" * 300 + ".csv", "File name too long"),
        ("t.txt", "another ending.*give a file ending in .csv, .json in a directory"),
        ("t\x00.csv", "null character"),
    ],
)
def test_what_cannot_be_written_is_known_before(tmp_path, name, words):
    (tmp_path / "directory.csv").mkdir()
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "file").write_text("")
    before = set(tmp_path.iterdir())
    with pytest.raises(InputError, match=words) as error:
        check_output(tmp_path / name, "--figure", endings=(".csv", ".json"))
    assert str(error.value).startswith("--figure ") and set(tmp_path.iterdir()) == before


def test_an_ending_may_be_in_capitals_and_a_name_long(tmp_path):
    target = tmp_path / ("ä" * 120 + ".CSV")
    check_output(target, endings=(".csv",))
    with replaced(target) as partial:
        partial.write_text("new")
    assert target.read_text() == "new"


def test_create_writes_over_nothing(tmp_path):
    create(tmp_path / "new", "text")
    (tmp_path / "link").symlink_to("target")
    for name in ("new", "link"):
        with pytest.raises(FileExistsError):
            create(tmp_path / name, "other")
    assert (tmp_path / "new").read_text() == "text" and not (tmp_path / "target").exists()


def test_a_file_that_finds_no_space_leaves_what_was_there(tmp_path):
    resource = pytest.importorskip("resource")  # not on Windows
    target = tmp_path / "report.html"
    target.write_text("the old one")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        with pytest.raises(InputError, match="cannot be written"), replaced(target) as partial:
            partial.write_text("x" * 100_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert target.read_text() == "the old one" and list(tmp_path.iterdir()) == [target]
