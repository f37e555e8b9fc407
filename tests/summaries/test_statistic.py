"""A value with its interval: words, numbers for JSON, and which of two is taken."""

import json
from dataclasses import replace

import numpy as np
import pytest

from steinquad.summaries.statistic import CLEARLY, Statistic, better

PLAIN = Statistic("quantile", 0.05, 1.0, 0.8, 1.3)


@pytest.mark.parametrize(
    ("kind", "at", "words"),
    [
        ("std", None, "std of power"),
        ("quantile", 0.999, "99.9 % quantile of power"),
        ("above", 1.25, "P[power > 1.25]"),
        ("below", -3.0, "P[power < -3]"),
    ],
)
def test_what_it_is_called(kind, at, words):
    statistic = Statistic(kind, at, 0.5, 0.4, 0.6)
    assert statistic.label("power") == words
    assert statistic.describe("power").startswith(f"{words} = 0.5   95 %: [0.4, 0.6]")


@pytest.mark.parametrize(
    ("half", "value"), [(1e-5, "3.1415927"), (1e-2, "3.1416"), (1.0, "3.14"), (np.inf, "3.142")]
)
def test_as_many_digits_as_the_interval_is_worth(half, value):
    statistic = Statistic("std", None, np.pi, np.pi - half, np.pi + half, uses_model=True)
    line = statistic.describe("f")
    assert line.startswith(f"std of f = {value}   95 %: [") and line.endswith("with the model")


def test_a_zero_has_digits_too():
    assert "= 0   95 %: [0, 0]" in Statistic("std", None, 0.0, 0.0, 0.0).describe("f")


def test_an_open_end_is_null_in_json():
    plain = json.loads(json.dumps(replace(PLAIN, high=np.inf).to_dict(), allow_nan=False))
    assert plain["high"] is None and plain["low"] == 0.8 and plain["kind"] == "quantile"


@pytest.mark.parametrize(
    ("width", "taken"),
    [(0.99 * CLEARLY * 0.5, True), (1.01 * CLEARLY * 0.5, False), (0.0, True), (np.inf, False)],
)
def test_a_model_is_used_where_its_interval_is_clearly_shorter(width, taken):
    corrected = Statistic("quantile", 0.05, 1.1, 1.0, 1.0 + width)
    chosen = better(PLAIN, corrected)
    assert chosen == (replace(corrected, uses_model=True) if taken else PLAIN)
    assert better(replace(PLAIN, high=np.inf), replace(corrected, value=np.nan)).value == 1.0


def test_any_interval_is_shorter_than_one_without_an_end():
    corrected = Statistic("quantile", 0.05, 1.1, -50.0, 50.0)
    assert better(replace(PLAIN, low=-np.inf), corrected).uses_model
