"""Values in a file: whole after a kill, and a file of something else is left alone."""

import numpy as np
import pytest

import steinquad as sq
from steinquad.paper.commands.values import Values

SETTINGS = {"problem": "made up", "n": 6}


@pytest.mark.parametrize("left", [1, 12, 27, 30, 45, 47])
def test_values_survive_a_kill_at_any_byte(tmp_path, left):
    path = tmp_path / "values.jsonl"
    Values(path, SETTINGS).add(np.arange(3.0))
    whole = path.read_bytes()
    first = whole.index(b"\n") + 1
    path.write_bytes(whole[:left])
    again = Values(path, SETTINGS)
    assert again.rows == ([0.0, 1.0, 2.0] if left >= len(whole) else [])
    assert path.read_bytes() == (whole if left >= len(whole) else whole[:first])
    again.add(np.ones(2))
    assert Values(path, SETTINGS).rows == [*again.rows[:-2], 1.0, 1.0]


@pytest.mark.parametrize("content", ["1\n2\n", "x,y", "\n", '{"problem": "made up"'])
def test_a_file_of_something_else_is_left_alone(tmp_path, content):
    path = tmp_path / "values.jsonl"
    path.write_text(content)
    with pytest.raises(sq.InputError, match="--path"):
        Values(path, {"n": 6})
    assert path.read_text() == content
