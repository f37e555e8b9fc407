"""Draws as every target reads them."""

import numpy as np
import pytest

from steinquad import InputError
from steinquad.chains.targets._draws import PIECE, as_coordinates, as_draws, in_pieces

SHAPES = {"mu": (), "theta": (3,)}
DRAWS = {"mu": np.arange(5), "theta": np.zeros((5, 3), dtype=np.float32)}


def test_the_variables_of_the_model_in_its_order():
    draws = as_draws({"other": np.zeros(2), **dict(reversed(DRAWS.items()))}, SHAPES)
    assert list(draws) == ["mu", "theta"]
    assert all(values.dtype == np.float64 for values in draws.values())
    np.testing.assert_array_equal(draws["mu"], [0.0, 1.0, 2.0, 3.0, 4.0])


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"theta": np.zeros((5, 2))}, r"draws of 'theta' have shape \(5, 2\).*\(n, 3\)"),
        ({"mu": np.zeros((5, 1))}, r"draws of 'mu' have shape \(5, 1\).*\(n,\)"),
        ({"mu": 1.0}, r"draws of 'mu' have shape \(\)"),
        ({"mu": np.zeros(3)}, "lengths .*'mu': 3"),
        ({"mu": np.zeros(0), "theta": np.zeros((0, 3))}, "at least one"),
        ({"mu": np.full(5, np.nan)}, "draws of 'mu' contains NaN"),
    ],
)
def test_draws_that_do_not_fit_are_refused(changed, words):
    with pytest.raises(InputError, match=words):
        as_draws({**DRAWS, **changed}, SHAPES)


def test_draws_of_every_variable_by_name_are_needed():
    with pytest.raises(InputError, match="no variable 'theta', which the model samples.*'mu'"):
        as_draws({"mu": DRAWS["mu"]}, SHAPES)
    with pytest.raises(InputError, match="draws is a ndarray"):
        as_draws(DRAWS["mu"], SHAPES)  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputError, match=r"points has shape \(4, 3\).*11 unconstrained"):
        as_coordinates(np.zeros((4, 3)), 11)


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
