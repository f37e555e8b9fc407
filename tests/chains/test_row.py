"""One line of the table."""

import math

import pytest

from steinquad.chains.row import COLUMNS, SummaryRow


def row(mcse, std, warnings=()):
    return SummaryRow("mu", "mean", 1.0, mcse, 1.1, std, 0.9, 1.3, "order 2", warnings)


@pytest.mark.parametrize(
    ("mcse", "std", "reduction"),
    [(0.3, 0.1, 9.0), (0.1, 0.1, 1.0), (0.0, 0.0, 1.0), (0.2, 0.0, math.inf)],
)
def test_the_reduction_is_a_ratio_of_variances(mcse, std, reduction):
    assert row(mcse, std).reduction == pytest.approx(reduction)
    # Draws that are independent: an average of so many times as many has the error of the better.
    if 0 < reduction < math.inf and std > 0:
        assert mcse / math.sqrt(reduction) == pytest.approx(std)


def test_the_columns_as_a_data_frame_has_them():
    plain = row(0.3, 0.1, ("R-hat is 1.2", "far from the plain value")).to_dict()
    assert list(plain) == ["name", "statistic", *COLUMNS, "method", "warnings"]
    assert plain["warnings"] == "R-hat is 1.2; far from the plain value"
    assert [plain[name] for name in COLUMNS] == [1.0, 0.3, 1.1, 0.1, 0.9, 1.3, plain["reduction"]]
    assert (
        row(0.2, 0.0).to_dict()["reduction"] == math.inf and row(1, 1).to_dict()["warnings"] == ""
    )
