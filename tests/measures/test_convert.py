"""What counts as a measure."""

import numpy as np
import numpyro.distributions as nd
import pytest
import scipy.stats as st

import steinquad.measures as measures
from steinquad.errors import InputError
from steinquad.measures.numpyro import NumpyroMeasure
from steinquad.measures.scipy import ScipyMeasure


def test_a_measure_passes_through():
    m = measures.Draws([0.0], [0.0])
    assert measures.as_measure(m) is m


def test_each_kind():
    assert isinstance(measures.as_measure(nd.Normal(0.0, 1.0)), NumpyroMeasure)
    assert isinstance(measures.as_measure(st.norm()), ScipyMeasure)
    assert isinstance(measures.as_measure(st.Normal(mu=0.0, sigma=1.0)), ScipyMeasure)


@pytest.mark.parametrize(
    "obj", [None, 3.0, "normal", np.zeros(3), lambda x: x], ids=lambda value: type(value).__name__
)
def test_anything_else_is_refused(obj):
    with pytest.raises(InputError, match=f"measure is a {type(obj).__name__}.*pass a numpyro"):
        measures.as_measure(obj)


@pytest.mark.parametrize("cls", [nd.Normal, st.Normal])
def test_a_class_is_not_its_instance(cls):
    with pytest.raises(InputError, match=r"Normal \(create it with its parameters first\)"):
        measures.as_measure(cls)
