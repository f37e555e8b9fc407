"""The numbers of figures from made-up records."""

import pytest
from made_up_records import made_up

from steinquad.paper.record import Run
from steinquad.paper.spec import QUANTITIES
from steinquad.paper.summary import Cell

RUN = Run("wind-farm", "BQ", 10, 7, 0, {"design": "iid"})


@pytest.mark.parametrize(
    ("quantity", "kept", "alone"),
    [
        ("cpu", 8.0, 2.0),  # as if every run had made its evaluations itself
        ("share", 0.25, 1.0),
        ("share-130", 2.0 / 1302.0, 2.0 / 1302.0),
        ("std", 5e-4, 5e-4),
        ("error", 5e-4, 5e-4),
        ("calibration", 1.0, 1.0),
    ],
)
def test_quantities(quantity, kept, alone):
    record = made_up(RUN, evaluation_seconds=6.0, truth=-2.0)
    assert Cell([record]).values(quantity) == pytest.approx([kept])
    assert Cell([made_up(RUN, truth=-2.0)]).values(quantity) == pytest.approx([alone])


def test_what_was_refused_has_no_numbers_at_all():
    """Neither the second that it took to refuse nor the memory of an idle process."""
    cell = Cell([made_up(RUN, estimate=None, std=None, error=None, status="refused")])
    assert all(cell.values(quantity) == [] for quantity in QUANTITIES)


def test_no_std_is_no_number():
    cell = Cell([made_up(RUN, std=None), made_up(RUN, std=0.0)])
    assert cell.values("std") == cell.values("calibration") == []
