"""Boxes, and what users write for them."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from numpyro.distributions import constraints

from steinquad.errors import InputError
from steinquad.support import Support

REPEATABLE = settings(derandomize=True, deadline=None)
DIM, NAMES = 3, ("speed", "angle", "load")
ANYTHING = some.recursive(
    some.one_of(
        *(some.none(), some.booleans(), some.integers(), some.floats(), some.text(max_size=3)),
        *(some.binary(max_size=3), some.complex_numbers(), some.sampled_from(NAMES)),
        some.integers(10**308, 10**310),
    ),
    lambda inner: some.one_of(
        some.lists(inner, max_size=3),
        some.tuples(inner, inner),
        some.dictionaries(
            some.one_of(some.integers(-1, DIM), some.sampled_from(NAMES)), inner, max_size=3
        ),
    ),
    max_leaves=6,
)


@some.composite
def intervals(draw):
    """Sides (low, high), None where open, with low < high."""
    sides = some.none() | some.floats(-1e300, 1e300)
    low, high = draw(some.tuples(sides, sides))
    if low is not None and high is not None and low >= high:
        low, high = high, math.nextafter(low, math.inf)
    return low, high


@REPEATABLE
@given(some.dictionaries(some.integers(0, DIM - 1), intervals()))
def test_a_mapping_is_its_sides(spec):
    support = Support.parse(spec, DIM, NAMES)
    for i in range(DIM):
        low, high = spec.get(i, (None, None))
        assert support.low[i] == (-np.inf if low is None else low)
        assert support.high[i] == (np.inf if high is None else high)
    assert support == Support.parse({NAMES[i]: sides for i, sides in spec.items()}, DIM, NAMES)
    assert Support.parse(support, DIM) is support
    assert all(spec[i] != (None, None) for i in support.bounded)
    ends = np.clip([support.low, support.high], -1e308, 1e308)  # the box is closed
    assert support.contains(ends).all()
    outside = np.nextafter(ends[:1], -np.inf)
    assert support.contains(outside).all() == (not np.isfinite(support.low).any())
    halves = [Support(support.low[at], support.high[at]) for at in (slice(1), slice(1, DIM))]
    assert Support.join(halves) == support


@REPEATABLE
@given(ANYTHING)
def test_anything_is_a_box_or_refused_in_one_sentence(spec):
    try:
        support = Support.parse(spec, DIM, NAMES)
    except InputError as error:
        assert str(error).startswith("support") and str(error).endswith(".")
        assert "\n" not in str(error)
    else:
        assert support.dim == DIM and (support.low < support.high).all()


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({7: (0, 1)}, "support names coordinate 7"),
        ({True: (0, 1)}, "support names coordinate True"),
        ({"y": (0, 1)}, "support names coordinate 'y'; the coordinates are 'speed', 'angle'"),
        ({0: (2, 1)}, r"support of coordinate 0 is empty \(2 to 1\); give low < high"),
        ({0: (math.nan, 1)}, "support of coordinate 0 is empty"),
        ({0: 3}, "give a pair"),
        ({0: (1, 10**400)}, "give a pair"),
        ((0, 1), r"support is \(0, 1\); give {coordinate"),
        (Support.real(2), "support has dim 2 but the points have dim 3"),
        (constraints.simplex, "a simplex has no interior"),
        (constraints.circular, "a circle has no boundary"),
        (constraints.positive_integer, "discrete measures have none"),
        (constraints.corr_matrix, "supported are R, half-lines"),
    ],
)
def test_what_is_no_box_is_refused(spec, words):
    with pytest.raises(InputError, match=words):
        Support.parse(spec, DIM, NAMES)


@pytest.mark.parametrize(
    ("spec", "low", "high", "text"),
    [
        (None, -np.inf, np.inf, "R^3"),
        (constraints.real_vector, -np.inf, np.inf, "R^3"),
        (constraints.positive, 0, np.inf, "(0, inf) x (0, inf) x (0, inf)"),
        (constraints.less_than(2.0), -np.inf, 2, "(-inf, 2) x (-inf, 2) x (-inf, 2)"),
        (constraints.interval(-1.0, 2.0), -1, 2, "(-1, 2) x (-1, 2) x (-1, 2)"),
    ],
)
def test_numpyro_constraints(spec, low, high, text):
    support = Support.parse(spec, DIM)
    assert support == Support.box(low, high, DIM) and str(support) == text
    assert support != Support.box(low, 3.0, DIM) and support != text
