"""Programs over many rows, in pieces."""

import numpy as np
import pytest

from steinquad.chains.targets._rows import PIECE, in_pieces


@pytest.mark.parametrize("n", [1, 5, PIECE, PIECE + 7, 2 * PIECE])
def test_pieces_join_without_a_seam_and_have_one_shape(n):
    shapes = []

    def program(rows):
        shapes.append(rows["a"].shape)
        return {"sum": rows["a"] + rows["b"].sum(axis=1), "first": rows["b"][:, :1]}

    rows = {"a": np.arange(float(n)), "b": np.random.default_rng(0).normal(size=(n, 3))}
    answers = in_pieces(program)(rows)
    np.testing.assert_array_equal(answers["sum"], rows["a"] + rows["b"].sum(axis=1))
    np.testing.assert_array_equal(answers["first"], rows["b"][:, :1])
    assert set(shapes) == {(min(n, PIECE),)} and len(shapes) == -(-n // PIECE)
