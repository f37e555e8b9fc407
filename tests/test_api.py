"""The entry points: what they complete, pass on and note; see test_interface for contracts."""

import re
from dataclasses import dataclass, field, replace

import numpy as np
import numpyro.distributions as dist
import pandas as pd
import pytest
import scipy.stats

import steinquad as sq
from steinquad.fit import ConstantModel
from steinquad.measures import as_measure
from steinquad.measures.scipy import ScipyMeasure

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
        return sq.Fit(theta0=mean, covariance=np.eye(1), model=ConstantModel(mean, mean * 0))


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


class Counting(ScipyMeasure):
    """Counts how often it is asked for scores."""

    asked = 0

    def score(self, x):
        self.asked += 1
        return super().score(x)


@pytest.mark.parametrize(
    ("method", "predicting"),
    [
        (sq.Polynomial(features="cdf"), 0),
        (sq.BayesianQuadrature(), 0),
        (sq.Polynomial(features="score"), 1),
        (sq.Stack([sq.MonteCarlo(), sq.Polynomial(features="score")]), 1),
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_a_measure_is_asked_for_scores_once_and_only_where_the_model_needs_them(
    method, predicting
):
    measure = Counting(scipy.stats.gamma(3.0))
    est = sq.integrate(lambda x: np.sqrt(x[:, 0]), measure, n=60, method=method)
    assert measure.asked == 1
    est.predict(np.array([[1.0], [2.0]]))
    assert measure.asked == 1 + predicting


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


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda x: "hello", "what f returned is not numeric"),
        (lambda x: ["1"] * len(x), "what f returned is not numeric"),
        (lambda x: {"a": x[:, 0]}, "what f returned is not numeric .got dict"),
        (lambda x: (v for v in x), "what f returned is not numeric .got generator"),
        (lambda x: [[1.0], [1.0, 2.0]] * 10, "what f returned is not numeric"),
        (lambda x: [10**400] * len(x), "what f returned has an integer beyond"),
        (lambda x: x[:3, 0], "f returned shape .3,. for 20 points"),
        (lambda x: None, "f returned shape .. for 20 points"),
        (lambda x: np.ma.array(x[:, 0], mask=x[:, 0] > 0), "fx contains NaN"),
        (lambda x: [None] + [1.0] * 19, "fx contains NaN .1 entries, first in row 0"),
        (lambda x: [pd.NA] + [1.0] * 19, "fx contains NaN .1 entries, first in row 0"),
    ],
)
def test_answers_of_f_that_are_no_numbers_are_one_sentence(f, message):
    with pytest.raises(sq.InputError, match=f"^{message}"):
        sq.integrate(f, normal(1), n=20, method=MC)


@pytest.mark.parametrize("d", [1, 2, 8])
def test_the_point_where_f_has_no_value_is_shown(d):
    def f(x):
        return np.where(np.arange(len(x)) == 7, np.nan, x[:, 0])

    with pytest.raises(sq.InputError, match="first in row 7, at x = ") as error:
        sq.integrate(f, normal(d), n=20, method=MC)
    shown = re.search(r"x = \((.*?)\)", str(error.value))[1].removesuffix(", ...").split(", ")
    x = as_measure(normal(d)).sample(20, seed=0)[7]
    np.testing.assert_allclose([float(value) for value in shown], x[:6], rtol=1e-5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seed": 2**63}, "seed is 9223372036854775808"),
        ({"n": 10**12}, "n is 1000000000000; give at most"),
        ({"n": 10**9}, "n is 1000000000 in 1 dimensions, more points than memory holds"),
        ({"rtol": 0.1, "max_n": 10**400}, "max_n is 10*[.]{3}; give at most"),
        ({"rtol": np.array([0.1, 0.2])}, "rtol is array"),
        ({"vectorized": np.array([True, False])}, "vectorized is array"),
        ({"folds": np.array([2, 3])}, "folds is array"),
        ({"progress": "bar"}, "progress is 'bar'; pass a function, True for a bar, or None"),
    ],
)
def test_options_out_of_range_are_one_sentence(options, message):
    with pytest.raises(sq.InputError, match=f"^{message}"):
        sq.integrate(lambda x: x[:, 0], normal(1), **({"n": 20, "method": MC} | options))


def test_the_largest_seed_is_a_seed():
    est = sq.integrate(lambda x: x[:, 0], normal(1), n=20, method=sq.BSN(), seed=2**63 - 1)
    assert np.isfinite(est.std)


def test_an_f_that_writes_into_its_points_changes_nothing():
    def careless(x):
        x *= 0.0
        return x[:, 0] + np.arange(len(x))

    spy = Spy()
    sq.integrate(careless, normal(1), n=20, method=spy)
    assert np.ptp(spy.seen[0][0].x) > 0


def test_outputs_are_as_many_in_every_round():
    with pytest.raises(sq.InputError, match="^f returned shape .* return as many outputs"):
        sq.integrate(
            lambda x: np.tile(x, (1, 1 + (len(x) > 250))), normal(1), rtol=1e-6, method=MC
        )


def test_points_are_sobol_points_where_the_measure_has_quantiles():
    def points(measure, **options):
        asked = []

        def f(x):
            asked.append(x.copy())
            return x[:, 0]

        sq.integrate(f, measure, n=64, seed=3, **{"method": sq.Polynomial(), **options})
        return asked[0]

    normal = sq.Product({"a": scipy.stats.norm(), "b": scipy.stats.norm()})
    even = sq.designs.Sobol().draw(normal, 64, seed=3).x
    drawn = sq.designs.IID().draw(normal, 64, seed=3).x
    np.testing.assert_array_equal(points(normal), even)
    np.testing.assert_array_equal(points(normal, method=sq.MonteCarlo()), drawn)
    np.testing.assert_array_equal(points(normal, design=sq.designs.IID()), drawn)
    # A mixture of vectors has no way from the cube.
    mixture = dist.MixtureSameFamily(
        dist.Categorical(probs=np.array([0.5, 0.5])),
        dist.MultivariateNormal(np.array([[0.0, 0.0], [3.0, 1.0]]), np.eye(2)),
    )
    drawn = sq.designs.IID().draw(sq.measures.as_measure(mixture), 64, seed=3).x
    np.testing.assert_array_equal(points(mixture), drawn)


@pytest.mark.parametrize(
    ("option", "given"),
    [
        ("x", ["x0"]),
        ("value", "f"),
        ("score", ["s0"]),
        ("support", {0: (0, 1)}),
        ("fit_rows", 100),
        ("client", "tcp://127.0.0.1:8786"),
    ],
)
def test_what_is_for_files_is_refused_with_a_dataset(option, given):
    data = sq.Dataset(np.arange(9.0), np.arange(9.0))
    words = f"{option} is for files, but data is a Dataset; leave {option} out"
    with pytest.raises(sq.InputError, match=words):
        sq.estimate(data, method=MC, **{option: given})


@pytest.mark.parametrize("rows", [19, 0.5, True, "all"])
def test_rows_that_are_fitted_are_a_number(rows):
    with pytest.raises(sq.InputError, match="fit_rows is .*give an integer of at least 20"):
        sq.estimate("draws", x="x0", value="f", fit_rows=rows)
