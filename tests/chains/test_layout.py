"""Draws in every layout are the same draws."""

from dataclasses import replace

import numpy as np
import pytest
from made_up_chains import independent, skewed

import steinquad as sq


@pytest.mark.parametrize("d", (1, 2, 5))
def test_every_layout_gives_the_same(d):
    xarray = pytest.importorskip("xarray")
    known = skewed(2, d, draws=60)
    dims = ("chain", "draw", "x_dim_0")
    posterior = xarray.Dataset({"x": (dims, known.draws)})
    scores = xarray.Dataset({"x": (dims, known.score)})
    tree = xarray.DataTree.from_dict({"posterior": posterior, "score": scores})

    class InferenceData:  # what the older ArviZ has
        def __init__(self):
            self.posterior = posterior

        def groups(self):
            return ["posterior"]

    flat = known.score.reshape(-1, d)
    layouts = [
        (known.draws, known.score),
        ({"x": known.draws}, {"x": known.score}),
        ({"x": known.draws}, known.score),
        ({f"x{i}": known.draws[..., i] for i in range(d)}, known.score),
        (tree, None),
        (posterior, scores),
        (posterior.transpose(..., "chain"), scores),
        (InferenceData(), known.score),
        (known.draws, lambda x: flat),
        (known.draws, sq.Draws(known.draws.reshape(-1, d), flat)),
    ]
    tables = [sq.posterior_expectation(draws, score=score).rows for draws, score in layouts]
    for rows in tables[1:]:
        for row, first in zip(rows, tables[0], strict=True):
            assert replace(row, name="") == replace(first, name="")


def test_draws_without_a_chain_axis_are_not_thousands_of_chains():
    x = np.random.default_rng(0).normal(size=(2000, 2))
    with pytest.raises(sq.InputError, match=r"2000 chains of 2 draws.*group_by_chain=True"):
        sq.posterior_expectation({"beta": x}, score={"beta": -x})
    with pytest.raises(sq.InputError, match=r"500 chains of 4 draws"):
        sq.posterior_expectation(independent(500, 4, 2), score=-independent(500, 4, 2))
    many = independent(64, 40, 1)  # as a vectorized sampler has them
    assert sq.posterior_expectation(many, score=-many).chains == 64
