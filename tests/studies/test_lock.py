"""The lock of a store: one writer at a time, and none that is dead."""

import os
import signal
import time

import pytest
from filelock import FileLock
from small_study import driver, study

import steinquad as sq


def test_the_lock_dies_with_its_process_and_not_with_its_copies(tmp_path, monkeypatch):
    note = tmp_path / "copy"
    monkeypatch.setenv("COPY", str(note))
    process, deadline = driver(tmp_path, "leaves_a_copy"), time.monotonic() + 120
    while not (note.exists() and note.read_text().endswith("\n")):
        assert time.monotonic() < deadline and process.is_alive()
        time.sleep(0.01)
    copy = int(note.read_text())
    try:
        with pytest.raises(sq.InputError, match=f"written by process {process.pid}"):
            study(tmp_path).run()
        process.kill()
        process.join()
        os.kill(copy, 0)  # still there
        assert study(tmp_path).run().n == 40
    finally:
        process.kill()
        os.kill(copy, signal.SIGKILL)


def test_one_lock_for_all_names_of_a_store(tmp_path):
    found = study(tmp_path, runs=4)
    found.run()
    (tmp_path / "link").mkdir()
    (tmp_path / "link" / "s.sqlite").symlink_to(tmp_path / "s.sqlite")
    other = study(tmp_path / "link", runs=8)
    with found.evaluations.writing(), pytest.raises(sq.InputError, match="being written"):
        other.run()


@pytest.mark.parametrize("linked", [False, True])
def test_a_file_that_is_no_lock_is_not_overwritten(tmp_path, linked):
    notes = tmp_path / "notes"
    notes.write_text("of the user")
    lock = tmp_path / "s.sqlite.lock"
    lock.symlink_to(notes) if linked else notes.rename(lock)
    with pytest.raises(sq.InputError, match="as its lock, but that is something else"):
        study(tmp_path, runs=4).run()
    assert lock.read_text() == "of the user" and not (tmp_path / "s.sqlite").exists()


def test_where_no_lock_can_be_made_is_one_sentence(tmp_path, monkeypatch):
    def vanishes(lock):  # as where the directory goes at this moment, or in /proc
        lock._context.lock_file_fd = None

    monkeypatch.setattr(FileLock, "_acquire", vanishes)
    with pytest.raises(sq.InputError, match="no lock can be made beside it\\); give another"):
        study(tmp_path, runs=4).run()
