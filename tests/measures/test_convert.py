"""What counts as a measure."""

import subprocess
import sys

import numpy as np
import numpyro.distributions as nd
import pytest
import scipy.stats as st

import steinquad as sq
import steinquad.measures as measures
from steinquad.errors import InputError
from steinquad.measures.kernel_density import KernelDensity
from steinquad.measures.numpyro import NumpyroMeasure
from steinquad.measures.scipy import ScipyMeasure


def test_a_measure_passes_through():
    m = measures.Draws([0.0], [0.0])
    assert measures.as_measure(m) is m


def test_each_kind():
    assert isinstance(measures.as_measure(nd.Normal(0.0, 1.0)), NumpyroMeasure)
    assert isinstance(measures.as_measure(st.norm()), ScipyMeasure)
    assert isinstance(measures.as_measure(st.Normal(mu=0.0, sigma=1.0)), ScipyMeasure)
    assert isinstance(measures.as_measure(st.gaussian_kde([0.0, 1.0, 3.0])), KernelDensity)


def test_a_dict_or_a_list_is_a_product():
    both = {"a": st.norm(), "b": nd.Uniform(0.0, 1.0)}
    named = measures.as_measure(both)
    assert isinstance(named, measures.Product) and named.names == ("a", "b")
    for several in (list(both.values()), tuple(both.values())):
        numbered = measures.as_measure(several)
        assert isinstance(numbered, measures.Product) and numbered.names == ("x0", "x1")
        assert measures.Product(several).names == ("x0", "x1")
    assert measures.as_measure([st.norm(), both]).names == ("x0", "x1[0]", "x1[1]")
    est = sq.integrate(lambda x: x[:, 0] * x[:, 1], both, n=30, method=sq.MonteCarlo())
    assert abs(est.mean) < 5 * est.std


@pytest.mark.parametrize("empty", [{}, [], ()])
def test_nothing_is_no_product(empty):
    with pytest.raises(InputError, match="pass a mapping of at least one name"):
        measures.as_measure(empty)


def test_a_pair_of_numbers_has_the_line_to_write():
    with pytest.raises(InputError, match=r"block 'x0': .* scipy\.stats\.uniform\(low, high - low"):
        measures.as_measure((0.0, 1.0))


def test_the_other_packages_are_not_imported():
    """Whoever does not have their objects need not have them, nor wait for them."""
    code = "import sys, scipy.stats, steinquad as sq; sq.Product({'a': scipy.stats.norm()})"
    code += "; print(sorted({'chaospy', 'openturns', 'uqtestfuns'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "obj", [None, 3.0, "normal", np.zeros(3), lambda x: x], ids=lambda value: type(value).__name__
)
def test_anything_else_is_refused(obj):
    with pytest.raises(InputError, match=f"measure is a {type(obj).__name__}.*pass a numpyro"):
        measures.as_measure(obj)


def test_the_refusal_lists_all_that_is_taken():
    with pytest.raises(InputError) as error:
        measures.as_measure(None)
    for name in ("numpyro", "scipy.stats", "gaussian_kde", "chaospy", "OpenTURNS", "uqtestfuns"):
        assert name in str(error.value)


@pytest.mark.parametrize("cls", [nd.Normal, st.Normal])
def test_a_class_is_not_its_instance(cls):
    with pytest.raises(InputError, match=r"Normal \(create it with its parameters first\)"):
        measures.as_measure(cls)
