"""Settings: wrong ones are refused before anything is evaluated."""

from pathlib import Path

import numpy as np
import numpyro.distributions as dist
import pytest
from small_study import inputs, study

import steinquad as sq


@pytest.mark.parametrize(
    "settings, words",
    [
        ({"method": "mc"}, "method is 'mc'"),
        ({"method": sq.QuasiMonteCarlo(), "points": "iid"}, "use points='sobol'"),
        ({"time_limit": [1], "where": "pool"}, r"time_limit is \[1\]"),
        ({"points": ["iid"]}, r"points is \['iid'\]"),
        ({"directory": 3}, "directory is 3"),
    ],
)
def test_settings_are_refused_before_anything_is_evaluated(tmp_path, settings, words):
    with pytest.raises(sq.InputError, match=words):
        study(tmp_path, **settings)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"runs": None}, "runs is None and so is until"),
        ({"runs": 1}, "runs is 1"),
        ({"runs": True}, "runs is True"),
        ({"every": 0}, "every is 0"),
        ({"until": {"var": 1.0}}, "until is"),
        ({"until": {"std": -1.0}}, "until is"),
        ({"until": {"std": True}}, "until is"),
        ({"until": {"std": float("nan")}}, "until is"),
        ({"until": {}}, "until is"),
        ({"outputs": []}, "outputs is"),
        ({"outputs": "f"}, "outputs is 'f'"),
        ({"outputs": ["f", "f"]}, "different names"),
        ({"points": "grid"}, "points is 'grid'"),
        ({"seed": -1}, "seed is -1"),
        ({"where": "moon"}, "where is 'moon'; choose one of pool, here, dask"),
        ({"workers": 0}, "workers is 0"),
        ({"retries": -1}, "retries is -1"),
        ({"on_failure": "cry"}, "on_failure is 'cry'"),
        ({"style": "telepathy"}, "style is 'telepathy'"),
        ({"batch": 0}, "batch is 0"),
        ({"time_limit": 0.0, "where": "pool"}, "time_limit is 0.0"),
        ({"memory": "1 GiB"}, "memory is '1 GiB' but where is 'here'"),
        ({"memory": "1 GiB", "where": "dask"}, "where a function cannot be limited"),
        ({"memory": "2 Gib"}, "memory is '2 Gib'; give a text such as '2 GiB'"),
        ({"memory": 2**30}, "memory is 1073741824; give a text"),
        ({"memory": "0 MB"}, "memory is '0 MB'; give a text"),
        ({"memory": "-1 MB"}, "memory is '-1 MB'; give a text"),
        ({"time_limit": 1.0}, "where a function cannot be limited"),
        ({"name": 3}, "integrand is a int"),
    ],
)
def test_wrong_settings_are_refused(tmp_path, settings, words):
    with pytest.raises(sq.InputError, match=words):
        study(tmp_path, **settings)
    assert not Path(tmp_path, "s.sqlite").exists()


@pytest.mark.parametrize("integrand", ["no_colon", ":f", "m:", "m:f g", "m:1"])
def test_wrong_references_are_refused(tmp_path, integrand):
    with pytest.raises(sq.InputError, match="give module:function or file"):
        sq.Study(integrand, inputs(), tmp_path / "s", 4)


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        ({}, "outputs is {}; give a list"),
        ({"f": {"quantile": [0.5]}}, "outputs has 'quantile' for 'f'; known are quantiles, above"),
        ({"f": {"quantiles": [2]}}, "outputs of 'f': quantiles has 2; give numbers between 0"),
        ({"f": [0.5]}, "outputs has .* for 'f'; give a mapping"),
    ],
)
def test_wrong_requests_are_refused(tmp_path, outputs, message):
    with pytest.raises(sq.InputError, match=message):
        study(tmp_path, outputs=outputs)


def test_by_default_sobol_points_where_there_are_any(tmp_path):
    assert study(tmp_path).points == "sobol"
    halves = dist.MixtureSameFamily(
        dist.Categorical(probs=np.ones(2) / 2),
        dist.MultivariateNormal(np.array([[0.0, 0.0], [2.0, 1.0]]), np.eye(2)),
    )
    mixed = sq.Study(lambda x0, x1: x0, halves, tmp_path / "m.sqlite", 20, where="here")
    assert mixed.points == "iid"  # no inverse distribution functions
