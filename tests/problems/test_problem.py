"""What the problems share."""

import numpy as np
import pytest

from steinquad.problems import Problem
from steinquad.problems.problem import standard_normal


@pytest.mark.parametrize("d", (1, 2, 5))
def test_the_standard_normal_by_its_formula(d):
    measure = standard_normal(d)
    x = np.random.default_rng(d).normal(size=(6, d))
    assert measure.dim == d and not measure.support.bounded
    np.testing.assert_allclose(measure.score(x), -x, rtol=1e-12)
    by_hand = -(x**2).sum(axis=1) / 2 - d / 2 * np.log(2 * np.pi)
    np.testing.assert_allclose(measure.log_density(x), by_hand, rtol=1e-12)


def test_problems_of_many_integrals_are_told_apart_by_identity():
    """Truths may be arrays, which have no one answer to `==`."""
    one, other = (
        Problem("p", lambda x: x, standard_normal(2), np.zeros(2), "Here.") for _ in range(2)
    )
    assert one == one and one != other and len({one, other, one}) == 2
