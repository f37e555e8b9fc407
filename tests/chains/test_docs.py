"""The page on posterior expectations runs, block after block."""

import re
from pathlib import Path

import pytest

import steinquad as sq

PAGE = Path(__file__).parents[2] / "docs" / "posterior.md"


def test_every_block_of_the_page_runs(capsys):
    pytest.importorskip("xarray")
    pytest.importorskip("pandas")
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    assert len(blocks) >= 4
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, PAGE.name, "exec"), names)
    assert "2000 draws of 4 chains" in capsys.readouterr().out
    assert isinstance(names["found"], sq.PosteriorSummary)
