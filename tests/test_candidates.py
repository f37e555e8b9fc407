"""Rows of candidates are read with whatever keys a method writes."""

import numpy as np
import pytest

import steinquad as sq
from steinquad.candidates import read_candidates


def test_rows_of_a_choice():
    x = np.random.default_rng(0).normal(size=(60, 2))
    data = sq.Dataset(x, x[:, 0], -x)
    est = sq.estimate(data, method=sq.Stack([sq.MonteCarlo(), sq.Polynomial(order=1)]))
    one, two = read_candidates(est.candidates, 1)
    assert (one.method, two.method) == ("MonteCarlo", "Polynomial")
    assert two.rms < one.rms


def test_rows_of_members_with_weights():
    rows = [
        {"method": "A", "held_out_rms": 0.1, "weight": 0.7, "mean": 1.0, "std": 0.2},
        {
            "method": "B",
            "held_out_rms": np.float64(0.3),
            "weight": 0.0,
            "mean": [1.5],
            "std": np.ones(1),
        },
        {
            "method": "C",
            "held_out_rms": None,
            "weight": None,
            "mean": None,
            "std": None,
            "note": "skipped",
        },
    ]
    a, b, c = read_candidates(rows, 1)
    assert a.integrated(0) and a.chosen and (a.rms, a.weight) == (0.1, 0.7)
    assert b.integrated(0) and not b.chosen and b.mean.tolist() == [1.5]
    assert (
        not c.integrated(0)
        and not c.chosen
        and (c.rms, c.weight, c.note) == (None, None, "skipped")
    )


def test_several_outputs_have_their_own_weights_and_an_average():
    row = {"method": "A", "held_out_rms": [0.1, 0.4], "mean": [1.0, 2.0], "std": [0.1, 0.2]}
    row |= {"weight": [0.0, 0.8]}
    (two,) = read_candidates([row], 2)
    assert two.rms == pytest.approx(0.25) and two.integrated(1) and two.std.tolist() == [0.1, 0.2]
    assert (two.weight, two.share(0), two.share(1), two.chosen) == (0.4, 0.0, 0.8, True)
    (one,) = read_candidates([row], 1)  # of another number of outputs
    assert one.mean is None and one.weight is None and not one.integrated(0)
    assert read_candidates([row | {"weight": 0.3}], 2)[0].share(1) == 0.3  # one for all


def test_what_a_candidate_was_not_asked_about_has_no_part_in_its_average():
    row = {"method": "A", "weight": [None, 1.0], "mean": [np.nan, 2.0], "std": [None, 0.2]}
    (read,) = read_candidates([row], 2)
    assert read.weight == 1.0 and read.share(0) is None and read.chosen
    assert not read.integrated(0) and read.integrated(1)


@pytest.mark.parametrize("value", ["word", np.nan, [], {"a": 1}, [1.0, None]])
def test_what_is_no_number_is_left_out(value):
    (row,) = read_candidates(
        [{"held_out_rms": value, "weight": value, "mean": value, "std": value}], 1
    )
    assert (row.method, row.rms, row.weight, row.chosen) == ("", None, None, False)
    assert not row.integrated(0)
