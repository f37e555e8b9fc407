"""The committed records are what the library computes: one of each figure is computed again."""

import random
from dataclasses import replace
from pathlib import Path

import pytest

from steinquad.paper.spec import load, names
from steinquad.paper.store import RecordStore
from steinquad.paper.workers import execute

RECORDS = Path(__file__).parents[2] / "docs" / "reproduction"
EXPENSIVE = 60.0  # CPU seconds above which a record is not computed again here
NEAR = 0.5  # of the larger error, std: what another machine's arithmetic may change
# Long trainings multiply the last digits. Of 209 on two processors, whose statuses were all the
# same, none differed by more than 3.4 std, or by more than a factor of 6.4 in std, of 4 in loss.
STDS, FACTOR = 5.0, 10.0


def alike(one, other, floor):
    """Whether two numbers are near each other, or both below a floor, or both missing."""
    if one is None or other is None:
        return one is other
    return abs(one - other) <= NEAR * max(abs(one), abs(other)) + floor


def of_one_size(one, other, floor):
    """Whether two numbers are within the factor, or both below a floor, or both missing."""
    if one is None or other is None:
        return one is other
    return max(one, other) <= FACTOR * min(one, other) + floor


def agree(old, new):
    """Whether two records of the same run can be of the same code."""
    floor = 1e-7 * abs(old.truth)
    if "max_steps" not in old.run.settings or old.std is None:
        return alike(new.error, old.error, floor) and alike(new.std, old.std, floor)
    near = abs(new.estimate - old.estimate) <= STDS * max(new.std, old.std) + floor
    return near and of_one_size(new.std, old.std, floor)


def test_what_is_alike():
    assert alike(1.0, 1.5, 0.0) and alike(None, None, 0.0) and alike(1e-9, 0.0, 1e-8)
    assert not alike(1.0, 2.5, 0.0) and not alike(None, 1.0, 9.0) and not alike(1e-3, 1e-5, 1e-7)
    assert of_one_size(1.0, 9.0, 0.0) and not of_one_size(1.0, 11.0, 0.0)


@pytest.mark.parametrize(("figure", "method"), [("table1", "BQ"), ("table1", "BSN.paper")])
def test_an_edited_record_is_noticed(figure, method):
    records = RecordStore(RECORDS / f"{figure}.jsonl").records.values()
    for old in (each for each in records if each.run.method == method):
        assert agree(old, old)
        assert not agree(old, replace(old, std=old.std / 20))
        wrong = 10 * (old.error + old.std)
        assert not agree(old, replace(old, estimate=old.truth + wrong, error=wrong))


@pytest.mark.slow
@pytest.mark.parametrize("figure", names())
def test_a_random_record_is_computed_again(figure, tmp_path):
    known = {run.key for preset in ("quick", "paper") for run in load(figure).runs(preset)}
    records = RecordStore(RECORDS / f"{figure}.jsonl").records
    cheap = [key for key in known & records.keys() if records[key].cpu_seconds < EXPENSIVE]
    old = records[random.SystemRandom().choice(sorted(cheap))]
    new = execute(old.run, tmp_path)
    assert new.status == old.status and new.truth == old.truth, old
    assert agree(old, new) and of_one_size(new.loss, old.loss, 0.0), (old, new)
    assert [mark.iteration for mark in new.trajectory][:3] == [
        mark.iteration for mark in old.trajectory
    ][:3]
