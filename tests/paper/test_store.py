"""Records survive a kill at any byte, none is lost or doubled, and one process writes."""

import pytest
from made_up_records import made_up

import steinquad as sq
from steinquad.paper.record import Record, Run
from steinquad.paper.store import RecordStore, replacing

RUNS = [Run("genz-corner", "MC", 10, 2, seed, {"design": "iid"}) for seed in range(3)]


def write(path, runs):
    store = RecordStore(path)
    with store.writing():
        for run in runs:
            store.add(made_up(run))
    return store


def test_a_record_comes_back_as_it_was(tmp_path):
    row = made_up(RUNS[0], estimate=0.1 + 0.2, message='a "word", ü')
    assert Record.from_json(row.to_json()) == row
    store = write(tmp_path / "new" / "a.jsonl", RUNS)
    again = RecordStore(store.path)
    assert again.records == store.records and list(again.records) == [run.key for run in RUNS]


def test_cut_off_at_any_byte_and_gone_on(tmp_path):
    whole = write(tmp_path / "whole.jsonl", RUNS).path.read_bytes()
    torn = tmp_path / "torn.jsonl"
    ends = [i for i, byte in enumerate(whole) if byte == ord("\n")]
    sizes = {*range(0, len(whole) + 1, 29), *(end + k for end in ends for k in (-1, 0, 1))}
    for size in sorted(sizes):
        torn.write_bytes(whole[:size])
        store = RecordStore(torn)
        assert len(store.records) == whole[:size].count(b"\n")
        assert torn.stat().st_size == size  # reading changes nothing
        with store.writing():
            for run in RUNS:
                if run.key not in store.records:
                    store.add(made_up(run))
        assert torn.read_bytes() == whole


def test_one_process_writes_and_sees_what_others_wrote(tmp_path):
    early = RecordStore(tmp_path / "a.jsonl")
    store = write(early.path, RUNS[:1])
    with store.writing():
        with pytest.raises(sq.InputError, match="another process"), early.writing():
            pass
        store.add(made_up(RUNS[1]))
    with early.writing():  # opened before the others wrote
        assert set(early.records) == {RUNS[0].key, RUNS[1].key}
        with pytest.raises(RuntimeError, match="recorded already"):
            early.add(made_up(RUNS[1]))
    with pytest.raises(RuntimeError, match="writing"):
        early.add(made_up(RUNS[2]))


def test_other_files_are_refused(tmp_path):
    path = write(tmp_path / "a.jsonl", RUNS[:1]).path
    line = path.read_text()
    path.write_text(line + line)
    with pytest.raises(sq.InputError, match="repeats a run in line 2"):
        RecordStore(path)
    for text in ("1, 2\n", "[1]\n", "{}\n", '{"problem": 1}\n'):
        path.write_text(text)
        with pytest.raises(sq.InputError, match="no record in line 1"):
            RecordStore(path)
    for place in (tmp_path, path / "under" / "a.jsonl"):
        with pytest.raises(sq.InputError, match="cannot be read"):
            RecordStore(place)


def test_packed_records_are_read_and_gone_on_from(tmp_path):
    store = write(tmp_path / "a.jsonl", RUNS[:2])
    plain = store.path.read_bytes()
    store.pack()
    assert not store.path.exists() and store.packed.name == "a.jsonl.gz"
    assert RecordStore(store.path).records == store.records
    # what was packed is not done again
    assert list(write(store.path, RUNS[2:]).records) == [run.key for run in RUNS]
    assert store.path.read_bytes().count(b"\n") == 1
    RecordStore(store.path).pack()
    packed = store.packed.read_bytes()
    # killed between the two steps of packing: both have them
    store.path.write_bytes(plain)
    both = RecordStore(store.path)
    assert len(both.records) == 3
    both.pack()
    assert store.packed.read_bytes() == packed and not store.path.exists()
    # another record of the same run is no leftover
    store.path.write_text(made_up(RUNS[0], estimate=2.0).to_json() + "\n")
    with pytest.raises(sq.InputError, match=r"a\.jsonl repeats a run in line 1"):
        RecordStore(store.path)


@pytest.mark.parametrize(
    "spoil", [lambda b: b[:-9], lambda b: b"x" + b, lambda b: b[:40] + b[50:]]
)
def test_a_spoilt_packed_file_is_named(tmp_path, spoil):
    store = write(tmp_path / "a.jsonl", RUNS)
    store.pack()
    store.packed.write_bytes(spoil(store.packed.read_bytes()))
    with pytest.raises(sq.InputError, match=r"a\.jsonl\.gz cannot be unpacked"):
        RecordStore(store.path)


def test_a_file_is_replaced_as_a_whole_or_left_as_it_was(tmp_path):
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")
    with pytest.raises(ZeroDivisionError), replacing(path) as stream:
        stream.write(b"half")
        raise ZeroDivisionError
    assert path.read_bytes() == b"old"
    with replacing(path) as stream:
        stream.write(b"new")
    assert path.read_bytes() == b"new" and list(tmp_path.iterdir()) == [path]
