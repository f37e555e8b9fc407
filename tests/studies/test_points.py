"""Numbered points: they depend on the seed and on their number only, and are of the measure."""

import numpy as np
import pytest
import scipy.stats as st
from small_study import inputs

from steinquad.designs import Sobol
from steinquad.errors import InputError
from steinquad.measures import LogDensity, Product, as_measure
from steinquad.studies.points import BLOCK, REPLICATES, NumberedPoints, replicate_order


@pytest.mark.parametrize("kind", ["iid", "sobol"])
def test_a_point_does_not_depend_on_those_before_it(kind):
    numbers = [0, 1, BLOCK - 1, BLOCK, 5 * BLOCK + 17]
    forward = NumberedPoints(inputs(), kind, seed=3)
    want = [forward[i] for i in numbers]
    backward = NumberedPoints(inputs(), kind, seed=3)
    assert [backward[i] for i in reversed(numbers)][::-1] == want
    assert NumberedPoints(inputs(), kind, seed=4)[0] != want[0]
    assert len(set(want)) == len(want)


@pytest.mark.parametrize("kind", ["iid", "sobol"])
@pytest.mark.parametrize("dim", [1, 2, 5])
def test_points_are_draws_of_the_measure(kind, dim):
    measure = Product({f"x{i}": st.gamma(2.0 + i) for i in range(dim)})
    points = NumberedPoints(measure, kind, seed=0)
    x = np.array([points[i] for i in range(4 * BLOCK)])
    assert x.shape == (4 * BLOCK, dim)
    for i in range(dim):  # false alarm in 1e-4 of all seeds
        assert st.kstest(x[:, i], st.gamma(2.0 + i).cdf).pvalue > 1e-4
        assert st.kstest(x[:, i], st.gamma(2.6 + i).cdf).pvalue < 1e-4


def test_sobol_points_are_those_of_the_design():
    each = 3 * BLOCK // REPLICATES
    points = NumberedPoints(inputs(), "sobol", seed=5)
    numbers = np.arange(3 * BLOCK)
    x = np.array([points[int(i)] for i in numbers])[replicate_order(numbers)]
    want = Sobol(replicates=REPLICATES).draw(inputs(), REPLICATES * each, seed=5)
    assert want.groups is not None
    # The design shuffles each replicate; a study goes through it by number.
    for r in range(REPLICATES):
        rows = slice(r * each, (r + 1) * each)
        np.testing.assert_array_equal(np.unique(x[rows], axis=0), np.unique(want.x[rows], axis=0))
    np.testing.assert_array_equal(numbers[replicate_order(numbers)] % REPLICATES, want.groups)


def test_wrong_kinds_and_measures_are_refused():
    with pytest.raises(InputError, match="points is 'grid'; choose one of iid, sobol"):
        NumberedPoints(inputs(), "grid", seed=0)
    with pytest.raises(InputError, match="no sampler"):
        NumberedPoints(LogDensity(lambda x: -(x @ x), dim=2), "iid", seed=0)[0]
    with pytest.raises(InputError):
        NumberedPoints(as_measure(LogDensity(lambda x: -(x @ x), dim=2)), "sobol", seed=0)[0]
