"""The distributions of a study file: those of SciPy, cut, mixed and correlated."""

from pathlib import Path

import numpy as np
import pytest
import scipy.stats as st
from small_study import GOOD, with_distribution

from steinquad.errors import InputError
from steinquad.studies.distributions import DISTRIBUTIONS

TABLES = {
    "normal": ("mean = 1.0\nstd = 2.0", st.norm(1, 2)),
    "truncated normal": ("mean = 1\nstd = 2\nlow = 0\nhigh = 4", st.truncnorm(-0.5, 1.5, 1, 2)),
    "lognormal": ("log_mean = 0.5\nlog_std = 0.3", st.lognorm(0.3, scale=np.exp(0.5))),
    "uniform": ("low = -1\nhigh = 3", st.uniform(-1, 4)),
    "beta": ("a = 2\nb = 3\nlow = 1\nhigh = 5", st.beta(2, 3, 1, 4)),
    "gamma": ("shape = 2.5\nscale = 0.5", st.gamma(2.5, scale=0.5)),
    "triangular": ("low = 1\nmode = 2\nhigh = 5", st.triang(0.25, 1, 4)),
    "loguniform": ("low = 0.5\nhigh = 4", st.loguniform(0.5, 4)),
    "exponential": ("mean = 2", st.expon(scale=2)),
    "gumbel": ("mode = 1\nscale = 2", st.gumbel_r(1, 2)),
    "weibull": ("shape = 1.8\nscale = 2\nstart = 0.5", st.weibull_min(1.8, 0.5, 2)),
    "rayleigh": ("mode = 2", st.rayleigh(scale=2)),
    "pareto": ("shape = 3\nleast = 0.5", st.pareto(3, scale=0.5)),
    "logistic": ("center = 1\nscale = 2", st.logistic(1, 2)),
    "laplace": ("center = 1\nscale = 2", st.laplace(1, 2)),
    "student t": ("degrees_of_freedom = 4\ncenter = 1\nscale = 2", st.t(4, 1, 2)),
}
POINTS = np.linspace(-1.0, 5.0, 25)[:, None]


@pytest.mark.parametrize("kind", TABLES)
def test_distributions_are_those_of_scipy(load, kind):
    keys, want = TABLES[kind]
    measure = load(with_distribution(kind, keys)).measure
    np.testing.assert_allclose(measure.cdf(POINTS)[:, 0], want.cdf(POINTS[:, 0]), atol=1e-12)


def test_every_distribution_is_tested():
    assert set(DISTRIBUTIONS) == {*TABLES, "mixture", "empirical"}


@pytest.mark.parametrize(
    "page", ["docs/studies.md", "src/steinquad/studies/examples/beam/study.toml"]
)
def test_every_distribution_is_listed(page):
    text = (Path(__file__).parents[2] / page).read_text(encoding="utf-8")
    assert not [
        kind for kind in DISTRIBUTIONS if f'"{kind}"' not in text and f"`{kind}`" not in text
    ]


@pytest.mark.parametrize(
    ("written", "near"),
    [
        ("gumbel_r", "gumbel"),
        ("weibull_min", "weibull"),
        ("Gumbel", "gumbel"),
        ("expon", "exponential"),
        ("norm", "normal"),
        ("truncnorm", "truncated normal"),
        ("LogUniform", "loguniform"),
        ("t", "student t"),
    ],
)
def test_a_name_of_elsewhere_is_understood(load, written, near):
    with pytest.raises(InputError, match=f"is '{written}', perhaps for '{near}'; choose one of "):
        load(with_distribution(written, "mean = 1"))


@pytest.mark.parametrize("written", ["gumbel_l", "weibull_max", "xyz", "z" * 100_000])
def test_what_is_like_none_has_no_suggestion(load, written):
    with pytest.raises(InputError, match=r"distribution is '\S+; choose one of normal, "):
        load(with_distribution(written, "mean = 1"))


def test_a_lognormal_by_its_own_mean_and_std(load):
    measure = load(with_distribution("lognormal", "mean = 3.0\nstd = 0.6")).measure
    x = measure.icdf((np.arange(200_000)[:, None] + 0.5) / 200_000)
    assert abs(x.mean() - 3.0) < 1e-4 and abs(x.std() - 0.6) < 1e-3
    narrow = load(with_distribution("lognormal", "mean = 3.0\nstd = 3e-7")).measure
    low, high = narrow.icdf(st.norm.cdf([[-1.0], [1.0]]))[:, 0]
    assert abs((high - low) / 6e-7 - 1) < 1e-6


def test_a_gumbel_by_its_own_mean_and_std(load):
    measure = load(with_distribution("gumbel", "mean = 3.0\nstd = 0.6")).measure
    assert measure.blocks["a"].dist.mean() == pytest.approx(3.0)
    assert measure.blocks["a"].dist.std() == pytest.approx(0.6)


@pytest.mark.parametrize("kind", ["exponential", "gumbel", "weibull", "student t"])
def test_what_has_no_sides_is_cut(load, kind):
    keys, whole = TABLES[kind]
    measure = load(with_distribution(kind, f"{keys}\nlow = 1\nhigh = 3")).measure
    want = (whole.cdf(POINTS) - whole.cdf(1)) / (whole.cdf(3) - whole.cdf(1))
    np.testing.assert_allclose(measure.cdf(POINTS), np.clip(want, 0, 1), atol=1e-12)


@pytest.mark.parametrize(
    ("kind", "keys", "words"),
    [
        ("loguniform", "low = 0\nhigh = 1", "low.*a number above 0"),
        ("loguniform", "low = 2\nhigh = 1", "give low < high"),
        ("weibull", "shape = -1\nscale = 1", "shape.*a number above 0"),
        ("gumbel", "mean = 1\nstd = 1\nscale = 1", "mode"),
        ("exponential", "rate = 1", "mean"),
    ],
)
def test_wrong_parameters_are_named(load, kind, keys, words):
    with pytest.raises(InputError, match=words):
        load(with_distribution(kind, keys))


def test_a_mixture_is_cut_as_a_whole(load):
    first, second = "{ weight = 20, mean = 0, std = 7 }", "{ weight = 25, mean = 22.5, std = 6 }"
    parts = f"components = [{first},\n  {second}]"
    measure = load(with_distribution("mixture", f"{parts}\nlow = 0\nhigh = 45")).measure

    def whole(x):
        return 20 * st.norm(0, 7).cdf(x) + 25 * st.norm(22.5, 6).cdf(x)

    x = np.linspace(0.0, 45.0, 9)
    want = (whole(x) - whole(0)) / (whole(45) - whole(0))
    np.testing.assert_allclose(measure.cdf(x[:, None])[:, 0], want, atol=1e-10)


PARTS = {
    "normal": "mean = 1, std = 2",
    "lognormal": "log_mean = 0.5, log_std = 0.3",
    "beta": "a = 2, b = 3, low = 1, high = 5",
    "gamma": "shape = 2.5, scale = 0.5",
    "triangular": "low = 1, mode = 2, high = 5",
    "empirical": 'file = "wind.csv", column = "wind"',
    "mixture": "components = [{ weight = 1, mean = 0, std = 1 }, { weight = 2, distribution = "
    "'gamma', shape = 4, scale = 1 }]",
}


def test_a_mixture_of_every_distribution_that_fades_out(load, tmp_path):
    (tmp_path / "wind.csv").write_text("wind\n" + "".join(f"{v}\n" for v in range(10)))
    parts = [
        f'{{ weight = {i}, distribution = "{kind}", {keys} }}'
        for i, (kind, keys) in enumerate(PARTS.items(), 1)
    ]
    whole = load(with_distribution("mixture", f"components = [{', '.join(parts)}]")).measure
    each = [
        load(
            with_distribution(kind, keys.replace(", ", "\n") if "[" not in keys else keys)
        ).measure
        for kind, keys in PARTS.items()
    ]
    weights = np.arange(1, len(each) + 1) / sum(range(1, len(each) + 1))
    want = sum(w * one.cdf(POINTS) for w, one in zip(weights, each, strict=True))
    np.testing.assert_allclose(whole.cdf(POINTS), want, atol=1e-12)

    kinks = np.array([-40.0, -20, -10, -5, -2, 0, 1, 2, 5, 8, 12, 20, 40, 80])  # ends and modes
    x = (kinks[:-1] + np.linspace(0.1, 0.9, 9)[:, None] * np.diff(kinks)).reshape(-1, 1)
    x = x[np.exp(whole.log_density(x)) > 1e-12]
    h = 1e-5
    slope = (whole.log_density(x + h) - whole.log_density(x - h))[:, None] / (2 * h)
    np.testing.assert_allclose(whole.score(x), slope, rtol=1e-6, atol=1e-6)
    t, w = np.polynomial.legendre.leggauss(80)
    half = np.diff(kinks)[:, None] / 2
    x, dx = (kinks[:-1, None] + half * (1 + t)).reshape(-1, 1), (half * w).reshape(-1)
    mass = np.exp(whole.log_density(x)) * dx
    score = whole.score(x)[:, 0]
    field, slope = np.sin(x[:, 0]), np.cos(x[:, 0])
    assert abs(mass.sum() - 1) < 1e-9 and abs(mass @ (score * field + slope)) < 1e-7
    assert abs(mass @ (each[0].score(x)[:, 0] * field + slope)) > 1e-2  # of another distribution


def test_an_empirical_distribution_has_mean_and_std_of_the_column(load, tmp_path):
    values = np.random.default_rng(0).gamma(4.0, size=700)
    rows = "".join(f"x,{value!r}\n" for value in values.tolist())
    (tmp_path / "wind.csv").write_text(f"station,wind\n{rows}")
    measure = load(with_distribution("empirical", 'file = "wind.csv"\ncolumn = "wind"')).measure
    x = measure.sample(200_000, seed=1)
    assert abs(x.mean() - values.mean()) < 5 * values.std() / np.sqrt(200_000)
    assert abs(x.std() / values.std() - 1) < 0.01


def test_correlated_normals_come_together_and_keep_their_names(load):
    text = (
        GOOD
        + '[inputs.u]\ndistribution = "uniform"\nlow = 0\nhigh = 1\n'
        + '[inputs.c]\ndistribution = "normal"\nmean = -1.0\nstd = 0.5\n'
        + '[[correlated]]\ninputs = ["c", "a"]\ncorrelation = -0.6\n'
    )
    measure = load(text).measure
    assert measure.names == ("c", "a", "u")
    x = measure.sample(100_000, seed=0)
    np.testing.assert_allclose(x.mean(axis=0), [-1.0, 1.0, 0.5], atol=0.03)
    np.testing.assert_allclose(x.std(axis=0)[:2], [0.5, 2.0], rtol=0.02)
    assert abs(np.corrcoef(x.T)[0, 1] + 0.6) < 0.02 and abs(np.corrcoef(x.T)[0, 2]) < 0.02
    matrix = load(text.replace("-0.6", "[[1, 0.3], [0.3, 1]]")).measure.sample(100_000, seed=0)
    assert abs(np.corrcoef(matrix.T)[0, 1] - 0.3) < 0.02
