"""Mixtures of any scalar measures; the identities are in test_identities.py."""

import numpy as np
import pytest
import scipy.stats as st

import steinquad as sq
from steinquad.measures import Product, Truncated
from steinquad.measures.mixture import Mixture


def three():
    return Mixture([st.norm(1.0, 0.5), st.gamma(3.0), st.beta(2, 2, 2, 3)], [1.0, 2.0, 3.0])


def test_draws_follow_the_cdf_and_seeds_repeat():
    x = three().sample(20_000, seed=0)
    u = np.sort(three().cdf(x)[:, 0])
    distance = np.abs(u - (np.arange(20_000) + 0.5) / 20_000).max()
    assert distance < 2.0 / np.sqrt(20_000)  # false alarm in 7e-4 of all seeds
    np.testing.assert_array_equal(x, three().sample(20_000, seed=0))
    assert (np.diff(x[:, 0]) > 0).any() and (np.diff(x[:, 0]) < 0).any()  # in no order


def test_factors_are_those_of_the_components():
    whole, cut = three().factors(), Truncated(three(), 0.5, 2.5).factors()
    assert whole is not None and cut is not None
    np.testing.assert_allclose(whole.weights, [1 / 6, 1 / 3, 1 / 2])
    x = np.linspace(-1.0, 4.0, 41)[:, None]
    np.testing.assert_allclose(whole.density(x), np.exp(three().log_density(x)), rtol=1e-12)
    inner = x[(x[:, 0] > 0.5) & (x[:, 0] < 2.5)]
    want = np.exp(Truncated(three(), 0.5, 2.5).log_density(inner))
    np.testing.assert_allclose(cut.density(inner), want, rtol=1e-10)


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_methods_find_its_moments(dim):
    """Within 4 standard errors: false alarm 6e-5 a method."""
    measure = Product({f"c{i}": three() for i in range(dim)})
    mean = (1.0 + 2 * 3.0 + 3 * 3.5) / 6
    for method in (sq.MonteCarlo(), sq.Polynomial()):
        est = sq.integrate(lambda x: x.sum(axis=1), measure, n=200, method=method, seed=0)
        assert abs(est.mean - dim * mean) < 4 * est.std + 1e-6, method


@pytest.mark.parametrize(
    ("other", "side"),
    [
        (st.uniform(0, 1), "0"),
        (st.expon(), "0"),
        (Truncated(st.norm(), None, 1.0), "1"),
        (st.beta(0.5, 2.0), "0"),
        (st.beta(2.0, 1.0), "1"),
        (st.expon(5.0), "5"),
        (st.gamma(0.9, -700.0), "-700"),
        (st.uniform(-3, 2), "-3"),
        (Truncated(st.norm(1.7e9, 0.2), low=1.7e9 - 0.4), r"1\.7e\+09"),
    ],
)
def test_a_density_that_jumps_inside_is_refused(other, side):
    with pytest.raises(sq.InputError, match=rf"components\[1\] ends at {side}, inside"):
        Mixture([st.norm(), other], [1, 1])


@pytest.mark.parametrize("shift", (-700.0, 0.0, 5.0))
@pytest.mark.parametrize(
    "component", (st.gamma(1.2), st.gamma(1.05), st.beta(1.3, 4.0), st.weibull_min(1.5))
)
def test_a_density_that_fades_slowly_is_taken(component, shift):
    """Beside a side that is not 0, the next number is not near enough to see it at zero."""
    both = Mixture([st.norm(), component.dist(*component.args, loc=shift)], [1, 1])
    assert both.support.low[0] == -np.inf


def test_sides_that_all_share_may_jump():
    both = Mixture([st.expon(), Truncated(st.norm(), low=0.0)], [1, 1])
    assert both.support.low[0] == 0.0


@pytest.mark.parametrize(
    ("components", "weights", "words"),
    [
        ([st.norm()], [1.0], "components has 1 entries"),
        ([st.norm(), st.multivariate_normal([0.0, 0.0])], [1, 1], "give at least two scalar"),
        ([st.norm(), st.norm()], [1.0], "weights is"),
        ([st.norm(), st.norm()], [1.0, 0.0], "weights is"),
        (
            [st.norm(), sq.LogDensity(lambda x: -(x**2).sum(), 1)],
            [1, 1],
            r"components\[1\] has no",
        ),
    ],
)
def test_what_is_no_mixture_is_refused(components, weights, words):
    with pytest.raises(sq.InputError, match=words):
        Mixture(components, weights)
