"""Which features held-out draws choose, and what they leave of the outputs."""

import numpy as np
import pytest
from made_up_chains import Known, funnel, independent, normal, skewed

import steinquad as sq
from steinquad.chains.improve import improve, plain
from steinquad.checking.held_out import residuals as held_out_residuals


def with_outputs(known: Known, fx: np.ndarray) -> sq.Dataset:
    chains, draws, d = known.draws.shape
    x, score = (a.reshape(-1, d) for a in (known.draws, known.score))
    return sq.Dataset(x, fx, score, groups=np.repeat(np.arange(chains), draws))


def test_wide_posteriors_have_the_products_that_matter():
    """A scale and 59 effects: 1,770 products are too many for 2,000 draws, few are needed."""
    known = funnel(0, 60, spread=0.2)
    data = with_outputs(known, known.draws.reshape(-1, 60))
    answers = improve(data)
    assert sum(name == "order 2, 240 products" for name in answers.method) > 50
    without = improve(data, sparse=0)
    error, before = (np.sqrt(np.mean(each.mean**2)) for each in (answers, without))
    assert error < 0.6 * before
    # Sixty t's of ten degrees of freedom or more: beyond 5.5 with a chance of less than 2 %.
    assert np.max(np.abs(answers.mean) / answers.std) < 5.5


def test_nothing_helps_a_function_that_no_score_explains():
    noise = np.random.default_rng(0).choice([-1.0, 1.0], size=1000)
    answers = improve(with_outputs(normal(8, 2), noise))
    assert answers.method == ("plain mean",)
    assert answers.mean == answers.plain and answers.std == answers.mcse


@pytest.mark.parametrize("d", (1, 2, 5))
def test_every_output_is_answered_by_itself(d):
    """Constants stay exact between outputs that vary, whose answers they do not change."""
    known = skewed(3, d)
    x = known.draws.reshape(-1, d)
    alone = improve(with_outputs(known, x[:, :1]))
    beside = improve(
        with_outputs(known, np.column_stack([np.full(len(x), 3.0), x[:, 0], x[:, 0]]))
    )
    assert beside.method == ("constant", *alone.method * 2) and alone.std[0] < alone.mcse[0]
    np.testing.assert_allclose(beside.mean, [3.0, *alone.mean, *alone.mean], rtol=1e-12)
    np.testing.assert_allclose(beside.std, [0.0, *alone.std, *alone.std], rtol=1e-9)
    assert [output.method for output in beside.each()] == list(beside.method)
    assert [output.dof for output in beside.each()] == list(beside.dof)


def test_too_few_draws_are_averaged():
    x = independent(1, 19, 2)
    data = with_outputs(Known(x, -x, np.zeros(2), np.ones(2)), x[0])
    assert improve(data).method == ("plain mean",) * 2
    np.testing.assert_array_equal(improve(data).mean, plain(data).mean)


def test_residuals_are_those_of_their_own_block():
    values, blocks = np.arange(10.0).reshape(5, 2), [np.array([0, 3]), np.array([1, 2, 4])]
    predictions = [np.full((2, 2), 1.0), np.full((3, 2), 10.0)]
    residuals = held_out_residuals(values, blocks, predictions)
    expected = np.array([1.0, 10.0, 10.0, 1.0, 10.0])
    np.testing.assert_array_equal(values - residuals, np.stack([expected, expected], axis=1))
