"""Sobol indices and main effects against closed forms, with their own standard errors."""

import numpy as np
import pytest
import scipy.stats as st

import steinquad as sq
from steinquad.measures import as_measure
from steinquad.report.sensitivity import independent_columns, no_sensitivity, sensitivity

FAR = 5.0  # standard errors: 6e-7 for one number, 1e-5 for all that one test looks at
CIRCLE = st.uniform(-np.pi, 2 * np.pi)


def model(f):
    """An estimate that consists of its model only."""
    k = f(np.zeros((1, 9))).shape[1]
    fit = sq.Fit(
        theta0=np.zeros(k),
        covariance=np.eye(k),
        model=lambda points, return_std: (f(points.x), None),
        fitted=np.zeros((2, k)),
    )
    return sq.Estimate.of(
        fit, sq.Dataset(np.zeros((2, 3)), np.zeros((2, k))), None, method="given"
    )


def ishigami(x):
    first = np.sin(x[:, 0])
    return (first + 7 * np.sin(x[:, 1]) ** 2 + 0.1 * x[:, 2] ** 4 * first)[:, None]


def ishigami_truth():
    pi4, a, b = np.pi**4, 7.0, 0.1
    own = np.array([(1 + b * pi4 / 5) ** 2 / 2, a**2 / 8, 0.0])
    both = b**2 * pi4**2 * (1 / 18 - 1 / 50)
    whole = own.sum() + both
    return own / whole, (own + np.array([both, 0.0, both])) / whole


def linear(x):
    y = 3 * x[:, 0] + x[:, 1]
    return np.stack([y, 1e8 + 1e-3 * y, np.full(len(x), 2.0)], axis=1)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_ishigami(seed):
    found = sensitivity(
        model(ishigami), as_measure(sq.Product(dict.fromkeys("abc", CIRCLE))), seed=seed
    )
    first, total = ishigami_truth()
    assert np.all(found.first_std < 0.02) and np.all(found.total_std < 0.03)
    assert np.all(np.abs(found.first[:, 0] - first) < FAR * found.first_std[:, 0])
    assert np.all(np.abs(found.total[:, 0] - total) < FAR * found.total_std[:, 0])
    # What must fail: the indices of the inputs in another order.
    assert not np.all(np.abs(found.first[::-1, 0] - first) < FAR * found.first_std[::-1, 0])
    middle = found.curves[1]
    want = 7 * np.sin(middle.x) ** 2
    assert np.all(np.abs(middle.mean[:, 0] - want) < FAR * np.maximum(middle.std[:, 0], 0.05))


def test_standard_errors_are_the_spread_of_the_indices():
    """40 repetitions: ratio of both within a factor 1.6 (chance 1e-4 for each of six)."""
    measure = as_measure(sq.Product(dict.fromkeys("abc", CIRCLE)))
    runs = [sensitivity(model(ishigami), measure, seed=seed) for seed in range(40)]
    for name in ("first", "total"):
        spread = np.std([getattr(run, name) for run in runs], axis=0, ddof=1)
        claimed = np.mean([getattr(run, f"{name}_std") for run in runs], axis=0)
        assert np.all(np.abs(np.log(spread / claimed)) < np.log(1.6))


def test_a_linear_function_scaled_or_constant():
    measure = as_measure(sq.Product({"a": st.norm(), "b": st.norm(), "c": st.norm()}))
    found = sensitivity(model(linear), measure, seed=0)
    assert np.all(np.abs(found.first[:, 0] - [0.9, 0.1, 0.0]) <= FAR * found.first_std[:, 0])
    assert found.total[2, 0] == 0.0 and abs(found.first[2, 0]) < 1e-4
    np.testing.assert_allclose(found.first[:, 1], found.first[:, 0], atol=1e-4)
    assert np.isnan(found.first[:, 2]).all() and np.isnan(found.total_std[:, 2]).all()
    curve = found.curves[0]
    np.testing.assert_allclose(np.diff(curve.mean[:, 0]), 3 * np.diff(curve.x), rtol=1e-9)


def test_inputs_that_depend_on_each_other_have_one_index():
    pair = st.multivariate_normal([0.0, 0.0], [[1.0, 0.8], [0.8, 1.0]])
    measure = as_measure(sq.Product({"ab": pair, "c": st.norm()}))
    assert independent_columns(measure) == [[0, 1], [2]]
    found = sensitivity(model(lambda x: (x[:, 0] + x[:, 1] + x[:, -1])[:, None]), measure, seed=0)
    want = np.array([3.6, 1.0]) / 4.6
    assert np.all(np.abs(found.first[:, 0] - want) < FAR * found.first_std[:, 0])
    assert found.curves[0] is None and found.curves[1] is not None


def test_it_says_why_not():
    pair = as_measure(st.multivariate_normal([0.0, 0.0], [[1.0, 0.8], [0.8, 1.0]]))
    assert "depend on each other" in no_sensitivity(model(ishigami), pair)
    x = np.random.default_rng(0).normal(size=(20, 1))
    plain = sq.estimate(sq.Dataset(x, x[:, 0]), method=sq.MonteCarlo())
    assert "no model" in no_sensitivity(plain, as_measure(st.norm()))
