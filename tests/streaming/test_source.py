"""Rows of files: the same however the files are cut, and what is wrong is named."""

import numpy as np
import pytest
from small_files import frame_of, named, normal_rows, written

import steinquad as sq
from steinquad.streaming import source as module
from steinquad.streaming.source import Columns, Source, batches, files_of


def columns_of(d=2):
    return Columns.of(**named(d))


def whole(source):
    read = [batch for piece in source.pieces for batch in batches(piece, source.columns)]
    firsts = np.cumsum([0] + [len(batch.x) for batch in read])[:-1]
    assert [batch.first for batch in read] == firsts.tolist()
    return tuple(np.concatenate([batch[i] for batch in read]) for i in (1, 2, 3))


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize(
    ("cuts", "kinds", "group"),
    [((), ("parquet",), None), ((1, 60), ("csv",), None), ((33, 90), ("parquet", "csv"), 7)],
)
def test_rows_are_the_same_however_they_are_cut(tmp_path, monkeypatch, d, cuts, kinds, group):
    monkeypatch.setattr(module, "PIECE", 20)
    monkeypatch.setattr(module, "BATCH", 6)
    x = normal_rows(157, d)
    frame = frame_of(x)
    source = Source.open(written(tmp_path / "a", frame, cuts, kinds, group), columns_of(d))
    assert source.rows == 157 and len(source.files) == len(cuts) + 1
    read_x, fx, score = whole(source)
    np.testing.assert_allclose(read_x, x, rtol=1e-15)
    np.testing.assert_allclose(score, -x, rtol=1e-15)
    numbers = np.array([0, 1, 59, 60, 61, 100, 156])
    some = source.take(numbers)
    np.testing.assert_array_equal(some.x, read_x[numbers])
    np.testing.assert_array_equal(some.fx, fx[numbers])
    np.testing.assert_array_equal(some.score, score[numbers])


def test_small_row_groups_are_read_together(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "PIECE", 20)
    folder = written(tmp_path / "a", frame_of(normal_rows(100, 2)), group=7)
    pieces = Source.open(folder, columns_of()).pieces
    assert [piece.rows for piece in pieces] == [14] * 6 + [16]
    assert [piece.first for piece in pieces] == list(range(0, 85, 14))
    assert all(piece.begin == piece.first for piece in pieces)


def test_which_files(tmp_path):
    folder = written(tmp_path / "a", frame_of(normal_rows(40, 2)), (10, 20), ("csv", "parquet"))
    (folder / "_notes.csv").write_text("what\n")
    (folder / ".hidden").mkdir()
    (folder / "read.me").write_text("what\n")
    below = written(folder / "b", frame_of(normal_rows(5, 2)))
    names = ["000.csv", "001.parquet", "002.csv", "b/000.parquet"]
    assert files_of(folder) == [folder / name for name in names]
    assert files_of(f"{folder}/0*.csv") == [folder / names[0], folder / names[2]]
    assert files_of([below, str(folder / names[0])]) == [folder / names[3], folder / names[0]]
    assert files_of((folder / names[1],)) == [folder / names[1]]


def test_whole_numbers_flags_and_empty_files(tmp_path):
    frame = frame_of(normal_rows(30, 2))
    frame["f0"], frame["f1"] = np.arange(30), np.arange(30) < 4
    folder = written(tmp_path / "a", frame, (0, 10))
    _, fx, _ = whole(Source.open(folder, columns_of()))
    np.testing.assert_array_equal(fx[:, 0], np.arange(30.0))
    np.testing.assert_array_equal(fx[:, 1], np.arange(30) < 4)


def test_one_name_is_one_number():
    assert Columns.of("x0", "f0", None) == Columns(("x0",), ("f0",), (), scalar=True)
    assert not Columns.of("x0", ["f0"], None).scalar
    assert Columns.of(["a", "b"], "a", ["b", "a"]).all == ("a", "b")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"x": None}, "x is None; name columns"),
        ({"x": []}, r"x is \[\]; name columns"),
        ({"x": [1]}, r"x is \[1\]; name columns"),
        ({"value": ["f0", "f0"]}, "value names column 'f0' twice"),
        ({"score": ["s0"]}, "score has 1 columns but x has 2"),
    ],
)
def test_names_that_are_refused(change, words):
    with pytest.raises(sq.InputError, match=words):
        Columns.of(**(named(2) | change))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("nothing", "source nothing does not exist"),
        ("n*thing", r"source n\*thing matches no files"),
        ("empty", "source empty is a directory without CSV or Parquet files"),
        ([], "source is empty"),
        ([7], "source has 7; give paths"),
        (["a", "a/000.parquet"], "source has file a/000.parquet twice"),
        ("bad.parquet", "file bad.parquet cannot be read as CSV or Parquet"),
        ("bad.csv", "file bad.csv has no one column 'x0'; it has a"),
        ("twice.csv", "file twice.csv has no one column 'x0'; it has it 2 times"),
        ("words.csv", "file words.csv cannot be read as CSV or Parquet"),
        ("latin.csv", "file latin.csv has a column whose name is not UTF-8"),
        ("none.csv", "file none.csv cannot be read as CSV or Parquet"),
        ("headed.csv", "source 'headed.csv' has 0 rows; give at least 2"),
    ],
)
def test_files_that_are_refused(tmp_path, monkeypatch, given, words):
    monkeypatch.chdir(tmp_path)
    frame = frame_of(normal_rows(9, 2))
    written(tmp_path / "a", frame)
    (tmp_path / "empty").mkdir()
    (tmp_path / "bad.parquet").write_text("no")
    (tmp_path / "bad.csv").write_text("a\n1\n")
    (tmp_path / "twice.csv").write_text("x0,x0\n1,1\n")
    frame.assign(x0="b").to_csv(tmp_path / "words.csv")
    (tmp_path / "latin.csv").write_bytes("größe,x0\n1,2\n".encode("latin-1"))
    (tmp_path / "none.csv").write_text("")
    frame[:0].to_csv(tmp_path / "headed.csv")
    with pytest.raises(sq.InputError, match=words) as caught:
        Source.open(given, columns_of())
    assert "\n" not in str(caught.value)


def test_a_column_of_words(tmp_path):
    folder = written(tmp_path / "a", frame_of(normal_rows(9, 2)))
    with pytest.raises(sq.InputError, match="has column 'word', which is not numeric but"):
        Source.open(folder, Columns.of("x0", "word", None))


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("value", [np.nan, np.inf, None])
def test_a_missing_number_is_named_with_file_and_row(tmp_path, monkeypatch, kind, value):
    monkeypatch.setattr(module, "PIECE", 20)
    frame = frame_of(normal_rows(100, 2))
    frame.loc[73, "s1"] = value
    folder = written(tmp_path / "a", frame, (40,), (kind,), group=7)
    source = Source.open(folder, columns_of())
    words = rf"001.{kind} has (nan|inf) in column 's1' at row 33; remove or repair"
    with pytest.raises(sq.InputError, match=words):
        whole(source)


def test_a_file_that_changes_is_noticed(tmp_path):
    frame = frame_of(normal_rows(50, 2))
    folder = written(tmp_path / "a", frame, kinds=("csv",))
    source = Source.open(folder, columns_of())
    written(folder, frame[:30], kinds=("csv",))
    with pytest.raises(sq.InputError, match="has changed while it was read"):
        whole(source)
