"""Independent draws."""

import numpy as np
import pytest
import scipy.stats as st

from steinquad.designs import IID
from steinquad.errors import InputError
from steinquad.measures import LogDensity, Product

MIXED = Product({"a": st.norm(3.0, 2.0), "b": st.uniform(), "c": st.gamma(2.0)})


def test_iid_draws_are_those_of_the_measure():
    np.testing.assert_array_equal(IID().draw(MIXED, 9, seed=4).x, MIXED.sample(9, seed=4))


def test_a_measure_without_a_sampler_is_refused():
    with pytest.raises(InputError, match="LogDensity has no sampler; use a Markov chain"):
        IID().draw(LogDensity(lambda x: -x @ x / 2, 2), 10, seed=0)
