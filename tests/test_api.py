"""The entry points: what they complete, pass on and note; see test_interface for contracts."""

from dataclasses import dataclass, field, replace

import numpy as np
import numpyro.distributions as dist
import pytest

import steinquad as sq
from steinquad.fit import Constant

MC = sq.MonteCarlo()


def normal(d):
    return dist.Normal(0, 1).expand([d]).to_event(1)


@dataclass(frozen=True)
class Spy(sq.Method):
    """Averages, and remembers what it was given."""

    name: str = "Spy"
    seen: list = field(default_factory=list)
    averages = True

    def fit(self, data, measure, context):
        self.seen.append((data, measure, context))
        mean = data.fx.mean(axis=0)
        return sq.Fit(theta0=mean, covariance=np.eye(1), model=Constant(mean, mean * 0))


@pytest.mark.parametrize("d", [1, 2, 5])
def test_data_are_completed_by_the_measure(d):
    spy, x = Spy(), np.random.default_rng(d).standard_normal((20, d))
    sq.estimate(sq.Dataset(x, x[:, 0]), measure=normal(d), method=spy, seed=np.int64(4))
    ((data, measure, context),) = spy.seen
    np.testing.assert_allclose(data.score, -x, rtol=1e-12)
    assert data.support == measure.support and data.names == measure.names
    assert context.seed == 4 and context.start is None


def test_given_scores_are_not_asked_for_again():
    spy, x = Spy(), np.linspace(-1.0, 1.0, 9)
    sq.estimate(sq.Dataset(x, x, score=7 * x), measure=normal(1), method=spy)
    np.testing.assert_array_equal(spy.seen[0][0].score[:, 0], 7 * x)


def test_f_is_evaluated_once_at_n_points_that_the_design_placed():
    asked = []

    def f(x):
        asked.append(x)
        return x[:, 0]

    est = sq.integrate(f, normal(2), n=40, method=MC, design=sq.designs.IID(), seed=5)
    assert [len(x) for x in asked] == [40]
    again = sq.integrate(lambda x: x[:, 0], normal(2), n=40, method=MC, seed=5)
    assert est.mean == again.mean == pytest.approx(asked[0][:, 0].mean(), rel=1e-12)


def test_trouble_of_a_design_is_in_the_status_and_its_numbers_in_the_stats():
    class Troubled(sq.designs.IID):
        def draw(self, measure, n, *, seed, progress=None):
            sample = super().draw(measure, n, seed=seed)
            return replace(sample, notes=("chains differ", "and stick"), stats={"rhat": 2.0})

    est = sq.integrate(lambda x: x[:, 0], normal(1), n=300, method=Spy(), design=Troubled())
    assert est.stats["design"] == {"rhat": 2.0} and est.status.code == "suspect"
    assert est.status.message == "chains differ; and stick"
    plain = sq.integrate(lambda x: x[:, 0], normal(1), n=300, method=Spy())
    assert plain.status.code == "converged" and "design" not in plain.stats


def test_scores_that_are_not_finite_name_their_row():
    measure = sq.Product({"a": dist.Gamma(2.0, 1.0)})
    data = sq.Dataset([1.0, 0.5, 0.0], [1.0, 2.0, 3.0])
    with pytest.raises(sq.InputError, match="not finite at row 2 of x"):
        sq.estimate(data, measure=measure, method=MC)


@pytest.mark.parametrize("folds", [1, -1, True, 2.0, "two"])
def test_folds_are_an_integer_but_one(folds):
    with pytest.raises(sq.InputError, match="^folds is .* at least 2, or 0 for no check[.]$"):
        sq.estimate(sq.Dataset([0.0, 1.0], [0.0, 1.0]), method=MC, folds=folds)
