"""Calls of the API from legal and illegal pieces: each gives an answer or `InputError`.

Anything else that is raised, a warning included, fails the test, and so does an answer without
finite numbers whose status does not say why.
"""

import inspect
import itertools

import numpy as np
import numpyro.distributions as dist
import pandas as pd
import pytest
import scipy.stats
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

import steinquad as sq

N = 24  # points of most calls: one shape, so that programs are compiled once
X = np.random.default_rng(0).standard_normal((N, 2))
HUGE = 10**400


def seeded(calls):
    """So many calls, the same every time, however long each takes."""
    return settings(
        max_examples=calls,
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


def mostly(*legal, odd=()):
    """A legal value, or sometimes an odd one or what nobody should pass."""
    kinds = [some.sampled_from(legal)] * 16
    kinds += [some.sampled_from(odd)] * 2 if len(odd) else []
    return some.sampled_from([*kinds, some.sampled_from(NONSENSE)]).flatmap(lambda kind: kind)


def masked(values):
    return np.ma.array(values, mask=np.arange(np.size(values)).reshape(np.shape(values)) % 7 == 0)


NONSENSE = [
    *(None, True, False, -1, 0, 1, 2, 0.5, -0.5, np.nan, np.inf, 1e300, 1e-300, HUGE, -HUGE),
    *("", "text", "1", b"1", [], {}, {"a": 1}, [None], [[1], [1, 2]], object(), 1j, pd.NA),
    *(np.array([True, False]), np.zeros(0), np.zeros((0, 2)), np.zeros((2, 2, 2)), np.array("a")),
    *(2**63, np.int8(-1), np.ma.masked, range(N), lambda x: x, np.arange(N)),
]
VALUES = [
    *(X[:, 0], np.exp(X[:, 0]), np.ones(N), X, X[:, 0].tolist(), np.sign(X[:, 0]), X[:, 0] > 0),
    *(1e50 * X[:, 0], 7 + 1e-12 * X[:, 0], X[:, 0].astype(object), np.arange(N)),
    *(pd.Series(X[:, 0], dtype="Float64"), np.float32(X[:, 0]), 1e-50 * X, np.eye(N)[0]),
    *(np.stack([X[:, 0], np.ones(N)], axis=1), np.where(X[:, 0] > 1, 1e55, X[:, 0])),
]
ODD_VALUES = [
    *(1e200 * X[:, 0], 1e-200 * X[:, 0], 1e300 + 0 * X[:, 0], masked(X[:, 0]), X[:3, 0]),
    *(np.where(X[:, 0] > 1, None, X[:, 0]), pd.array([*X[1:, 0], pd.NA], dtype="Float64")),
    *(np.where(X[:, 0] > 1, np.nan, X[:, 0]), X[:, 0].astype(str), X[:, 0] + 1j, [HUGE] * N),
    *(np.arange(N).astype("M8[s]"), np.stack([X[:, 0], np.full(N, 1e300)], axis=1)),
]
POINTS = [X, X, X, np.repeat(X[:6], 4, axis=0), pd.DataFrame(X), np.abs(X), X + 1e9, 1e30 * X]
ODD_POINTS = [1e200 * X, 1e-200 * X, np.zeros((N, 2)), np.tile(X[:, :1], 2), masked(X), X[:, 0]]
SCORES = [-X, -X, 0 * X, X, -1e30 * X]
ODD_SCORES = [-X[:, :1], 1e200 * X, masked(X)]
WEIGHTS = [None, np.ones(N), np.arange(N), np.full(N, 1e308), np.full(N, 1e-320)]
WEIGHTS += [np.exp(9 * X[:, 0]), np.r_[1e30, np.ones(N - 1)], np.eye(N)[0] + np.eye(N)[1]]
ODD_WEIGHTS = [np.r_[1e308, np.full(N - 1, 1e-308)], masked(np.ones(N)), np.eye(N)[0], -np.ones(N)]
NOISE = [None, 0.0, 0.1, 1e-300, 1e50, np.full(N, 0.1), np.zeros(N)]
GROUPS = [None, np.repeat([0, 1], N // 2), np.repeat(np.arange(8), 3), ["a"] * N, np.arange(N)]
ODD_GROUPS = [np.full(N, np.nan), np.array(["a", None] * (N // 2), dtype=object), np.arange(N) % 2]
SUPPORTS = [None, {0: (-9e99, 9e99), 1: (-9e99, 9e99)}, {"x0": (None, 1e99)}, {1: (-1e99, None)}]
ODD_SUPPORTS = [{7: (0, 1)}, {0: (1, 0)}, {0: "ab"}, (0, 1), dist.constraints.simplex]
ODD_SUPPORTS += [{0: (0, HUGE)}, {0: (0, None)}]
METHODS = [sq.MonteCarlo(), sq.Polynomial(), sq.Polynomial(features="score")]
METHODS += [sq.Stack([sq.MonteCarlo(), sq.Polynomial()]), sq.ControlFunctional()]
NORMAL = dist.Normal(0, 1).expand([2]).to_event(1)
MEASURES = [NORMAL, NORMAL, NORMAL, sq.Product({"a": scipy.stats.norm(), "b": scipy.stats.norm()})]
ODD_MEASURES = [dist.Normal(0, 1), scipy.stats.poisson(3), scipy.stats.norm, sq.Draws(X, -X)]
ODD_MEASURES += [dist.Exponential(1.0).expand([2]).to_event(1), dist.Normal(0, 1e200)]
DESIGNS = [None, sq.designs.IID(), sq.designs.Sobol()]
FUNCTIONS = [np.tanh, list, pd.DataFrame, lambda x: x[..., 0], lambda x: np.sign(x[..., 0])]
FUNCTIONS += [lambda x: x.sum(axis=-1) ** 2, lambda x: x.__imul__(0.0).sum(axis=-1)]
FUNCTIONS += [lambda x: x[..., :1].astype(object), lambda x: 1e59 * x[..., 0]]


def repeated(value):
    """An f that answers with the same value, or with as many of its rows as there are points."""
    rows = isinstance(value, np.ndarray) and value.shape[:1] == (N,)
    return lambda x: value[: len(x)] if rows else value


datasets = some.fixed_dictionaries(
    {"x": mostly(*POINTS, odd=ODD_POINTS), "fx": mostly(*VALUES, odd=ODD_VALUES)},
    optional={
        "score": mostly(*SCORES, odd=ODD_SCORES),
        "support": mostly(*SUPPORTS, odd=ODD_SUPPORTS),
        "weights": mostly(*WEIGHTS, odd=ODD_WEIGHTS),
        "names": mostly(["a", "b"], ("x", "y"), None),
        "noise": mostly(*NOISE, odd=[1e300, masked(np.ones(N)), -1.0]),
        "groups": mostly(*GROUPS, odd=ODD_GROUPS),
        "sampled": mostly(True, True, False, np.True_),
    },
)
options = some.fixed_dictionaries(
    {"method": mostly(*METHODS, odd=[sq.MonteCarlo])},
    optional={
        "folds": mostly(0, 2, 3, 12),
        "seed": mostly(0, 1, 2**63 - 1),
        "progress": mostly(None, lambda step, total, loss: None),
    },
)
estimates = some.fixed_dictionaries(
    {"data": datasets, "options": options},
    optional={"measure": mostly(None, *MEASURES, odd=ODD_MEASURES)},
)
integrals = some.fixed_dictionaries(
    {
        "f": mostly(*FUNCTIONS, odd=[repeated(v) for v in [*ODD_VALUES, *NONSENSE]]),
        "measure": mostly(*MEASURES, odd=ODD_MEASURES),
        "n": mostly(N, odd=[2, 3, HUGE, 10**9]),
        "options": options,
    },
    optional={
        "design": mostly(*DESIGNS, odd=[sq.designs.Sobol, sq.designs.Grid()]),
        "rtol": mostly(None, 0.1, 0.9),
        "vectorized": mostly(True, True, True, False),
    },
)
asked = some.fixed_dictionaries(
    {
        "level": mostly(0.95, 0.5),
        "x": mostly(*POINTS, odd=ODD_POINTS),
        "return_std": mostly(True, False),
    }
)


def estimated(data, options, **more):
    return sq.estimate(sq.Dataset(**data), **options, **more)


def integrated(options, **more):
    return sq.integrate(**options, **more, max_n=2 * N)


def answers_or_input_error(call, pieces, questions):
    try:
        est = call(**pieces)
    except sq.InputError as error:
        told(error)
        return
    finite = np.isfinite(est.mean).all() and np.isfinite(est.std).all()
    assert finite or est.status.code in ("not_finite", "suspect"), est
    assert est.status.message and "nan" not in est.status.message.split()
    assert str(est) and est.to_dict()["status"] == est.status.code
    for ask in (
        lambda: est.interval(questions["level"]),
        lambda: est.predict(questions["x"], return_std=questions["return_std"]),
    ):
        try:
            ask()
        except sq.InputError as error:
            told(error)


class Unprintable:
    def __repr__(self):
        raise RuntimeError


# Values of options that no call is given above, because most fail before anything is computed.
OPTIONS = [*NONSENSE, 10**5000, Unprintable(), {"a": None}, "x\x00", (1, 2), 1e308, NORMAL]
ALONE = [sq.BSN, sq.MonteCarlo, sq.Polynomial, sq.PolynomialChaos, sq.ControlFunctional]
ALONE += [sq.BayesianQuadrature, sq.QuasiMonteCarlo, sq.Stack, sq.kernels.Matern, sq.Product]
ALONE += [sq.Adam, sq.LBFGS, sq.GaussNewton, sq.HessianFree, sq.designs.IID, sq.designs.Sobol]
ALONE += [sq.designs.Grid, sq.designs.MALA, sq.designs.TruncatedMALA, sq.designs.NUTS, sq.Dataset]
ALONE += [sq.Study.load, sq.distribution]
MADE = {make: {} for make in ALONE} | {  # with which right arguments, beside the one that is wrong
    sq.Subset: {"method": sq.MonteCarlo(), "size": 10},
    sq.Draws: {"x": X, "score": -X},
    sq.Truncated: {"base": dist.Normal(0, 1)},
    sq.LogDensity: {"log_density": lambda z: -z @ z / 2, "dim": 2},
    sq.Study: {"integrand": abs, "inputs": NORMAL, "store": "none.sqlite", "runs": 9},
}


@pytest.mark.parametrize("make", MADE, ids=lambda make: make.__qualname__)
def test_every_option_is_taken_or_refused(make, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = set(inspect.signature(make).parameters) - {"log_density", "progress"}
    for option, value in itertools.product(sorted(options), OPTIONS):
        try:
            made = make(**MADE[make] | {option: value})
            if isinstance(made, sq.Study):
                made.status()  # all zeros: nothing is there
        except sq.InputError as error:
            told(error)
        except TypeError as error:
            assert "required" in str(error) and "argument" in str(error), (option, value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("value", OPTIONS, ids=range(len(OPTIONS)))
def test_a_report_is_written_to_a_path_or_refused(value, tmp_path):
    study = sq.Study(abs, NORMAL, tmp_path / "s.sqlite", 9)
    for arguments in ((study, value), (value, tmp_path / "r.md"), (study, tmp_path / "r.md")):
        with pytest.raises(sq.InputError) as refused:
            sq.report.write(*arguments)
        told(refused.value)
    assert not list(tmp_path.iterdir())


def told(error):
    text = str(error)
    assert text.endswith(".") and "\n" not in text and len(text) < 1000, text


def run(calls):
    @seeded(calls)
    @given(some.sampled_from([estimated, integrated]).flatmap(pieces_of), asked)
    def calling(call_and_pieces, questions):
        answers_or_input_error(*call_and_pieces, questions)

    calling()


def pieces_of(call):
    pieces = estimates if call is estimated else integrals
    return some.tuples(some.just(call), pieces)


def test_some_calls_answer_or_refuse():
    run(60)


@pytest.mark.slow
def test_many_calls_answer_or_refuse():
    run(1200)
