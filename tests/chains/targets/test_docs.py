"""Every block of docs/targets.md runs."""

import re
from pathlib import Path

import four_supports as four
import numpy as np
import pytest

PAGE = Path(__file__).parents[3] / "docs" / "targets.md"
BLOCKS = re.findall(r"## ([^\n]+)\n(?:(?!## ).)*?```python\n(.*?)```", PAGE.read_text(), re.S)


def test_there_is_one_for_every_library():
    assert [title.split()[0] for title, _ in BLOCKS] == ["NumPyro", "BlackJAX", "PyMC", "Stan"]


@pytest.mark.parametrize("block", [code for _, code in BLOCKS], ids=[name for name, _ in BLOCKS])
def test_it_runs_and_gives_scores(block, tmp_path, monkeypatch):
    four.import_pymc()  # once without its warning
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(compile(block, str(PAGE), "exec"), names)
    assert names["scores"].shape == names["points"].shape
    assert np.isfinite(names["scores"]).all() and names["scores"].any()
