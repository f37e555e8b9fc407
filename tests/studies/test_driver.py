"""The driver: gaps are filled, failures tried again, and an interrupt loses nothing."""

import os
import signal
import threading
import time
from concurrent.futures import (
    ThreadPoolExecutor,
)

import pytest
from small_study import same, study

import steinquad as sq
from steinquad.studies.executors import Here


def test_gaps_are_filled(tmp_path, plain):
    first = study(tmp_path)
    first.run()
    with first.evaluations.writing():
        first.evaluations._require_writer().execute(
            "DELETE FROM evaluation WHERE number IN (0, 17, 39)"
        )
    assert study(tmp_path).status().done == 37
    assert same(study(tmp_path).run(), plain)


def test_failed_points_are_tried_again_on_request_only(tmp_path, plain, monkeypatch):
    monkeypatch.setenv("MARKS", str(tmp_path))
    with pytest.raises(sq.InputError, match="40 of 40 evaluations failed"):
        study(tmp_path, "fails_at_first", retries=0).run()
    with pytest.raises(sq.InputError, match="40 of 40 evaluations failed"):
        study(tmp_path, "fails_at_first", retries=0).run()
    assert same(study(tmp_path, "fails_at_first", retries=0).run(retry_failed=True), plain)
    again = study(tmp_path / "second", "fails_at_first", retries=1)
    monkeypatch.setenv("MARKS", str(tmp_path / "marks"))
    (tmp_path / "marks").mkdir()
    assert same(again.run(), plain)
    assert {row.attempt for row in again.evaluations.rows()} == {2}


def test_more_retries_are_used_on_resume(tmp_path, plain, monkeypatch):
    monkeypatch.setenv("MARKS", str(tmp_path))
    with pytest.raises(sq.InputError):
        study(tmp_path, "fails_at_first", retries=0).run()
    assert same(study(tmp_path, "fails_at_first", retries=1).run(), plain)


def test_a_batch_that_fails_is_taken_apart(tmp_path):
    found = study(
        tmp_path, "batch_with_a_bad_point", style="batch", batch=8, on_failure="ignore", retries=0
    )
    answer = found.run()
    bad = sum(found.numbered[i][0] > 1.5 for i in range(40))
    assert 0 < bad == answer.stats["failed"]


@pytest.fixture
def interruptible():
    """Also where the tests were started with interrupts ignored, as in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_keeps_what_has_finished(tmp_path, plain):
    found = study(tmp_path, "slow", where="pool")
    stop = []

    def watch(now):
        if now.done >= 10 and not stop:
            stop.append(now.done)
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        found.run(watch=watch)
    assert signal.getsignal(signal.SIGINT) is before
    assert found.status().done >= stop[0]
    assert same(study(tmp_path, "slow", where="pool").run(), plain)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_reaches_a_call_in_this_process(tmp_path):
    def forever(a, b):
        if threading.current_thread() is threading.main_thread():
            os.kill(os.getpid(), signal.SIGINT)
        time.sleep(60)

    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        study(tmp_path, forever).run()
    assert time.monotonic() - begin < 30


def test_an_interrupt_between_two_tasks(tmp_path, monkeypatch):
    """It was forgotten where nothing was in flight, and half a study passed for a whole one."""
    asked = []

    def room(self):
        asked.append(len(self.tasks))
        if len(asked) == 11:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)
        return 1 - len(self.tasks)

    monkeypatch.setattr(Here, "room", room)
    found = study(tmp_path, runs=50)
    with pytest.raises(KeyboardInterrupt):
        found.run()
    assert not found.kept_estimates() and found.status().done < 50


def test_a_study_runs_in_a_thread(tmp_path, plain):
    with ThreadPoolExecutor(1) as executor:
        assert same(executor.submit(study(tmp_path, where="pool").run).result(), plain)
