"""The store: nothing finished is lost or overwritten, altered rows are seen and named."""

import shutil
import sqlite3
from datetime import UTC, datetime

import pytest
from small_store import ABOUT, done, filled
from small_study import HERE, inputs, study

import steinquad as sq
from steinquad.errors import InputError
from steinquad.studies.database import checksum
from steinquad.studies.store import Counts, Store


def failed(number, attempt=1):
    row = done(number, attempt=attempt, status="failed", failure="exception", error="E: <b>")
    return row._replace(outputs=None)


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
        kinds = [(count, row.failure, row.number) for count, row in store.first_failures()]
        assert kinds == [(2, "exception", 6), (1, "time", 8)]
        (_, first), _ = store.first_failures()
        assert first == failed(6)._replace(input=list(failed(6).input))
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
    "change",
    [
        *("settings = 'x'", "settings = '[1]'", "record = '3'", "record = '{}'"),
        "record = replace(record, '1', '2')",
    ],
)
def test_a_kept_estimate_that_was_altered(tmp_path, change):
    found = study(tmp_path, runs=10)
    found.run()
    with sqlite3.connect(tmp_path / "s.sqlite") as database:
        database.execute(f"UPDATE estimate SET {change}")
    database.close()
    with pytest.raises(sq.InputError, match="damaged"):
        found.kept_estimates()


def alter(path, change):
    """Behind the library's back, whatever the tables allow."""
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA ignore_check_constraints = 1")
        database.execute(change)
    database.close()


@pytest.fixture(scope="module")
def adaptive(tmp_path_factory):
    place = tmp_path_factory.mktemp("adaptive")
    study(place, "kinked", runs=200, points="adaptive").run()
    return place / "s.sqlite"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("UPDATE choice SET chance = 'x' WHERE number = 151", "choice 151: its checksum is wrong"),
        ("UPDATE choice SET chance = 0 WHERE number = 151", "choice 151: its checksum is wrong"),
        ("UPDATE choice SET chance = 0.5 WHERE number = 151", "choice 151: its checksum"),
        ("UPDATE choice SET candidates = 7 WHERE number = 151", "choice 151: its checksum"),
        ("UPDATE choice SET input = '[1' WHERE number = 151", "choice 151: its checksum is wrong"),
        ("DELETE FROM choice WHERE number = 151", "row 151: how it was chosen is missing"),
        ("UPDATE choice SET number = -4 WHERE number = 151", "row 151: how it was chosen"),
    ],
)
def test_a_chance_that_was_altered_biases_no_average(tmp_path, adaptive, change, words):
    shutil.copy(adaptive, tmp_path)
    alter(tmp_path / "s.sqlite", change)
    with pytest.raises(sq.InputError, match=words):
        study(tmp_path, "kinked", runs=200, points="adaptive").estimate()


@pytest.mark.parametrize(
    ("change", "ask", "words"),
    [
        ("UPDATE session SET seconds = 'x'", Store.sessions, "a session has lasted"),
        ("UPDATE session SET seconds = 9e999", Store.sessions, "a session has lasted"),
        ("UPDATE session SET began = x'ff'", Store.sessions, "damaged"),
        (
            "UPDATE evaluation SET status = 'odd' WHERE number = 2",
            Store.counts,
            "row 2: its check",
        ),
        ("UPDATE evaluation SET seconds = 'x'", Store.median_and_longest, "row 0: seconds is 'x'"),
        ("UPDATE evaluation SET failure = x'ff' WHERE number = 9", Store.failures, "row 9: its"),
        (
            "UPDATE evaluation SET error = NULL WHERE number = 9",
            Store.first_failures,
            "row 9: its",
        ),
        (
            "UPDATE evaluation SET attempt = 'two' WHERE number = 9",
            lambda store: store.attempts(0, 99),
            "row 9: attempt is 'two'",
        ),
        ("DROP TABLE estimate", Store.estimates, "damaged .no such table: estimate"),
    ],
)
def test_every_question_to_an_altered_store_is_one_sentence(store, change, ask, words):
    with store.writing():
        store.record([*(done(i) for i in range(9)), failed(9)])
    alter(store.path, change)
    with pytest.raises(InputError, match=words) as raised:
        ask(store)
    assert "\n" not in str(raised.value)


def test_versions_are_those_of_the_rows(store):
    with store.writing():
        store.record([done(0), done(1, version="v2"), failed(2)._replace(version="v3")])
        assert store.versions() == ["v1", "v2"]
