"""A Dask cluster says the same as this process, to the last bit, and survives its workers."""

import os
import signal

import pytest
from small_files import QUICK, frame_of, named, normal_rows, written

import steinquad as sq
from steinquad.streaming import source as module
from steinquad.streaming.workers import connected


@pytest.fixture
def files(tmp_path):
    return written(tmp_path / "a", frame_of(normal_rows(3000, 2)), (700, 1500), group=100)


def test_what_is_no_client():
    pytest.importorskip("distributed")
    with pytest.raises(sq.InputError, match=r"client is 7; pass a distributed\.Client"):
        connected(7).__enter__()
    with pytest.raises(sq.InputError, match="client is 'nonsense://1', where no Dask"):
        connected("nonsense://1").__enter__()


def test_the_same_answer_by_threads_of_dask(files, monkeypatch):
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(module, "PIECE", 100)
    options = {**named(2), "method": QUICK, "fit_rows": 200}
    here = sq.estimate(files, **options)
    counts = []
    with distributed.Client(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address="127.0.0.1:0"
    ) as client:
        there = sq.estimate(
            files, client=client, progress=lambda *step: counts.append(step), **options
        )
        client.run_on_scheduler(lambda: None)  # the user's client is open still
    assert (there.mean == here.mean).all() and (there.std == here.std).all()
    assert [step[0] for step in counts if step[1] == 3000] == list(range(100, 3001, 100))


def test_what_is_wrong_in_a_file_comes_back_from_a_worker(files, tmp_path):
    distributed = pytest.importorskip("distributed")
    x = normal_rows(3000, 2)
    x[2999, 0] = -20.0
    written(files, frame_of(x), (700, 1500), group=100)
    with (
        distributed.Client(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0"
        ) as client,
        pytest.raises(sq.InputError, match="002.parquet has at row 1499 the point"),
    ):
        sq.estimate(files, client=client, method=QUICK, support={0: (-9, None)}, **named(2))


@pytest.mark.slow
def test_a_worker_is_killed_on_the_way(files, monkeypatch):
    """By the address of the scheduler; what the lost worker was doing is done again."""
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(module, "PIECE", 100)
    options = {**named(2), "method": QUICK, "fit_rows": 200}
    here = sq.estimate(files, **options)
    killed, done = [], []
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
    ) as own:

        def kill(step, total, left):
            done.append((step, total))
            if total == 3000 and not killed:
                killed.append(next(iter(own.workers.values())).process.pid)
                os.kill(killed[0], signal.SIGKILL)

        there = sq.estimate(files, client=own.scheduler_address, progress=kill, **options)
    assert killed and done[-1] == (3000, 3000)
    assert (there.mean == here.mean).all() and (there.std == here.std).all()
