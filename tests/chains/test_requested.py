"""Outputs that are asked for, and the rows that are made of their expectations."""

import numpy as np
import pytest
from made_up_chains import independent, normal

import steinquad as sq
from steinquad.chains.improve import Expectations, improve
from steinquad.chains.requested import QUANTILES, Moments


def answered(plain, mean, std=0.0):
    """Expectations of outputs with these means, by many degrees of freedom."""
    k = len(plain)
    number = np.full(k, float(std))
    dof = np.full(k, 1e9)
    return Expectations(plain, number, mean, number, dof, ("by hand",) * k, ("",) * k)


@pytest.mark.parametrize("d", (1, 2, 5))
def test_every_row_reads_its_own_outputs(d):
    """Exact answers make the plain statistics; an output that moves moves its own rows only."""
    x = independent(1, 101, d)[0] + np.arange(d)
    labels = [f"x{i}" for i in range(d)]
    moments = Moments(x, labels, np.full(101, 1 / 101))
    plain = moments.values.mean(axis=0)
    assert moments.values.shape == (101, (2 + len(QUANTILES)) * d)
    rows = {(r.name, r.statistic): r for r in moments.rows(answered(plain, plain))}
    for i, label in enumerate(labels):
        assert rows[label, "mean"].mean == pytest.approx(x[:, i].mean())
        assert rows[label, "variance"].mean == pytest.approx(x[:, i].var())
        levels = [rows[label, f"{p}%"].mean for p in (5, 50, 95)]
        np.testing.assert_allclose(levels, np.quantile(x[:, i], QUANTILES, method="hazen"))
    for j in range(len(plain)):
        moved = plain.copy()
        moved[j] += 0.02
        others = {(r.name, r.statistic): r for r in moments.rows(answered(plain, moved))}
        block, i = divmod(j, d)
        changed = {key for key in rows if rows[key].mean != others[key].mean}
        own = [0, 1] if block == 0 else [1] if block == 1 else [2 * block - 2, 2 * block - 1]
        assert changed == {list(rows)[8 * i + position] for position in own}


def test_a_better_mean_takes_its_distance_from_the_variance():
    x = independent(1, 50, 1)[0]
    moments = Moments(x, ["x"], np.full(50, 1 / 50))
    plain = moments.values.mean(axis=0)
    better = plain.copy()
    better[0] += 0.3
    variance = moments.rows(answered(plain, better, std=0.01))[1]
    assert variance.mean == pytest.approx(x.var() - 0.09)
    assert variance.std == pytest.approx(0.01 + 2 * 0.3 * 0.01 + 2 * 0.01**2)
    assert variance.low > 0 and variance.low * variance.high == pytest.approx(variance.mean**2)


def test_own_functions_in_the_users_coordinates():
    known = normal(6, 2)
    draws = {"a": known.draws[..., 0], "b": known.draws}

    def f(v):
        return {"square": v["a"] ** 2, "both": v["b"] * 2.0}

    score = {"b": known.score}
    result = sq.posterior_expectation(draws, f, score=score)
    assert [row.name for row in result] == ["square", "both[0]", "both[1]"]
    assert abs(result["square"].mean - known.variance[0] - known.mean[0] ** 2) < 1e-10
    assert abs(result["both[1]"].mean - 2 * known.mean[1]) < 1e-10
    hidden = sq.posterior_expectation(
        draws, lambda v: {"a": v["a"] ** 2, "other": v["a"]}, score=score
    )
    assert "other" in str(hidden) and {"a", "other"} == set(hidden.summary().index)
    assert {"a", "other"} == set(hidden.to_datatree()["posterior_expectation"].data_vars)
    one = sq.posterior_expectation(known.draws, lambda x: x[:, 0], score=known.score)
    assert abs(one["f"].mean - known.mean[0]) < 1e-10


def test_constants_are_exact():
    known = normal(7, 2)
    draws = {"x": known.draws, "one": np.ones(known.draws.shape[:2])}
    result = sq.posterior_expectation(draws, score={"x": known.score})
    row = result["one"]
    assert (row.plain, row.mean, row.std, row.mcse) == (1.0, 1.0, 0.0, 0.0)
    assert row.method == "constant" and row.reduction == 1.0 and not row.warnings
    assert result["one", "variance"].mean == 0.0 and result["one", "50%"].mean == 1.0
    constant = sq.posterior_expectation(known.draws, lambda x: np.ones(len(x)), score=known.score)
    assert constant["f"].mean == 1.0 and constant["f"].std == 0.0


def test_a_variance_counts_the_error_of_its_mean():
    x = independent(1, 50, 1)[0]
    moments = Moments(x, ["x"], np.full(50, 1 / 50))
    plain = moments.values.mean(axis=0)
    outputs = answered(plain, plain, std=1e-9)
    uncertain = outputs._replace(std=np.r_[0.2, outputs.std[1:]])
    assert moments.rows(outputs)[1].std < 1e-8
    assert moments.rows(uncertain)[1].std == pytest.approx(2 * 0.2**2, rel=1e-6)


@pytest.mark.parametrize("seed", (0, 1, 2))
def test_where_the_correction_of_a_mean_is_refused_its_variance_is_the_plain_one(seed):
    """The square distance from a mean five standard errors off was taken for exact."""
    draws = np.random.default_rng(seed).standard_normal((4, 500, 1))
    draws += 5.0 / np.sqrt(2000) - draws.mean()
    x = draws.reshape(-1, 1)
    moments = Moments(x, ["x"], np.full(2000, 1 / 2000))
    data = sq.Dataset(x, moments.values, -x, groups=np.repeat(range(4), 500))
    mean, variance, *_ = moments.rows(improve(data))
    assert mean.method == "plain mean" and "was refused: " in mean.warnings[0]
    assert variance.method == "plain mean" and "of the mean" in variance.warnings[0]
    assert variance.mean == variance.plain and abs(variance.mean - 1) < 4 * variance.std
