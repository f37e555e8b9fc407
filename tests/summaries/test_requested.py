"""What is asked of an output, from Python and from a study file."""

import numpy as np
import pytest

from steinquad.errors import InputError
from steinquad.summaries.requested import QUANTILES, Requested


def test_statistics_come_in_one_order_with_numbers_of_python():
    asked = list(Requested(np.array([0.5, 0.1]), above=[2], below=(np.float32(1.5),)).asked())
    assert asked == [
        ("std", None),
        ("quantile", 0.5),
        ("quantile", 0.1),
        ("above", 2.0),
        ("below", 1.5),
    ]
    assert all(at is None or type(at) is float for _, at in asked)
    assert [at for _, at in Requested().asked()] == [None, *QUANTILES]


def test_settings_of_a_file_are_those_of_python():
    assert Requested.parse("load", {"above": [1.0]}) == Requested(above=[1.0])
    assert Requested.parse("load", {}) == Requested()


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"above": [10**400]}, "of 'load': above has a number too large; give finite numbers"),
        ({"quantiles": [2]}, "of 'load': quantiles has 2; give numbers between 0 and 1"),
        ({"over": [1]}, "has 'over' for 'load'; known are quantiles, above, below"),
        ([1.0], "has [1.0] for 'load'; give a mapping"),
    ],
)
def test_what_is_wrong_in_a_file_is_said_of_its_outputs(given, problem):
    with pytest.raises(InputError) as caught:
        Requested.parse("load", given)
    assert caught.value.argument == "outputs" and caught.value.problem == problem
    assert str(caught.value) == f"outputs {problem}."


@pytest.mark.parametrize("value", [np.float32("inf"), -np.inf, np.complex128(1.0), None, 10**400])
def test_limits_of_any_type_are_finite(value):
    with pytest.raises(InputError, match="below has .*; give finite numbers"):
        Requested(below=[value])
