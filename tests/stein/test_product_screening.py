"""Which products are worth having: found where they are known, and mean zero all the same."""

import numpy as np
import pytest
from helpers import assert_close
from made_up_chains import funnel, normal

import steinquad as sq
from steinquad.stein import product_screening
from steinquad.stein.product_screening import strongest_products
from steinquad.stein.score_quadratics import ScoreQuadratics


def dataset(known, f, weights=None):
    d = known.draws.shape[2]
    x = known.draws.reshape(-1, d)
    return sq.Dataset(x, f(x), known.score.reshape(-1, d), weights=weights)


@pytest.mark.parametrize("d", (3, 5, 20))
@pytest.mark.parametrize("outputs", (1, 100))  # one by one, and by combinations
def test_the_product_in_the_integrand_comes_first(d, outputs):
    x = np.random.default_rng(0).standard_normal((800, d))
    f = x[:, [0]] * x[:, [d - 1]] + 3 * x[:, [1]] + x[:, [1]] ** 2
    data = sq.Dataset(x, f * np.linspace(1, 5, outputs), -x)
    features = ScoreQuadratics(products=2).fit(data, None)
    assert features.pairs is not None and features.size(3) == 2 * d + 2
    assert (features.pairs[0][0], features.pairs[1][0]) == (0, d - 1)


@pytest.mark.parametrize("d", (3, 10))
def test_a_scale_goes_with_every_effect(d):
    known = funnel(0, d, spread=0.3)
    features = ScoreQuadratics(products=d - 1).fit(dataset(known, lambda x: x), None)
    assert features.pairs is not None
    assert set(zip(*map(np.ndarray.tolist, features.pairs), strict=True)) == {
        (0, j) for j in range(1, d)
    }


def test_constant_outputs_have_no_say():
    known = funnel(0, 20, spread=0.3)
    x = known.draws.reshape(-1, 20)
    constants = np.repeat([[0.1, 0.3, 1.0]], 15, axis=0).reshape(1, -1).repeat(len(x), axis=0)
    pairs = [
        ScoreQuadratics(products=19).fit(sq.Dataset(x, f, known.score.reshape(-1, 20)), None).pairs
        for f in (x, np.concatenate([x, constants], axis=1))
    ]
    assert pairs[0] is not None and pairs[1] is not None
    assert set(zip(*pairs[0], strict=True)) == set(zip(*pairs[1], strict=True))


def test_thinned_draws_and_weights_find_the_same(monkeypatch):
    data = dataset(funnel(1, 8, spread=0.3), lambda x: x, np.linspace(0.5, 1.5, 2000))
    before = ScoreQuadratics(products=7).fit(data, None).pairs
    monkeypatch.setattr(product_screening, "MOST_NUMBERS", 1)
    after = ScoreQuadratics(products=7).fit(data, None).pairs
    assert before is not None and after is not None
    assert set(zip(*before, strict=True)) == set(zip(*after, strict=True))


def test_all_of_them_are_the_full_order():
    data = dataset(normal(0, 4), lambda x: x[:, 0])
    full = ScoreQuadratics().fit(data, None)(data.x, data.score, 3)
    same = ScoreQuadratics(products=6).fit(data, None)(data.x, data.score, 3)
    some = ScoreQuadratics(products=5).fit(data, None)
    assert_close(same, full)
    columns = some(data.x, data.score, 3)
    assert columns.shape[1] == some.size(3) == 13
    assert all(np.isclose(full, column[:, None]).all(axis=0).any() for column in columns.T)


def test_a_coordinate_that_does_not_move_is_never_chosen():
    rng = np.random.default_rng(0)
    y = np.column_stack([rng.standard_normal((100, 2)), np.zeros(100)])
    fx = np.column_stack([y[:, 0] * y[:, 1], np.ones(100)])  # and a constant output
    i, j = strongest_products(y, -y, -y[:, :2], fx, np.ones(100), 1)
    assert (i.tolist(), j.tolist()) == ([0], [1])
