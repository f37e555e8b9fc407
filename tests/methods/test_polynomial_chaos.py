"""Sparse polynomial chaos: exact where f is sparse, honest where features were selected."""

import numpy as np
import numpyro.distributions as dist
import pytest
import scipy.stats as st
from scipy.special import ndtr

import steinquad as sq
from steinquad.fit import Context
from steinquad.measures import as_measure
from steinquad.methods.polynomial_chaos import NORMS, PolynomialChaos
from steinquad.stein.multi_indices import hyperbolic


def product(*marginals):
    return sq.Product({f"x{i}": each for i, each in enumerate(marginals)})


def ishigami(x):
    return np.sin(x[:, 0]) * (1 + 0.1 * x[:, 2] ** 4) + 7 * np.sin(x[:, 1]) ** 2


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_sparse_polynomials_are_exact(dim):
    def f(x):
        return 1 + x[:, 0] ** 3 + 2 * x[:, -1] ** 2

    est = sq.integrate(f, product(*[st.norm(0.5)] * dim), n=60, method=PolynomialChaos())
    np.testing.assert_allclose(est.mean, 1 + 0.125 + 1.5 + 2 * 1.25, rtol=1e-12)
    assert est.std < 1e-7  # the step from the order before counts a little however exact the fit


def test_ishigami_from_a_hundred_points():
    est = sq.integrate(
        ishigami,
        product(*[st.uniform(-np.pi, 2 * np.pi)] * 3),
        n=100,
        seed=110,
        method=PolynomialChaos(),
    )
    assert abs(est.mean - 3.5) < 1e-8
    assert abs(est.mean - 3.5) < 4 * est.std


def test_every_coordinate_has_polynomials_of_its_own():
    inputs = product(st.expon(), st.gumbel_r(), st.beta(2.0, 3.0), st.lognorm(0.2))

    def f(x):
        return x[:, 0] ** 2 * x[:, 2] + x[:, 1] + x[:, 3] ** 2

    est = sq.integrate(f, inputs, n=120, method=PolynomialChaos())
    truth = 2 * 0.4 + np.euler_gamma + np.exp(2 * 0.04)
    np.testing.assert_allclose(est.mean, truth, rtol=1e-9)


def test_std_covers_where_leave_one_out_of_selected_features_does_not():
    """12 seeds, d = 8, rough f: none beyond 5 std (chance 1e-5); the fit's own residuals lie."""
    weights = 1 / np.arange(1, 9)

    def f(x):
        return np.abs(x @ weights - 0.2)

    inputs = product(*[st.norm()] * 8)
    s = np.linalg.norm(weights)
    truth = s * np.sqrt(2 / np.pi) * np.exp(-0.02 / s**2) - 0.2 * (1 - 2 * ndtr(0.2 / s))
    far, claimed = [], []
    for seed in range(100, 112):
        est = sq.integrate(f, inputs, n=80, seed=seed, method=PolynomialChaos())
        far.append((est.mean - truth) / est.std)
        own = est.values[:, 0] - est.fit.fitted[:, 0]
        claimed.append(own.std() / np.sqrt(80) / est.std)
    assert np.abs(far).max() < 5
    assert np.sqrt(np.mean(np.square(far))) < 1.6
    assert np.median(claimed) < 0.7  # the negative control: residuals of the selected features


def test_held_out_values_select_again():
    """Held-out values of a fold do not change when the values in that fold do."""
    measure = as_measure(product(*[st.uniform()] * 3))
    x = measure.sample(60, seed=3)
    split = [np.arange(i, 60, 5) for i in range(5)]
    fx = np.exp(x.sum(axis=1))
    spoiled = fx.copy()
    spoiled[split[0]] += 1e-3 * np.arange(12)
    both = [
        PolynomialChaos().fit(sq.Dataset(x, y), measure, Context(split=split)).held_out
        for y in (fx, spoiled)
    ]
    values = [each.values[:, 0] - y for each, y in zip(both, (fx, spoiled), strict=True)]
    assert both[0].theta0.shape == (5, 1)
    np.testing.assert_allclose(both[0].theta0[0], both[1].theta0[0], atol=0.02)
    # `theta0 - g` at the fold is a matter of the other points (units of y differ by rounding).
    np.testing.assert_allclose(values[0][split[0]], values[1][split[0]], atol=0.02)
    assert np.abs(values[0][split[1]] - values[1][split[1]]).max() > 1e-6


def test_several_outputs_are_selected_by_themselves():
    def f(x):
        return np.stack([x[:, 0] ** 2, x[:, 1], np.ones(len(x))], axis=1)

    est = sq.integrate(f, product(st.norm(), st.norm(2.0)), n=40, method=PolynomialChaos())
    np.testing.assert_allclose(est.mean, [1.0, 2.0, 1.0], rtol=1e-12)
    assert est.covariance.shape == (3, 3)
    x = np.array([[1.0, 3.0], [0.5, 0.5]])
    predicted, std = est.predict(x, return_std=True)
    np.testing.assert_allclose(predicted, f(x), atol=1e-10)
    assert std.shape == (2, 3)


def test_measures_without_independent_coordinates_are_refused():
    mixture = dist.MixtureSameFamily(
        dist.Categorical(np.array([0.5, 0.5])), dist.Normal(np.array([-1.0, 1.0]), 1.0)
    )
    with pytest.raises(sq.InputError, match="independent coordinates"):
        sq.integrate(lambda x: x[:, 0] ** 2, mixture, n=50, method=PolynomialChaos())
    data = sq.Dataset(np.arange(10.0), np.arange(10.0) ** 2)
    with pytest.raises(sq.InputError, match="no measure was given"):
        sq.estimate(data, method=PolynomialChaos())


def test_folds_are_an_option():
    assert PolynomialChaos().with_folds(3).folds == 3
    with pytest.raises(sq.InputError, match="folds"):
        PolynomialChaos(folds=1)


def test_anisotropic_sets_reach_high_products_of_the_inputs_that_matter():
    """Of ten inputs two have a product of degree 4 + 4, which no isotropic set of 3,000 has."""
    inputs = product(*[st.uniform(-1, 2)] * 10)
    sets = [hyperbolic((1.0,) * 10, order, norm, 3000) for order in range(21) for norm in NORMS]
    assert not any([4, 4, *[0] * 8] in known.tolist() for known in sets if known is not None)

    def f(x):
        a, b = x[:, 2], x[:, 7]
        return 3 * a * b + 2 * (a + b) + a**4 * b**4

    est = sq.integrate(f, inputs, n=200, method=PolynomialChaos())
    assert est.mean == pytest.approx(1 / 25, abs=1e-12) and est.std < 1e-8
    assert est.stats["degree"] == [4]


def test_std_falls_with_more_points_than_features_are_selected_on():
    def f(x):
        return (x[:, 0] > 0.3) + np.cos(15 * x[:, 1])

    inputs = product(st.norm(), st.norm())
    few, many = (sq.integrate(f, inputs, n=n, method=PolynomialChaos()) for n in (2000, 18000))
    assert many.std < 0.45 * few.std  # a third, but for what is selected


def test_points_of_a_grid_are_refused():
    """Degrees beyond the number of values on a line look the same there."""
    with pytest.raises(sq.InputError, match="not a sample"):
        sq.integrate(
            lambda x: 1 / (1 + 25 * x[:, 0] ** 2) + x[:, 1],
            product(st.uniform(-1, 2), st.uniform()),
            n=64,
            design=sq.designs.Grid(),
            method=PolynomialChaos(),
        )
