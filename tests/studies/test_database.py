"""The file of a store: made for its owner alone, checked before use, never taken for another."""

import os
import shutil
import socket
import sqlite3
from pathlib import Path

import pytest
from small_store import ABOUT, digest, done, filled
from small_study import HERE, inputs, study

import steinquad as sq
from steinquad.errors import InputError
from steinquad.studies.database import APPLICATION, checksum
from steinquad.studies.store import Store


def test_a_store_of_another_study_is_refused(store):
    with store.writing():
        store.record([done(0)])
    other = Store(store.path, ABOUT | {"seed": "1"})
    message = "another study: its seed is 0, here it is 1"
    with pytest.raises(InputError, match=message):
        other.counts()
    before = digest(store.path)
    with pytest.raises(InputError, match=message), other.writing():
        pass
    assert digest(store.path) == before


def _truncate(path):
    path.write_bytes(path.read_bytes()[:-5000])


def _stub(path):
    path.write_bytes(path.read_bytes()[:60])


def _text(path):
    path.write_text("number,status\n" * 1000)


def _noise(path):
    content = bytearray(path.read_bytes())
    for i in range(4096, len(content) - 100, 4096):
        content[i : i + 100] = b"\xff" * 100
    path.write_bytes(content)


def _header(path):
    content = bytearray(path.read_bytes())
    content[16:18] = b"\x00\x07"
    path.write_bytes(content)


@pytest.mark.parametrize("harm", [_truncate, _stub, _text, _noise, _header])
def test_a_damaged_file_is_refused_and_left_as_it_is(store, harm):
    path = filled(store)
    harm(path)
    before = digest(path)
    with pytest.raises(InputError, match=r"s\.sqlite (is|can)"), store.writing():
        pass
    with pytest.raises(InputError, match=r"s\.sqlite (is|can)"):
        list(store.rows())
    assert digest(path) == before


def test_bytes_that_are_no_text_are_damage(store):
    path = filled(store, 9)
    connection = sqlite3.connect(path)
    connection.execute("UPDATE evaluation SET outputs = CAST(x'fffe' AS TEXT) WHERE number = 7")
    connection.commit()
    connection.close()
    before = digest(path)
    with pytest.raises(InputError, match=r"s\.sqlite is damaged \(Could not decode"):
        list(store.rows())
    assert digest(path) == before


def test_somebody_elses_database_is_left_alone(tmp_path):
    path = tmp_path / "photos.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE photos (name TEXT)")
    connection.close()
    before = digest(path)
    store = Store(path, ABOUT)
    with pytest.raises(InputError, match="database of something else"):
        store.counts()
    with pytest.raises(InputError, match="database of something else"), store.writing():
        pass
    assert digest(path) == before


def test_a_newer_format_is_refused(store):
    path = filled(store, 1)
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA application_id").fetchone() == (APPLICATION,)
    connection.execute("PRAGMA user_version = 99")
    connection.commit()
    connection.close()
    with pytest.raises(InputError, match="has format 99"):
        store.counts()


def test_a_start_that_was_killed_is_no_obstacle(store):
    store.path.parent.mkdir()
    store.path.touch()
    half = store.path.with_name(".s.sqlite.abcd1234.new")
    half.write_text("half")
    with store.writing():
        store.record([done(0)])
    assert store.counts().done == 1 and not half.exists()


def test_a_log_that_a_kill_left_behind_is_read(store, tmp_path):
    with store.writing():
        store.record([done(i) for i in range(10)])
        copies = tmp_path / "copy"  # what the disk holds if the process dies now
        copies.mkdir()
        for file in store.path.parent.glob("s.sqlite*"):
            shutil.copy(file, copies)
    again = Store(copies / "s.sqlite", ABOUT)
    assert again.counts().done == 10
    with again.writing():
        again.record([done(10)])
        assert again.counts().done == 11


def test_the_log_of_a_deleted_store_is_not_taken_for_its_own(store):
    filled(store, 3)
    store.path.unlink()
    log = store.path.with_name("s.sqlite-wal")
    log.write_bytes(b"rows")
    missing = "missing but its log s.sqlite-wal is there"
    with pytest.raises(InputError, match=missing), store.writing():
        pass
    log.unlink()
    with store.writing():
        assert store.counts().done == 0


def test_what_is_not_there_or_not_writable(tmp_path):
    with pytest.raises(InputError, match="does not exist; run the study first"):
        Store(tmp_path / "no.sqlite", ABOUT).counts()
    (tmp_path / "file").touch()
    with (
        pytest.raises(InputError, match=r"cannot be used \(Not a directory\)"),
        Store(tmp_path / "file" / "s.sqlite", ABOUT).writing(),
    ):
        pass
    with pytest.raises(InputError, match="is a directory"), Store(tmp_path, ABOUT).writing():
        pass


def test_a_store_without_checksums_is_renewed_by_the_next_run(tmp_path):
    found = study(tmp_path, runs=10)
    before = found.run()
    with sqlite3.connect(tmp_path / "s.sqlite") as database:
        database.execute("ALTER TABLE evaluation DROP COLUMN checksum")
        database.execute("PRAGMA user_version = 2")
    database.close()
    with pytest.raises(sq.InputError, match="has format 2.*; run the study to renew it"):
        found.estimate()
    again = study(tmp_path, runs=10).run()
    assert (again.mean, again.std) == (before.mean, before.std)
    assert found.estimate().mean == before.mean


def test_a_store_is_its_owners_alone(store):
    filled(store, 3)
    with store.writing():
        store.record([done(5)])
        files = list(store.path.parent.iterdir())
        assert {file.name for file in files} >= {"s.sqlite", "s.sqlite-wal", "s.sqlite.lock"}
        assert all(file.stat().st_mode & 0o777 == 0o600 for file in files)


def _device(path):
    os.symlink("/dev/null", path)


def _socket(path):
    with socket.socket(socket.AF_UNIX) as end:
        end.bind(str(path))


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (os.mkfifo, "named pipe"),
        (os.mkdir, "directory"),
        (_socket, "socket"),
        (_device, "device"),
    ],
)
@pytest.mark.parametrize("linked", [False, True])
def test_what_is_no_regular_file_is_never_touched(tmp_path, monkeypatch, make, kind, linked):
    monkeypatch.chdir(tmp_path)  # the path of a socket is short
    make("there")
    path = Path("there")
    if linked:
        path = Path("link")
        path.symlink_to("there")
    before = sorted((each.name, each.lstat()[:7]) for each in tmp_path.iterdir())
    found = sq.Study("integrands.py:smooth", inputs(), path, 4, directory=HERE, where="here")
    for act in (found.run, found.status, found.estimate):
        with pytest.raises(sq.InputError, match=f"is a {kind}; give the path of a file"):
            act()
    assert sorted((each.name, each.lstat()[:7]) for each in tmp_path.iterdir()) == before


def test_a_path_that_changes_into_a_pipe_is_noticed_at_every_use(store):
    filled(store, 3)
    store.path.unlink()
    os.mkfifo(store.path)
    with pytest.raises(InputError, match="is a named pipe"):
        store.counts()
    with pytest.raises(InputError, match="is a named pipe"), store.writing():
        pass


def test_a_lock_that_leads_elsewhere(store, tmp_path):
    store.path.parent.mkdir()
    store.path.with_name("s.sqlite.lock").symlink_to("/dev/null")
    with pytest.raises(InputError, match="is a device"), store.writing():
        pass


def test_a_link_to_a_store_stays_one(store, tmp_path):
    store.path.parent.mkdir()
    link = tmp_path / "link.sqlite"
    link.symlink_to(store.path)
    filled(Store(link, ABOUT), 3)
    assert link.is_symlink() and store.counts().done == 3


def test_a_full_disk_says_so_and_loses_nothing(store):
    filled(store, 50)
    with store.writing():
        store._require_writer().execute("PRAGMA max_page_count = 1")  # of what there is
        with pytest.raises(InputError, match="the disk is full; free some space"):
            for start in range(100, 10_000, 100):
                store.record([done(start + i) for i in range(100)])
    kept = [row.number for row in store.rows()]
    assert kept[:50] == list(range(50)) and len(kept) % 100 == 50  # whole transactions
    with store.writing():
        store.record([done(20_000)])
    assert store.counts().done == len(kept) + 1


@pytest.mark.parametrize("name", [".", "/", "x" * 300])
def test_a_store_that_cannot_be_a_file(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    found = sq.Study("integrands.py:smooth", inputs(), name, 4, directory=HERE)
    for act in (found.run, found.status, found.estimate):
        with pytest.raises(sq.InputError, match="store"):
            act()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ending", ["-wal", "-shm", "-journal"])
def test_what_is_beside_a_store_is_a_file_too(store, ending):
    store.path.parent.mkdir()
    beside = store.path.with_name(store.path.name + ending)
    os.mkfifo(beside)
    for act in (store.counts, store.writing().__enter__):
        with pytest.raises(InputError, match=f"{ending} is a named pipe"):
            act()
    assert [each.name for each in store.path.parent.iterdir()] == [beside.name]


def test_the_log_of_a_store_that_a_link_leads_to(store, tmp_path):
    store.path.parent.mkdir()
    store.path.with_name("s.sqlite-wal").write_bytes(b"rows")
    link = tmp_path / "link.sqlite"
    link.symlink_to(store.path)
    missing = "missing but its log s.sqlite-wal is there"
    with pytest.raises(InputError, match=missing), Store(link, ABOUT).writing():
        pass


def test_nothing_is_left_beside_a_file_that_is_refused(tmp_path):
    (tmp_path / "text").write_text("text")
    with sqlite3.connect(tmp_path / "photos") as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE photos (name TEXT)")
    connection.close()
    for name in ("text", "photos"):
        before = digest(tmp_path / name)
        with pytest.raises(InputError), Store(tmp_path / name, ABOUT).writing():
            pass
        assert digest(tmp_path / name) == before
    assert sorted(os.listdir(tmp_path)) == ["photos", "text"]


def test_an_empty_file_is_no_store_yet(store):
    store.path.parent.mkdir()
    store.path.touch()
    assert not store.exists
    with pytest.raises(InputError, match="does not exist; run the study first"):
        store.counts()
    assert filled(store, 3).stat().st_mode & 0o777 == 0o600 and store.exists


def test_only_leftovers_of_the_same_store_are_removed(tmp_path):
    kept = tmp_path / ".a.abcd1234.new"
    kept.write_text("of the store a")
    filled(Store(tmp_path / "[a]", ABOUT), 1)
    assert kept.exists()


def test_choices_and_answers_without_checksums_are_renewed_too(tmp_path):
    settings = {"name": "kinked", "points": "adaptive", "runs": 130}
    before = study(tmp_path, **settings).run()
    with sqlite3.connect(tmp_path / "s.sqlite") as database:
        for table in ("choice", "estimate"):
            database.execute(f"ALTER TABLE {table} DROP COLUMN checksum")
        database.execute("CREATE TABLE version (name TEXT PRIMARY KEY) WITHOUT ROWID")
        database.execute("PRAGMA user_version = 3")
    database.close()
    again = study(tmp_path, **settings)
    assert (again.run().mean, again.estimate().mean) == (before.mean, before.mean)
    assert len(again.kept_estimates()) == 1


def test_a_checksum_is_the_same_in_every_python():
    """A letter that is newer than an interpreter is escaped by its `repr` and not by others."""
    row = ("[0.5]", 1, "\U0002ebf0", "\u0378", None, 0.25, "")
    assert checksum(row) == "35fde158f225097b"
    assert checksum(row) != checksum((*row[:3], "\u0379", *row[4:]))
