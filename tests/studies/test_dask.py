"""A study on a Dask cluster gives the same, and says where no cluster answers."""

import os
from pathlib import Path

import pytest
from small_study import same, study

import steinquad as sq
from steinquad.studies.calls.call import Call
from steinquad.studies.calls.supervisor import _descendants
from steinquad.studies.dask import dask_executor


@pytest.mark.slow
def test_dask(tmp_path, plain):
    pytest.importorskip("distributed")
    assert same(study(tmp_path, where="dask").run(), plain)


def test_a_scheduler_that_does_not_answer(tmp_path):
    pytest.importorskip("distributed")
    with pytest.raises(sq.InputError, match="address is 'nonsense:"):
        study(tmp_path, where="dask", address="nonsense://1").run()


def listening(pids):
    """Addresses at which these processes wait for connections, as Linux writes them."""
    sockets = set()
    for pid in pids:
        for link in Path(f"/proc/{pid}/fd").iterdir():
            if link.is_symlink() and (end := os.readlink(link)).startswith("socket:["):
                sockets.add(end[8:-1])
    known = [Path(f"/proc/net/{kind}").read_text().splitlines()[1:] for kind in ("tcp", "tcp6")]
    lines = [line.split() for kind in known for line in kind]
    return {each[1].split(":")[0] for each in lines if each[3] == "0A" and each[9] in sockets}


@pytest.mark.slow
def test_a_cluster_of_this_machine_listens_to_this_machine_only():
    distributed = pytest.importorskip("distributed")
    own = dask_executor(Call(("a",), ("f",)), abs, workers=2, address=None)
    try:
        assert listening([os.getpid(), *_descendants(os.getpid())]) == {"0100007F"}  # 127.0.0.1
    finally:
        own.close()
    with distributed.LocalCluster(n_workers=1, dashboard_address=":0"):  # what Dask does by itself
        assert listening([os.getpid(), *_descendants(os.getpid())]) > {"0100007F"}
