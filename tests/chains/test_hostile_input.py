"""Inputs that were once taken for sound, or ended in a traceback."""

import json

import numpy as np
import pytest

import steinquad as sq
from steinquad.chains.targets import NumPyro, Target, as_target


def normal(chains, draws, d, seed=0):
    return np.random.default_rng(seed).normal(size=(chains, draws, d))


@pytest.mark.parametrize("shape", [(4, 256, 2), (4, 300, 2), (4, 256, 1), (4, 300, 1)])
def test_scores_of_zero_are_found_whatever_rounding_says(shape):
    x = normal(*shape)
    score = -x
    score[..., -1] = 0.0
    found = sq.posterior_expectation(x, score=score)
    assert found.status.code == "suspect" and "do not belong" in found.warnings[0]
    assert found["x0"].mean == found["x0"].plain


@pytest.mark.parametrize("n", [20, 24, 30, 64, 99])
def test_few_draws_cannot_tell_whose_scores_they_are(n):
    for seed in range(5):
        x = normal(1, n, 1, seed)
        for score in (-5 * (x - 1), -x):
            found = sq.posterior_expectation(x, score=score)
            assert found.status.code == "suspect" and "too few to tell" in found.warnings[0]
            assert found["x0"].mean == found["x0"].plain


def test_nor_can_draws_that_have_hardly_any_weight():
    x, w = normal(1, 2000, 1), np.full(2000, 1e-3)
    w[:60] = 1.0
    found = sq.posterior_expectation(x, score=-3 * (x - 0.3), weights=w)
    assert found.status.code == "suspect" and found["x0"].mean == found["x0"].plain
    assert any("by their weights 6" in note for note in found.warnings)


def test_scores_that_are_a_fifth_too_large_are_found_in_2000_draws():
    # ... as the documentation says; a tenth is not.
    x = normal(4, 500, 1)
    assert sq.posterior_expectation(x, score=-1.2 * x).status.code == "suspect"
    assert sq.posterior_expectation(x, score=-1.1 * x).status.code == "converged"


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
        sq.posterior_expectation({"x": normal(4, 100, 1)[..., 0]}, score=Failing(at))
    assert "\n" not in str(error.value)


def test_a_log_density_is_no_score():
    with pytest.raises(sq.InputError, match=r"returned shape \(400,\).*JaxDensity"):
        sq.posterior_expectation(normal(4, 100, 2), score=lambda x: -0.5 * (x**2).sum(axis=1))


def test_draws_without_a_chain_axis_are_not_thousands_of_chains():
    x = np.random.default_rng(0).normal(size=(2000, 2))
    with pytest.raises(sq.InputError, match=r"2000 chains of 2 draws.*group_by_chain=True"):
        sq.posterior_expectation({"beta": x}, score={"beta": -x})
    with pytest.raises(sq.InputError, match=r"500 chains of 4 draws"):
        sq.posterior_expectation(normal(500, 4, 2), score=-normal(500, 4, 2))
    many = normal(64, 40, 1)  # as a vectorized sampler has them
    assert sq.posterior_expectation(many, score=-many).chains == 64


def test_chains_too_short_for_r_hat_say_so():
    xarray = pytest.importorskip("xarray")
    x = normal(300, 3, 1)
    tree = xarray.DataTree.from_dict(
        {
            "posterior": xarray.Dataset({"a": (("chain", "draw"), x[..., 0])}),
            "score": xarray.Dataset({"a": (("chain", "draw"), -x[..., 0])}),
        }
    )
    found = sq.posterior_expectation(tree)
    assert any("3 draws are too short" in note for note in found.warnings)
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert plain["rhat"] == {"a": None}


def test_every_group_of_an_inference_data_comes_back():
    arviz = pytest.importorskip("arviz")
    x = normal(4, 100, 1)[..., 0]
    data = arviz.from_dict(posterior={"a": x}, observed_data={"y": np.arange(3.0)})
    tree = sq.posterior_expectation(data, score={"a": -x}).to_datatree()
    assert {"posterior", "observed_data", "posterior_expectation"} <= set(tree.children)


def test_names_that_a_tree_cannot_hold():
    xarray = pytest.importorskip("xarray")
    x = normal(4, 100, 2)
    found = sq.posterior_expectation({"a/b": x}, score={"a/b": -x})
    with pytest.raises(sq.InputError, match="'a/b' has a /"):
        found.to_datatree()
    clash = xarray.Dataset({"a": (("chain", "draw", "column"), x)})
    found = sq.posterior_expectation(clash, score={"a": -x})
    with pytest.raises(sq.InputError, match="dimension 'column'"):
        found.to_datatree()


def test_a_function_without_arguments_is_a_numpyro_model():
    import numpyro
    import numpyro.distributions as dist

    def model():
        numpyro.sample("a", dist.Normal(1.0, 2.0))

    assert isinstance(as_target(model), NumPyro)
    x = 1.0 + 2.0 * normal(4, 100, 1)[..., 0]
    found = sq.posterior_expectation({"a": x}, score=as_target(model))
    assert found["a"].mean == pytest.approx(1.0, abs=1e-6)
