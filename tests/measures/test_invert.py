"""The inverse by root finding, coordinate by coordinate."""

import numpy as np
import pytest
import scipy.stats as st

from steinquad.errors import InputError
from steinquad.measures._invert import invert_cdf
from steinquad.support import Support

CASES = {
    "line": (st.norm([1e6, 0.0, -3.0], [1.0, 5.0, 0.1]), Support.real(3)),
    "right half-line": (st.gamma([0.1, 1.0, 40.0]), Support.box(0.0, np.inf, 3)),
    "left half-line": (st.weibull_max([0.5, 1.0, 3.0]), Support.box(-np.inf, 0.0, 3)),
    "interval": (st.beta([0.3, 1.0, 9.0], [0.4, 2.0, 5.0]), Support.box(0.0, 1.0, 3)),
}


@pytest.mark.parametrize("name", CASES)
def test_against_scipy(name):
    frozen, support = CASES[name]
    p = np.random.default_rng(0).uniform(size=(40, 3))
    shapes = []

    def cdf(x):
        shapes.append(x.shape)
        return frozen.cdf(x)

    x = invert_cdf(cdf, support, p)
    want = frozen.ppf(p)
    np.testing.assert_allclose(x, want, rtol=1e-12, atol=1e-13)
    assert set(shapes) == {(40, 3)}  # a compiled cdf must see one shape only


def test_sides():
    p = np.array([[0.0], [1.0]])
    assert invert_cdf(st.expon.cdf, Support.box(0.0, np.inf, 1), p).tolist() == [[0.0], [np.inf]]


def test_a_function_that_never_reaches_p():
    with pytest.raises(InputError, match="found no point with cdf = 0.9"):
        invert_cdf(lambda x: 0.5 * st.norm.cdf(x), Support.real(1), np.array([[0.9]]))
