"""One run and its outcome: a line of text and back."""

import json

import numpy as np
import pytest
from made_up_records import made_up

from steinquad.paper.record import Mark, Record, Run, finite

RUNS = [Run("genz-corner", "MC", 10, 2, seed, {"design": "iid"}) for seed in range(2)]


def test_a_trajectory_comes_back_and_older_records_have_none():
    row = made_up(RUNS[0], trajectory=(Mark(1, 0.1, 2.0, None), Mark(10, 0.5, 0.1, 1e9)))
    line = row.to_json()
    assert Record.from_json(line) == row
    older = json.loads(line)
    del older["trajectory"]
    assert Record.from_json(json.dumps(older)).trajectory == ()


def test_what_is_not_finite_is_null():
    row = Record.from_json(made_up(RUNS[0], std=float("nan")).to_json())
    assert row.std is None and row.estimate is not None


def test_the_key_is_the_run_whatever_the_order_of_its_settings():
    one = Run("genz-corner", "MC", 10, 2, 0, {"a": 1, "b": 2})
    other = Run("genz-corner", "MC", 10, 2, 0, {"b": 2, "a": 1})
    assert one.key == other.key and one.key != Run("genz-corner", "MC", 10, 2, 1, {}).key
    assert RUNS[0].group == RUNS[1].group and RUNS[0].key != RUNS[1].key


def test_records_of_before_have_no_evaluations_apart():
    line = made_up(RUNS[0], evaluation_seconds=6.0).to_json()
    assert Record.from_json(line).total_seconds == 8.0
    old = Record.from_json(line.replace(', "evaluation_seconds": 6.0', ""))
    assert old.evaluation_seconds is None and old.total_seconds == 2.0


@pytest.mark.parametrize("line", ["", "[1]", "{}", '{"problem": 1}', "null"])
def test_another_line_is_no_record(line):
    with pytest.raises(ValueError):
        Record.from_json(line)


@pytest.mark.parametrize("value", [0.0, -1.5, 1e300])
def test_numbers_are_finite_or_none(value):
    assert finite(np.float64(value)) == value and type(finite(np.float64(value))) is float
    assert finite(value * np.inf if value else np.nan) is None
