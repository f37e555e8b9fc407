"""The store: nothing finished is lost or overwritten, damage is seen and left alone."""

import hashlib
import os
import shutil
import socket
import sqlite3
from datetime import UTC, datetime
from pathlib import Path

import pytest
from small_study import HERE, inputs, study

import steinquad as sq
from steinquad.errors import InputError
from steinquad.studies.database import APPLICATION, checksum
from steinquad.studies.store import Counts, Evaluation, Store

ABOUT = {"inputs": '["a"]', "outputs": '["y"]', "seed": "0"}


def done(number, value=1.0, **changes):
    row = Evaluation(number, "done", (0.1 * number,), (value,), 0.5, 1, None, None, "v1")
    return row._replace(**changes)


def failed(number, attempt=1):
    row = done(number, attempt=attempt, status="failed", failure="exception", error="E: <b>")
    return row._replace(outputs=None)


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "deep" / "s.sqlite", ABOUT)


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_rows_come_back_exactly_and_in_order(store):
    rows = [done(3, 0.1 + 0.2), done(0, 1e-300), failed(1), done(2, -1 / 3)]
    with store.writing():
        store.record(rows)
        assert store.counts() == Counts(3, 1, 2.0)
    again = list(Store(store.path, ABOUT).rows())
    want = [row._replace(input=list(row.input)) for row in sorted(rows)]
    assert [r._replace(outputs=r.outputs and tuple(r.outputs)) for r in again] == want
    assert store.failures() == {"exception": 1} and store.versions() == ["v1"]
    assert [row.number for row in store.rows(2)] == [0, 1]


def test_examples_of_failures_and_how_long_evaluations_take(store):
    with store.writing():
        assert store.median_and_longest() is None and store.first_failures() == []
        late = failed(7)._replace(error="later")
        rows = [done(i, seconds=float(i)) for i in range(5)]
        store.record([late, failed(6), failed(8)._replace(failure="time"), *rows])
        assert store.first_failures() == [("exception", 2, 6, "E: <b>"), ("time", 1, 8, "E: <b>")]
        assert store.median_and_longest() == (2.0, 4.0)


def test_what_is_done_is_never_overwritten_and_what_failed_is(store):
    with store.writing():
        store.record([done(0, 1.0), failed(1)])
        store.record([done(0, 2.0), failed(0, 5), done(1, 3.0, attempt=2)])
        rows = list(store.rows())
        assert [row.outputs for row in rows] == [[1.0], [3.0]] and rows[1].attempt == 2
        assert rows[1].error is None and store.attempts(0, 9) == {0: None, 1: None}


def test_a_record_is_all_or_nothing(store):
    with store.writing():
        with pytest.raises(InputError):
            store.record([done(0), done(1, status="unheard of")])
        assert store.counts() == Counts(0, 0, 0.0)
        store.record([done(0)])
    assert store.counts().done == 1


def test_attempts_are_given_back(store):
    with store.writing():
        store.record([failed(4, attempt=2), done(5)])
        assert store.attempts(0, 9) == {4: 2, 5: None}
        assert store.forget_attempts() == 1
        assert store.attempts(0, 9) == {4: 0, 5: None}


def test_estimates_are_kept(store):
    with store.writing():
        answers = [{"mean": m, "std": 0.1, "status": "converged"} for m in (0.1 + 0.2, 1.0, 2.0)]
        for n, answer in zip((20, 10, 10), answers, strict=True):
            store.keep_estimate(n, "s", answer)
        assert store.estimates() == [(10, "s", answers[2]), (20, "s", answers[0])]


def test_sessions_have_their_time(tmp_path):
    clock = [100.0]
    store = Store(tmp_path / "s.sqlite", ABOUT, clock=lambda: clock[0])
    with store.writing():
        clock[0] = 103.0
        store.record([done(0)])
        clock[0] = 104.5
        store.record([done(1)])
        clock[0] = 900.0  # nothing is evaluated any more
    with store.writing():
        pass
    with store.writing():
        clock[0] = 902.0
        store.record([done(2)])
        found = store.sessions()
    assert (found.count, found.seconds) == (2, 6.5)
    assert datetime.fromisoformat(found.began) <= datetime.now(UTC)
    assert store.sessions() == found


def test_readers_may_look_while_one_writes(store):
    other = Store(store.path, ABOUT)
    with store.writing():
        store.record([done(0)])
        assert other.counts().done == 1
        with pytest.raises(InputError, match="being written by process"), other.writing():
            pass
        store.record([done(1)])
        assert other.counts().done == 2
    with other.writing():
        other.record([done(2)])
    with pytest.raises(RuntimeError):
        other.record([done(3)])


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


def filled(store, count=3000):
    with store.writing():
        store.record([done(i) for i in range(count)])
    return store.path


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


def test_another_study_may_not_use_the_store(tmp_path):
    study(tmp_path, runs=4).run()
    for change, word in (
        ({"seed": 1}, "seed"),
        ({"outputs": ["g"]}, "outputs"),
        ({"points": "iid"}, "points"),
    ):
        with pytest.raises(sq.InputError, match=f"another study: its {word}"):
            study(tmp_path, runs=4, **change).run()
    other = sq.Study(
        "integrands.py:smooth", sq.Product({**inputs().blocks}), tmp_path / "s.sqlite", 4,
        directory=HERE, where="here", method=sq.MonteCarlo(),
    )  # fmt: skip
    other.run()  # an equal distribution is the same study
    own = inputs().blocks
    shifted = sq.Product({"a": sq.Truncated(own["a"], -2, 9), "b": own["b"]})
    with pytest.raises(sq.InputError, match="its first point is"):
        sq.Study("integrands.py:smooth", shifted, tmp_path / "s.sqlite", 4, directory=HERE).run()


@pytest.mark.parametrize(
    "column, text",
    [
        ("input", "[1.0, 2"),
        ("input", "7"),
        ("outputs", '["a"]'),
        ("outputs", "[1.0, 2.0]"),
        ("outputs", b"\xff\xfe"),
    ],
)
def test_texts_in_a_store_that_make_no_sense(tmp_path, column, text):
    found = study(tmp_path)
    found.run()
    path = tmp_path / "s.sqlite"
    with sqlite3.connect(path) as database:
        database.execute(f"UPDATE evaluation SET {column} = ? WHERE number = 7", (text,))
    database.close()
    before = path.read_bytes()
    for act in (found.estimate, study(tmp_path, runs=80).run):
        with pytest.raises(sq.InputError, match="damaged"):
            act()
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("seconds = 'soon'", "row 7: seconds is 'soon'"),
        ("seconds = -1.0", "row 7: seconds is '-1.0'"),
        ("seconds = 9e999", "row 7: seconds is 'inf'"),
        ("seconds = 0.123", "row 7: its checksum is wrong"),
        ("attempt = -2", "row 7: attempt is '-2'"),
        ("attempt = 'two'", "row 7: attempt is 'two'"),
        ("outputs = '[1.5]'", "row 7: its checksum is wrong"),
        ("outputs = '[1' || substr(outputs, 2)", "row 7: its checksum is wrong"),
        ("input = '[0.5, 0.5]'", "row 7: its checksum is wrong"),
        ("version = 'other'", "row 7: its checksum is wrong"),
        ("failure = 'none'", "row 7: its checksum is wrong"),
        ("checksum = ''", "row 7: its checksum is wrong"),
    ],
)
def test_an_altered_row_is_one_sentence_with_its_number(tmp_path, change, words):
    found = study(tmp_path, runs=10)
    found.run()
    with sqlite3.connect(tmp_path / "s.sqlite") as database:
        database.execute(f"UPDATE evaluation SET {change} WHERE number = 7")
    database.close()
    acts = [found.estimate, study(tmp_path, runs=20).run, found.to_dataframe]
    for act in [*acts, found.status] if "seconds" in change and "0.123" not in change else acts:
        with pytest.raises(sq.InputError, match=words) as raised:
            act()
        assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, f"[{'9' * 400}]", f"[{'9' * 5000}]", "[NaN]", "[true]", "[1e999]", "{}"],
)
def test_outputs_that_were_written_wrongly(store, text):
    """With a checksum that fits: what was written is itself no list of numbers."""
    path = filled(store, 3)
    row = (1, "done", "[0.1]", text, 0.5, 1, None, None, "v1")
    with sqlite3.connect(path) as database:
        database.execute("UPDATE evaluation SET outputs = ? WHERE number = 1", (text,))
        database.execute("UPDATE evaluation SET input = '[0.1]' WHERE number = 1")
        database.execute("UPDATE evaluation SET checksum = ? WHERE number = 1", (checksum(row),))
    database.close()
    with pytest.raises(InputError, match=r"damaged \(row 1: ") as raised:
        list(store.rows())
    assert len(str(raised.value)) < 500


@pytest.mark.parametrize(
    "change", ["settings = 'x'", "settings = '[1]'", "record = '3'", "record = '{}'"]
)
def test_a_kept_estimate_that_was_altered(tmp_path, change):
    found = study(tmp_path, runs=10)
    found.run()
    with sqlite3.connect(tmp_path / "s.sqlite") as database:
        database.execute(f"UPDATE estimate SET {change}")
    database.close()
    with pytest.raises(sq.InputError, match="damaged"):
        found.kept_estimates()


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
    before = sorted((each.name, each.lstat()[:8]) for each in tmp_path.iterdir())
    found = sq.Study("integrands.py:smooth", inputs(), path, 4, directory=HERE, where="here")
    for act in (found.run, found.status, found.estimate):
        with pytest.raises(sq.InputError, match=f"is a {kind}; give the path of a file"):
            act()
    assert sorted((each.name, each.lstat()[:8]) for each in tmp_path.iterdir()) == before


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
