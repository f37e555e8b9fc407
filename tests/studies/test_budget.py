"""Budgets: where a study looks, and what is good enough."""

import pytest
from small_study import study


@pytest.mark.parametrize(
    ("kind", "settings", "looks"),
    [
        ("iid", {"runs": 300}, [300]),
        ("iid", {"runs": 300, "until": {"std": 1e-9}}, [100, 150, 225, 300]),
        ("sobol", {"runs": 600, "until": {"std": 1e-9}}, [128, 256, 512, 600]),
        ("adaptive", {"runs": 500, "until": {"std": 1e-9}}, [200, 300, 450, 500]),
        ("iid", {"runs": 100, "every": 40}, [40, 80, 100]),
        ("iid", {"runs": 80, "every": 40}, [40, 80]),
    ],
)
def test_where_it_looks(tmp_path, kind, settings, looks):
    assert list(study(tmp_path, points=kind, **settings).budget.looks(kind)) == looks


def test_targets_hold_for_every_output(tmp_path):
    budget = study(tmp_path, runs=None, until={"std": 1.0, "relative_std": 0.1}).budget
    assert budget.reached({"mean": [9.0, -9.0], "std": [0.5, 0.8]})
    assert not budget.reached({"mean": [9.0, -2.0], "std": [0.5, 0.8]})
    assert not budget.reached({"mean": [90.0, 90.0], "std": [0.5, 1.8]})


def test_a_constant_output_does_not_end_a_study_before_its_runs(tmp_path):
    """An event that was not seen, with limits or without, beside an output that is known."""
    budget = study(tmp_path, runs=500, until={"std": 1.0}).budget
    known = {"mean": [1.0, 0.0], "std": [0.1, 0.01], "status": "converged"}
    assert budget.ends(128, known) and budget.ends(128, known | {"constant": [False, False]})
    for unseen in ({"constant": [False, True]}, {"std": [0.1, 0.0]}, {"status": "constant"}):
        assert not budget.ends(128, known | unseen) and budget.ends(500, known | unseen)
