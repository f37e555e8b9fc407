"""Numbers for people: rounded to what is known, and never to another number."""

import math
import re

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from steinquad.report.numbers import (
    SUPERSCRIPT,
    duration,
    interval,
    percent,
    rounded,
    short,
    with_std,
)

SEEDED = settings(derandomize=True, deadline=None, max_examples=300)
MEANS = st.floats(-1e200, 1e200).filter(lambda value: value == 0 or abs(value) > 1e-200)
STDS = st.floats(1e-200, 1e200)
PLAIN = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
SCALED = r"\((\S+) {} (\S+)\)( × 10\S+)|(\S+) {} (\S+)"  # else the std says nothing


def value_of(text):
    """The number that a text says, with its power of ten."""
    lead, _, power = text.partition(" × 10")
    return float(f"{lead}e{power.translate(PLAIN) or 0}")


def both(text, between):
    """The two numbers of a text that has a common power of ten, or none."""
    match = re.fullmatch(SCALED.replace("{}", between), text)
    assume(match is not None)
    first, second, power, *plain = match.groups()
    return [value_of(side + power) for side in (first, second)] if power else map(float, plain)


def test_superscripts_are_digits():
    assert "-0123456789".translate(SUPERSCRIPT).translate(PLAIN) == "-0123456789"


@SEEDED
@given(MEANS.filter(bool), st.integers(1, 9))
def test_a_short_number_has_its_digits(value, digits):
    assert value_of(short(value, digits)) == pytest.approx(value, rel=0.5001 * 10 ** (1 - digits))


@SEEDED
@given(MEANS, STDS)
def test_mean_and_std_are_known_to_two_digits_of_the_std(mean, std):
    text = with_std(mean, std)
    shown, error = both(text, "±")
    assert shown == pytest.approx(mean, abs=0.051 * std, rel=1e-14)
    assert error == pytest.approx(std, rel=0.0501)
    assert value_of(rounded(mean, mean, std)) == shown
    assert not re.search(r"-0(\.0*)?(?![\d.])", text)  # no minus before a zero


@SEEDED
@given(MEANS, STDS)
def test_an_interval_has_its_ends_in_order(mean, std):
    low, high = mean - 2 * std, mean + 2 * std
    assume(high > low)
    text = interval(low, high, mean, std)
    below, above = both(text, "to")
    assert below <= above and above - below == pytest.approx(4 * std, rel=0.06)


@SEEDED
@given(st.floats(-1e6, 1e6))
def test_a_share_is_never_rounded_to_all(share):
    text = percent(share)
    assert text.endswith(" %") and (text == "100 %") == (share == 1.0 or 1.0 < share < 1.005)


@SEEDED
@given(st.floats(0.0, 1e12))
def test_a_duration_has_one_unit(seconds):
    number, unit = re.fullmatch(r"(.*) (ms|s|min|h|d)", duration(seconds)).groups()
    size = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}[unit]
    assert value_of(number) * size == pytest.approx(seconds, rel=6e-3, abs=1e-300)
    assert math.isfinite(seconds)


def test_numbers_are_rounded_to_their_uncertainty():
    assert with_std(24028643, 110, "Pa") == "(2.402864 ± 0.000011) × 10⁷ Pa"
    assert with_std(123456.0, 2345.0) == "123500 ± 2300"
    assert with_std(0.0, 0.0996) == "0.00 ± 0.10" and with_std(-0.001, 0.5) == "0.00 ± 0.50"
    assert with_std(1.0, 0.0) == "1 ± 0" and with_std(float("nan"), 1.0) == "nan ± 1"
    assert with_std(1.0, 1e-18) == "1 ± 1 × 10⁻¹⁸"
    assert interval(-1.234, 5.678, 2.0, 0.5) == "-1.23 to 5.68"
    assert rounded(3.14159, 3.0, 0.01, "m") == "3.142 m"
    assert short(0.0) == "0" and short(999.9) == "1000" and short(1e300) == "1 × 10³⁰⁰"
    assert percent(0.0) == "0 %" and percent(float("nan")) == "not known"
