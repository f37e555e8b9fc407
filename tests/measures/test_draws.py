"""Points and scores only."""

import numpy as np
import pytest

from steinquad.errors import InputError
from steinquad.measures import Draws
from steinquad.support import Support


def draws(d: int, n: int = 20) -> Draws:
    x = np.random.default_rng(d).normal(size=(n, d))
    return Draws(x, -x)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_scores_are_looked_up(d):
    m = draws(d)
    rows = [3, 0, 3, 19]
    np.testing.assert_array_equal(m.score(m.x[rows]), m.scores[rows])
    assert m.dim == d and m.support == Support.real(d) and m.provides == {"sample"}
    with pytest.raises(InputError, match="row 1 is not one of the draws; scores are known only"):
        m.score(np.vstack([m.x[:1], m.x[:1] + 1e-9]))


@pytest.mark.parametrize("n", [1, 2, 7, 13, 19, 20])
def test_thinning_is_even_and_without_repetition(n):
    m = Draws(np.arange(20.0), np.zeros(20))
    picked = m.sample(n, seed=0)[:, 0]
    assert np.array_equal(picked, m.sample(n, seed=99)[:, 0])
    gaps = np.diff(picked)
    assert len(picked) == n and (gaps > 0).all()
    assert n == 1 or gaps.max() - gaps.min() <= 1


def test_zero_of_either_sign_is_the_same_point():
    m = Draws(np.array([[0.0, 1.0], [0.0, 1.0]]), np.array([[2.0, 3.0], [2.0, 3.0]]))
    assert m.score(np.array([[-0.0, 1.0]])).tolist() == [[2.0, 3.0]]


def test_support_and_names():
    m = Draws(np.ones((3, 2)), np.ones((3, 2)), {"a": (0.0, None)}, names=["a", "b"])
    assert m.support == Support.box([0.0, -np.inf], np.inf, 2)
    with pytest.raises(InputError, match=r"row 2 lies outside the support .* \(1 rows do\)"):
        Draws([1.0, 2.0, -1.0], [0.0, 0.0, 0.0], {0: (0.0, None)})
    for pair in ((0.0, np.inf), [0.0, None], "positive"):
        with pytest.raises(InputError, match=r"support is .*; give {coordinate: \(low, high\)}"):
            Draws([1.0, 2.0], [0.0, 0.0], pair)


@pytest.mark.parametrize(
    ("x", "score", "words"),
    [
        (np.zeros((3, 2)), np.zeros((3, 1)), r"score has shape \(3, 1\) but x has shape \(3, 2\)"),
        (np.zeros((0, 2)), np.zeros((0, 2)), "at least one draw"),
        ([0.0, np.nan], [0.0, 0.0], "x contains NaN"),
        ([0.0, 1.0], [0.0, np.inf], "score contains inf"),
        ("abc", [0.0], "x is not numeric"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_refusals(x, score, words):
    with pytest.raises(InputError, match=words):
        Draws(x, score)


def test_more_than_there_are():
    with pytest.raises(InputError, match="there are 20 draws"):
        draws(2).sample(21, seed=0)
    with pytest.raises(InputError, match="Draws has no cdf; it provides sample, score"):
        draws(2).cdf(np.zeros((1, 2)))
