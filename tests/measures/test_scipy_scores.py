"""Closed forms of the scores, and the numerical road where there is none."""

import numpy as np
import pytest
import scipy.stats as st

from steinquad.errors import InputError
from steinquad.measures import as_measure
from steinquad.measures._scipy_scores import STANDARD_SCORES, numerical_score
from steinquad.support import Support

P = np.array([[1e-4], [0.02], [0.3], [0.6], [0.95], [0.9999]])


SHAPES = {
    "beta": (2.2, 3.3),
    "chi": (3.4,),
    "chi2": (3.4,),
    "gamma": (1.7,),
    "invgamma": (2.6,),
    "invweibull": (2.6,),
    "lognorm": (0.7,),
    "loguniform": (0.5, 3.0),
    "lomax": (2.3,),
    "pareto": (2.3,),
    "t": (4.5,),
    "trapezoid": (0.35, 0.65),
    "triang": (0.4,),
    "truncnorm": (-1.0, 0.7),
    "weibull_max": (1.8,),
    "weibull_min": (1.8,),
}


@pytest.mark.parametrize("name", STANDARD_SCORES)
@pytest.mark.parametrize(("loc", "scale"), [(0.0, 1.0), (-1.3, 2.7)])
def test_closed_forms_against_differences(name, loc, scale):
    frozen = getattr(st, name)(*SHAPES.get(name, ()), loc=loc, scale=scale)
    m = as_measure(frozen)
    x = m.icdf(P)
    low, high = frozen.support()
    width = frozen.ppf(0.75) - frozen.ppf(0.25)
    want = numerical_score(frozen.logpdf, x[:, 0], low, high, width)[:, None]
    np.testing.assert_allclose(m.score(x), want, rtol=1e-6, atol=1e-7 / scale)
    assert m.support == Support.box(low, high, 1)


@pytest.mark.parametrize("shape", [0.7, 2.0, 5.0])
def test_numerical_score_near_a_singular_side(shape):
    # powerlaw is not in the table: density proportional to x^(shape - 1) on (0, 1).
    m = as_measure(st.powerlaw(shape))
    x = np.array([[1e-9], [1e-3], [0.5], [1 - 1e-6]])
    np.testing.assert_allclose(m.score(x), (shape - 1) / x, rtol=1e-6)


def test_numerical_score_says_when_it_fails():
    class Step(st.rv_continuous):
        def _pdf(self, x):
            return np.where(x < 0.5, 0.5, 1.5)

    with pytest.raises(InputError, match="did not converge at x = 0.5;"):
        as_measure(Step(a=0.0, b=1.0, name="step")()).score(np.array([[0.2], [0.5]]))
