"""The answer: intervals, digits, plain numbers, and the model at new points."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
import scipy.stats

import steinquad as sq
from steinquad.binomial import Binomial
from steinquad.fit import Check, ConstantModel

X = np.arange(6.0)


def estimate(mean, std, *, dof=np.inf, check=None, scalar=True):
    mean, std = np.atleast_1d(np.asarray(mean, float)), np.atleast_1d(np.asarray(std, float))
    fit = sq.Fit(
        theta0=mean,
        covariance=np.diag(std**2),
        model=ConstantModel(mean, std),
        dof=dof,
        check=check,
        stats={"size": np.int64(3), "parts": (np.float64(0.5), {"inner": np.arange(2)})},
    )
    fx = np.tile(mean, (6, 1)) if not scalar else np.full(6, mean[0])
    return sq.Estimate.of(fit, sq.Dataset(X, fx), None, method="Made up")


@pytest.mark.parametrize("dof", [1.0, 5.0, np.inf])
@pytest.mark.parametrize("level", [0.5, 0.95])
def test_intervals_are_those_of_students_t(dof, level):
    low, high = estimate(3.0, 2.0, dof=dof).interval(level)
    law = scipy.stats.norm() if np.isinf(dof) else scipy.stats.t(dof)
    np.testing.assert_allclose([low, high], 3 + 2 * np.array(law.interval(level)), rtol=1e-10)


def test_one_integrand_has_floats_and_several_have_arrays():
    check = Check(np.array([1.0]), np.array([0.1]), 2, 5.0, np.ones(1), 0.3)
    one, two = estimate(1.0, 0.1, check=check), estimate([1.0, 2.0], [0.1, 0.2], scalar=False)
    assert type(one.mean) is type(one.check.mean) is type(one.check.std) is float
    assert one.predict(X[:, None]).shape == (6,) and two.predict(X[:, None]).shape == (6, 2)
    mean, std = one.predict([[0.5]], return_std=True)
    assert (mean, std) == (1.0, 0.1)
    few = Binomial(*map(np.array, ([True], [0.0], [1.0], [0.02], [100.0], [0.01])))
    for each in (one, replace(one, binomial=few)):
        assert [type(side) for side in each.interval()] == [float, float]


def test_the_record_is_plain_and_says_no_more_than_it_must():
    check = Check(np.ones(2), np.ones(2), 2, 5.0, np.ones(2), 0.3, np.zeros((6, 2)))
    record = estimate([1.0, 2.0], [0.1, 0.2], scalar=False, check=check).to_dict()
    assert json.loads(json.dumps(record)) == record  # no NumPy, no tuples
    assert record["covariance"] == [[0.1**2, 0.0], [0.0, 0.2**2]]
    assert record["stats"] == {"size": 3, "parts": [0.5, {"inner": [0, 1]}]}
    assert record["check"]["folds"] == 2 and "predicted" not in record["check"]
    one = estimate(1.0, 0.1).to_dict()
    assert not {"covariance", "check", "candidates"} & one.keys()
    assert one["interval95"] == list(estimate(1.0, 0.1).interval(0.95))
    assert (one["dof"], one["binomial"], one["constant"]) == (None, False, True)
    assert estimate(1.0, 0.1, dof=5.0).to_dict()["dof"] == 5.0


def test_a_notebook_shows_what_is_printed():
    one = estimate(1.0, 0.1)
    shown = re.sub(r"<[^>]+>|&nbsp;", " ", one._repr_html_())
    words = re.sub(r"[-+:±()]", " ", str(one)).split()
    assert set(words) <= set(re.sub(r"[-+:±()]", " ", shown).split())
    assert "candidates" not in shown
    rows = ({"method": "A<b>", "held_out_rms": 0.1, "chosen": True},)
    assert "A&lt;b&gt;" in replace(one, candidates=rows)._repr_html_()


@pytest.mark.parametrize(
    ("mean", "std", "shown"),
    [
        (1.23456789, 1e-4, "E[f] = 1.234568 +- 0.0001 "),
        (1.23456789, 1e-1, "E[f] = 1.235 +- 0.1 "),
        (1.23456789, 0.0, "E[f] = 1.23457 +- 0 "),
        (0.0, 0.1, "E[f] = 0 +- 0.1 "),
        (1.23456789, 1e9, "E[f] = 1.23 +- 1e+09 "),
    ],
)
def test_a_mean_has_the_digits_that_its_std_is_worth(mean, std, shown):
    assert shown in str(estimate(mean, std))


def test_names_of_outputs_are_asked_for_one_by_one():
    two = estimate([1.0, 2.0], [0.1, 0.2], scalar=False)
    assert "E[f0]" in str(two) and "E[f1]" in str(two)
    assert "E[load]" in two.describe(["load", "drag"])
    with pytest.raises(ValueError):
        two.describe(["load"])
    other = two.with_status(sq.Status("suspect", "look here"))
    assert str(other).endswith("suspect: look here") and two.status.code == "converged"
    assert replace(other, n=1).n == 1


def test_a_prediction_without_a_finite_value_is_refused():
    x = np.random.default_rng(0).standard_normal(50)
    est = sq.estimate(sq.Dataset(x, np.exp(x), -x), method=sq.Polynomial())
    with pytest.raises(sq.InputError, match="^x row 1 lies where the model of f has no finite"):
        est.predict([0.0, 1e200, 1e250], [0.0, -1e200, -1e250])
