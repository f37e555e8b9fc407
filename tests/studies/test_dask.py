"""A study on a Dask cluster gives the same, and says where no cluster answers."""

import pytest
from small_study import same, study

import steinquad as sq


@pytest.mark.slow
def test_dask(tmp_path, plain):
    pytest.importorskip("distributed")
    assert same(study(tmp_path, where="dask").run(), plain)


def test_a_scheduler_that_does_not_answer(tmp_path):
    pytest.importorskip("distributed")
    with pytest.raises(sq.InputError, match="address is 'nonsense:"):
        study(tmp_path, where="dask", address="nonsense://1").run()
