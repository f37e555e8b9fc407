"""The error bar: the second opinion, when it contradicts, and how it widens the first."""

from dataclasses import dataclass, replace

import numpy as np
import numpyro.distributions as dist
import pytest

import steinquad as sq
from steinquad.checking.error_bar import checked, distance, widened, with_std
from steinquad.fit import Check, ConstantModel


def normal(d):
    return dist.Normal(0, 1).expand([d]).to_event(1)


def rough(x):
    return np.abs(x[:, 0]) + np.exp(0.5 * x[:, 1])


TRUTH = np.sqrt(2 / np.pi) + np.exp(0.125)


@dataclass(frozen=True)
class Overfitted(sq.Method):
    """Remembers its data and believes that their fit is perfect: what a check must expose."""

    name: str = "Overfitted"

    def fit(self, data, measure, context):
        wrong = data.fx.mean(axis=0) + 1.0
        return sq.Fit(
            theta0=wrong,
            covariance=np.array([[1e-6]]),
            model=ConstantModel(wrong, np.zeros(1)),
            status=sq.Status("converged", "sure of itself"),
        )


def test_a_wrong_but_confident_method_is_suspect():
    est = sq.integrate(rough, normal(2), n=400, method=Overfitted(), folds=4)
    assert est.status.code == "suspect" and est.check.distance > 3
    assert abs(est.check.mean - TRUTH) < 5 * est.check.std
    sound = sq.integrate(rough, normal(2), n=400, method=sq.Polynomial(order=3), folds=4)
    assert sound.status.code == "converged" and sound.check.distance < 3


def fit(mean, variances):
    return sq.Fit(theta0=np.asarray(mean), covariance=np.diag(variances), model=None, dof=50.0)


def check(mean, std, **options):
    return Check(np.asarray(mean), np.asarray(std), 5, 20.0, np.ones(len(mean)), 0.0, **options)


@pytest.mark.parametrize(
    ("own", "away", "want"),
    [
        (0.5, 0.0, 1.0),  # the check knows less than the fit believes
        (3.0, 0.0, 3.0),  # the fit may know more than the residuals do
        (99.0, 0.0, 10.0),  # but not without limit
        (0.5, 4.0, 4.0),  # the distance between the two
        (0.0, 0.0, 1.0),  # a std of zero cannot be stretched
    ],
)
def test_the_std_is_that_of_the_formula(own, away, want):
    wide = widened(fit([1.0], [own**2]), check([1.0 - away], [1.0]))
    assert wide.std[0] == pytest.approx(want, rel=1e-14) and wide.dof == 20.0


@pytest.mark.parametrize("k", [1, 2, 5])
def test_widening_keeps_correlations(k):
    root = np.random.default_rng(k).standard_normal((k, 2 * k))
    narrow = replace(fit(np.zeros(k), np.ones(k)), covariance=root @ root.T)
    wide = widened(narrow, check(np.zeros(k), 3 * narrow.std))
    np.testing.assert_allclose(wide.covariance, 9 * narrow.covariance, rtol=1e-12)


def test_distance_is_the_worst_over_outputs_that_vary():
    std, varying = np.array([1.0, 2.0, 0.0]), np.array([True, True, False])
    first, second = np.array([0.0, 0.0, 1.0]), np.array([1.0, 6.0, 1.0 + 1e-16])
    assert distance(first, second, std, varying) == 3.0
    assert distance(first, second + 1.0, std, np.array([True, True, True])) == np.inf
    assert distance(first, first, 0 * std, ~varying) == 0.0


def test_a_check_that_disagrees_makes_the_answer_suspect_once():
    near, far = (replace(check([0.0], [1.0]), distance=d) for d in (2.9, 3.1))
    sound = fit([0.0], [1.0])
    assert checked(sound, near).status == sound.status and checked(sound, near).check is near
    assert checked(sound, far).status.code == "suspect"
    assert "differ by 3.1 standard errors" in checked(sound, far).status.message
    doubted = replace(sound, status=sq.Status("suspect", "the first reason"))
    assert checked(doubted, far).status.message == "the first reason"


def test_a_covariance_with_other_stds_keeps_its_correlations():
    covariance = np.array([[4.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    changed = with_std(covariance, np.array([1.0, 3.0, 0.5]))
    np.testing.assert_allclose(changed, [[1.0, 1.5, 0.0], [1.5, 9.0, 0.0], [0.0, 0.0, 0.25]])
