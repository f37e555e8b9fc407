"""Studies: what comes out of them as a table."""

import sys

import numpy as np
import pytest
import scipy.stats as st
from small_study import study

import steinquad as sq


def test_a_data_frame_has_everything(tmp_path):
    found = study(tmp_path, "two", outputs=["y", "z"], runs=5)
    found.run()
    frame = found.to_dataframe()
    assert list(frame.columns[:6]) == ["number", "status", "a", "b", "y", "z"]
    np.testing.assert_array_equal(frame["z"], frame["a"] - frame["b"])


def test_without_pandas_it_says_so(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(sq.InputError, match="needs pandas"):
        study(tmp_path, runs=2).to_dataframe()


def test_columns_with_the_same_name_are_told_apart(tmp_path):
    found = study(tmp_path, "two", outputs=["y", "a", "status"], runs=5)
    assert len(set(found.columns)) == len(found.columns)


def test_names_of_columns_are_different(tmp_path):
    inputs = sq.Product({"status_3": st.norm(), "status": st.norm()})
    found = sq.Study(lambda x: x, inputs, tmp_path / "s.sqlite", 4, style="dict", where="here")
    assert len(set(found.columns)) == len(found.columns)
