"""Truncated normals keep their digits, far in a tail and in narrow intervals."""

import mpmath as mp
import numpy as np
import pytest

from steinquad.measures.marginal import Marginal, gap


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (30.0, np.inf),
        (30.0, 30.01),
        (-np.inf, -50.0),
        (1e3, 1e3 + 1e-3),
        (-1e-9, 2e-9),
        (8.0, 9.0),
    ],
)
def test_far_and_narrow_truncations_keep_their_digits(low, high):
    marginal = Marginal.normal(1.0, 2.0, 1 + 2 * low, 1 + 2 * high)
    p = np.array([1e-6, 0.01, 0.4, 0.95])
    x = marginal.icdf(p)
    assert ((x > marginal.low) & (x < marginal.high)).all() and (np.diff(x) > 0).all()
    z = (x - marginal.loc) / marginal.scale
    a, b = marginal.sides
    with mp.workdps(50):
        total = mass(a, b)
        pdf = [float(mp.npdf(mp.mpf(t)) / total / 2) for t in z]
        cdf = [float(mass(a, t) / total) for t in z]
    # A rounding of x by one unit in the last place moves the exponent by x * eps * x.
    np.testing.assert_allclose(marginal.pdf(x), pdf, rtol=1e-13 + 4e-16 * np.abs(z).max() ** 2)
    shift = 1e-12 + 1e-15 * np.abs(x).max() * marginal.pdf(x)
    np.testing.assert_array_less(np.abs(marginal.cdf(x) - cdf), shift)
    np.testing.assert_array_less(np.abs(marginal.cdf(x) - p), shift)


def mass(a: float, b: float) -> mp.mpf:
    """Normal mass of an interval, from the survival functions of its side of 0."""
    a, b = (mp.mpf(-b), mp.mpf(-a)) if b < 0 else (mp.mpf(a), mp.mpf(b))
    return (mp.erfc(a / mp.sqrt(2)) - mp.erfc(b / mp.sqrt(2))) / 2


def test_gap_against_high_precision():
    sides = [(-np.inf, np.inf), (0.0, 1.0), (-3.0, 1e-3), (2.0, 2.4), (2.0, 2.6), (-40.0, -39.9)]
    sides += [(5.0, np.inf), (-np.inf, -5.0), (1e-8, 2e-8), (0.0, 0.0), (100.0, 120.0)]
    for a, b in sides:
        with mp.workdps(50):
            near = mp.mpf(min(max(0.0, a), b))
            want = float(mp.exp(near**2 / 2) * mp.sqrt(2 * mp.pi) * mass(a, b))
        assert float(gap(a, b)) == pytest.approx(want, rel=4e-15, abs=0)
