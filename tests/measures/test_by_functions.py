"""A scalar measure of another package: compared with SciPy's, or used by its functions."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.stats as st

from steinquad.errors import InputError
from steinquad.measures.by_functions import ByFunctions, Foreign, scalar_of


def foreign(dist) -> Foreign:
    low, high = dist.support()
    return Foreign("Thing of elsewhere", dist.logpdf, dist.cdf, dist.ppf, low, high, "write this")


DISTS = {
    "smooth": st.skewnorm(2.0, 1.0, 3.0),
    "kinked": st.trapezoid(0.3, 0.6, -1.0, 4.0),
    "singular side": st.powerlaw(0.7),
    "heavy": st.t(1.5),
}


@pytest.mark.parametrize("name", DISTS)
def test_its_functions_are_taken(name):
    dist = DISTS[name]
    measure = ByFunctions(foreign(dist))
    x = np.linspace(*dist.ppf([0.001, 0.999]), 200)
    np.testing.assert_allclose(measure.log_density(x), dist.logpdf(x))
    np.testing.assert_allclose(measure.cdf(x)[:, 0], dist.cdf(x))
    np.testing.assert_allclose(measure.icdf([0.2, 0.7])[:, 0], dist.ppf([0.2, 0.7]))
    low, high = dist.support()
    assert measure.icdf([0.0, 1.0])[:, 0].tolist() == [low, high]
    h = 1e-6 * np.minimum(1.0, np.minimum(x - low, high - x))
    slope = (dist.logpdf(x + h) - dist.logpdf(x - h)) / (2 * h)
    kinks = np.abs(np.gradient(np.gradient(slope))) > 1e3  # none: scores are finite next to one
    np.testing.assert_allclose(measure.score(x)[~kinks, 0], slope[~kinks], rtol=1e-4, atol=1e-4)
    assert str(measure.factors().components[0][0]) == "Thing of elsewhere"


def test_beyond_its_sides():
    measure = ByFunctions(foreign(st.powerlaw(2.0)))
    assert measure.log_density([-1.0, 2.0]).tolist() == [-np.inf, -np.inf]
    assert measure.cdf([-1.0, 2.0])[:, 0].tolist() == [0.0, 1.0]


def test_quantiles_that_are_not_exact_are_found_from_the_cdf():
    """As chaospy's are: a quadrature of rough quantiles halves its panels to the last."""
    dist, asked = DISTS["smooth"], []

    def rough(p):
        asked.append(p.size)
        return np.round(dist.ppf(p), 7)

    measure = ByFunctions(replace(foreign(dist), icdf=rough))
    p = np.array([1e-9, 1e-4, 0.3, 0.9999])
    np.testing.assert_allclose(measure.cdf(measure.icdf(p))[:, 0], p, rtol=1e-12)
    assert len(asked) == 1
    assert measure.icdf([0.0, 1.0])[:, 0].tolist() == [-np.inf, np.inf]


def test_nothing_is_asked_of_no_points():
    given = foreign(DISTS["smooth"])

    def refusing(function):
        def asked(x):
            assert len(x)
            return function(x)

        return asked

    names = ("log_density", "cdf", "icdf")
    measure = ByFunctions(replace(given, **{k: refusing(getattr(given, k)) for k in names}))
    none = np.empty((0, 1))
    assert measure.log_density(none).shape == (0,)
    assert measure.cdf(none).shape == measure.icdf(none).shape == (0, 1)


def test_a_density_that_jumps_is_refused_with_what_to_write():
    steps = st.rv_histogram((np.array([3, 7]), np.array([0.0, 1.0, 2.0])), density=False)()
    with pytest.raises(
        InputError, match="Thing of elsewhere has a density that jumps.*write this"
    ):
        ByFunctions(foreign(steps))


@pytest.mark.parametrize("wrong", ["log_density", "cdf"])
def test_functions_that_do_not_belong_together_are_refused(wrong):
    other = foreign(st.skewnorm(2.0, 1.1, 3.0))
    mixed = replace(foreign(DISTS["smooth"]), **{wrong: getattr(other, wrong)})
    if wrong == "cdf":  # quantiles that belong to it: density and cdf are then at odds
        mixed = replace(mixed, icdf=other.icdf)
    with pytest.raises(InputError, match="not the derivative of its cdf"):
        ByFunctions(mixed)


def test_scipys_is_taken_only_where_it_is_the_same():
    given = foreign(st.gamma(2.0, 0.0, 3.0))
    same = st.gamma(2.0, 0.0, 3.0)
    assert scalar_of(given, lambda: same) is same
    for known in (lambda: st.gamma(2.0, 0.0, 1 / 3.0), lambda: st.gamma(), None):
        assert isinstance(scalar_of(given, known), ByFunctions)
