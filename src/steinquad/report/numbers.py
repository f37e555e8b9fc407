"""Numbers as people read them: rounded to their uncertainty, large and small ones by powers."""

import math

__all__ = ["duration", "interval", "percent", "rounded", "short", "ten_to", "with_std"]

SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
LEAST, MOST = -3, 5  # powers of ten that are written out
SUSPICIOUS = 15  # digits beyond which a double has nothing to say


def with_std(mean: float, std: float, unit: str = "") -> str:
    """Mean and std with as many digits as the std knows, two of its own, for one line of text.

    Args:
        mean: any number, also one that is not finite.
        std: where it is zero or not finite, both stand by themselves.
        unit: behind the number, if there is one.

    >>> with_std(0.0091930654, 2.2e-7, "m")
    '(9.19307 ± 0.00022) × 10⁻³ m'
    >>> with_std(12.3456, 0.0321)
    '12.346 ± 0.032'
    """
    power, decimals = _scale(mean, std)
    if decimals is None:
        return _unit(f"{short(mean, 10)} ± {short(std)}", unit)
    return _pair(mean, "±", std, power, decimals, unit)


def rounded(value: float, mean: float, std: float, unit: str = "") -> str:
    """A value in the place of `mean`, with the digits that `with_std(mean, std)` has.

    Args:
        value: to be written.
        mean: the number that it stands beside.
        std: the uncertainty that decides on the digits.
        unit: behind the number, if there is one.
    """
    power, decimals = _scale(mean, std)
    if decimals is None or not math.isfinite(value):
        return _unit(short(value, 10), unit)
    return _unit(_fixed(value, power, decimals) + _times(power), unit)


def interval(low: float, high: float, mean: float, std: float, unit: str = "") -> str:
    """Two sides of an interval, with the digits that `with_std(mean, std)` has.

    So that the interval and the answer beside it can be compared digit by digit.

    Args:
        low: the lower side.
        high: the upper side; where either is not finite both are written by themselves.
        mean: the number that they stand beside.
        std: the uncertainty that decides on the digits.
        unit: behind the numbers, if there is one.

    >>> interval(12.28, 12.41, 12.3456, 0.0321, "m")
    '12.280 to 12.410 m'
    """
    power, decimals = _scale(mean, std)
    if decimals is None or not math.isfinite(low + high):
        return _unit(f"{short(low, 10)} to {short(high, 10)}", unit)
    return _pair(low, "to", high, power, decimals, unit)


def short(value: float, digits: int = 3, unit: str = "") -> str:
    """A number by itself, with so many significant digits; decimals end with no zeros.

    For numbers without an uncertainty. Below 0.001 and from a million on it has a power of ten.

    Args:
        value: any number, also one that is not finite.
        digits: significant ones.
        unit: behind the number, if there is one.

    >>> short(0.000012345), short(1234.5), short(0.5)
    ('1.23 × 10⁻⁵', '1230', '0.5')
    """
    if not math.isfinite(value) or value == 0:
        return _unit(f"{value:g}", unit)
    power = math.floor(math.log10(abs(float(f"{value:.{digits - 1}e}"))))
    if LEAST <= power <= MOST:
        text = _fixed(value, 0, digits - 1 - power)
        return _unit(text.rstrip("0").rstrip(".") if "." in text else text, unit)
    return _unit(f"{value / 10.0**power:.{digits}g}{_times(power)}", unit)


def percent(share: float) -> str:
    """A share in per cent, with two digits, also of what is lacking where it is nearly all.

    >>> percent(0.0312), percent(0.9876), percent(0.99996), percent(1.0), percent(-3.4)
    ('3.1 %', '98.8 %', 'more than 99.99 %', '100 %', '-340 %')
    """
    if not math.isfinite(share):
        return "not known"
    if 0.9999 < share < 1.0:
        return "more than 99.99 %"
    if 0.9 < share < 1.0:
        return f"{100 * share:.{1 if share < 0.99 else 2}f} %"
    if abs(share) >= 1.0:
        return f"{short(100 * share)} %"
    return f"{100 * share:.2g} %"


def duration(seconds: float) -> str:
    """A time in the unit that fits it: ms, s, min, h or d, with three digits.

    A larger unit is taken from two of it on: 75 s says more than 1.25 min.

    Args:
        seconds: not negative.

    >>> duration(0.00012), duration(75.0), duration(7500.0)
    ('0.12 ms', '75 s', '2.08 h')
    """
    for size, unit in ((86400.0, "d"), (3600.0, "h"), (60.0, "min")):
        if seconds >= 2 * size:
            return short(seconds / size, 3, unit)
    return short(seconds, 3, "s") if seconds >= 0.1 else short(1e3 * seconds, 3, "ms")


def ten_to(power: int) -> str:
    """A power of ten with its exponent set high, for text without markup.

    >>> ten_to(-3)
    '10⁻³'
    """
    return f"10{str(power).translate(SUPERSCRIPT)}"


def _scale(mean: float, std: float) -> tuple[int, int | None]:
    """The power of ten to take out, and decimals after that; None if the std says nothing."""
    if not (math.isfinite(mean) and math.isfinite(std) and std > 0):
        return 0, None
    top = math.floor(math.log10(max(abs(mean), std)))
    # Rounded first: 0.0996 has its two digits in the place of 0.10.
    last = 1 - math.floor(math.log10(float(f"{std:.1e}")))
    if last + top > SUSPICIOUS:
        return 0, None
    power = 0 if LEAST < top <= MOST else top
    return power, last + power


def _fixed(value: float, power: int, decimals: int) -> str:
    value = round(value / 10.0**power, decimals)
    return f"{value + 0.0:.{max(decimals, 0)}f}"  # + 0.0: no minus before a zero


def _times(power: int) -> str:
    return f" × {ten_to(power)}" if power else ""


def _pair(one: float, between: str, other: float, power: int, decimals: int, unit: str) -> str:
    text = f"{_fixed(one, power, decimals)} {between} {_fixed(other, power, decimals)}"
    return _unit(f"({text}){_times(power)}" if power else text, unit)


def _unit(text: str, unit: str) -> str:
    return f"{text} {unit}" if unit else text
