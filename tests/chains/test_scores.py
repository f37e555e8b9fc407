"""Scores from trees, targets, functions and models that fail."""

import numpy as np
import pytest
from made_up_chains import independent, normal, skewed

import steinquad as sq
from steinquad.chains.targets import Target


def test_scores_that_a_sampler_stored_are_found():
    xarray = pytest.importorskip("xarray")
    known = skewed(3, 2)
    positive = xarray.Dataset({"rate": (("chain", "draw", "i"), np.exp(known.draws))})
    dims = ("chain", "draw", "unconstrained_parameter")
    stats = {"unconstrained_draw": (dims, known.draws), "gradient": (dims, known.score)}
    tree = xarray.DataTree.from_dict(
        {"posterior": positive, "sample_stats": xarray.Dataset(stats)}
    )
    stored = sq.posterior_expectation(tree, lambda v: np.log(v["rate"]))
    given = sq.posterior_expectation(known.draws, lambda x: x, score=known.score)
    for row, other in zip(stored, given, strict=True):
        assert row.mean == pytest.approx(other.mean, rel=1e-9)


def test_a_target_takes_the_draws_to_real_space():
    known = skewed(4, 2)

    class Logarithms(Target):
        def unconstrain(self, draws):
            assert draws["rate"].shape == (1000, 2) and set(draws) == {"rate", "total"}
            return np.log(draws["rate"])

        def score(self, points):
            np.testing.assert_allclose(points, known.draws.reshape(-1, 2), atol=1e-12)
            return known.score.reshape(-1, 2)

    rate = np.exp(known.draws)
    draws = {"rate": rate, "total": rate.sum(axis=2)}
    result = sq.posterior_expectation(draws, score=Logarithms())
    # x0 is the logarithm of a gamma variable of shape 2.
    row = result["rate[0]"]
    assert abs(row.mean - 2.0) < 4 * row.std and row.reduction > 100
    assert abs(result["total"].mean - result["rate[0]"].mean - result["rate[1]"].mean) < 1e-3


def test_variables_without_scores_are_functions_of_the_others():
    known = normal(5, 2)
    draws = {"a": known.draws[..., 0], "b": known.draws[..., 1], "sum": known.draws.sum(axis=2)}
    score = {"b": known.score[..., 1], "a": known.score[..., 0]}
    result = sq.posterior_expectation(draws, score=score)
    assert abs(result["sum"].mean - known.mean.sum()) < 1e-10
    assert result.dim == 2


class Failing(Target):
    def __init__(self, at):
        self.at = at

    def unconstrain(self, draws):
        if self.at == "unconstrain":
            raise KeyError("sigma")
        return draws["x"][:, None]

    def score(self, points):
        raise ValueError("shapes (10,) and (20,)\nand a long story")


@pytest.mark.parametrize(
    ("at", "words"),
    [
        ("unconstrain", r"KeyError \('sigma'\).*coordinates"),
        ("score", r"\(20,\)\).*scores; check"),
    ],
)
def test_a_model_that_fails_is_one_sentence(at, words):
    with pytest.raises(sq.InputError, match="score is a model that raised .*" + words) as error:
        sq.posterior_expectation({"x": independent(4, 100, 1)[..., 0]}, score=Failing(at))
    assert "\n" not in str(error.value)


def test_a_log_density_is_no_score():
    with pytest.raises(sq.InputError, match=r"returned shape \(400,\).*JaxDensity"):
        sq.posterior_expectation(independent(4, 100, 2), score=lambda x: -0.5 * (x**2).sum(axis=1))
