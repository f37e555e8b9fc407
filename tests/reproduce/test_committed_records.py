"""The committed records are what the library computes: one of each figure is computed again."""

import random
from pathlib import Path

import pytest

from steinquad.reproduce.child import execute
from steinquad.reproduce.spec import load, names
from steinquad.reproduce.store import Store

RECORDS = Path(__file__).parents[2] / "docs" / "reproduction"
DEAR = 60.0  # CPU seconds above which a record is not computed again here
# Long trainings multiply what the last digits of another machine's arithmetic differ by.
NEAR = 0.5


def alike(one, other, floor):
    """Whether two numbers are near each other, or both below a floor, or both missing."""
    if one is None or other is None:
        return one is other
    return abs(one - other) <= NEAR * max(abs(one), abs(other)) + floor


def test_what_is_alike():
    assert alike(1.0, 1.5, 0.0) and alike(None, None, 0.0) and alike(1e-9, 0.0, 1e-8)
    assert not alike(1.0, 2.5, 0.0) and not alike(None, 1.0, 9.0) and not alike(1e-3, 1e-5, 1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("figure", names())
def test_a_random_record_is_computed_again(figure, tmp_path):
    wanted = {run.key for preset in ("quick", "paper") for run in load(figure).runs(preset)}
    records = Store(RECORDS / f"{figure}.jsonl").records
    cheap = [key for key in wanted & records.keys() if records[key].cpu_seconds < DEAR]
    old = records[random.SystemRandom().choice(sorted(cheap))]
    new = execute(old.run, tmp_path)
    floor = 1e-7 * abs(old.truth)
    assert new.status == old.status and new.truth == old.truth, old
    assert alike(new.error, old.error, floor) and alike(new.std, old.std, floor), (old, new)
    assert alike(new.loss, old.loss, 0.0), (old, new)
    assert [mark.iteration for mark in new.trajectory][:3] == [
        mark.iteration for mark in old.trajectory
    ][:3]
