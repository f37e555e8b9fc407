"""The posteriors of the gallery: known means that are known, and examples that run."""

import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

GALLERY = Path(__file__).parents[1] / "examples" / "gallery"
SCRIPTS = sorted(path.name for path in GALLERY.glob("*.py") if path.name != "common.py")


@pytest.fixture(autouse=True)
def in_the_gallery(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(GALLERY))
    monkeypatch.chdir(tmp_path)
    yield
    for name in ("common", *(script.removesuffix(".py") for script in SCRIPTS)):
        sys.modules.pop(name, None)


@pytest.mark.parametrize("name", ["eight_schools", "pumps"])
def test_two_quadratures_agree(name):
    found = runpy.run_path(str(GALLERY / f"{name}.py"))["means"]()
    assert max(found.error[label] / abs(found.value[label]) for label in found.value) < 1e-9


@pytest.mark.slow
def test_the_grid_knows_a_posterior_in_closed_form():
    """Two normal means and a gamma rate; the grid also has to find where they are."""
    import common
    import numpyro
    import numpyro.distributions as dist

    def model(y, waited):
        mu = numpyro.sample("mu", dist.Normal(0, 2).expand([2]).to_event(1))
        numpyro.sample("y", dist.Normal(mu, 1).to_event(1), obs=y)
        rate = numpyro.sample("rate", dist.Gamma(3.0, 2.0))
        numpyro.sample("waited", dist.Exponential(rate), obs=waited)

    y, waited = np.array([3.0, -1.0]), np.array([0.5, 2.0])
    found = common.grid_means(model, (y, waited), nodes=40, width=9.0)
    exact = {"mu[0]": 2.4, "mu[1]": -0.8, "rate": 5.0 / 4.5}
    assert found.value.keys() == exact.keys()
    for label, value in exact.items():
        assert abs(found.value[label] - value) < 1e-7 and found.error[label] < 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS)
def test_it_runs_and_draws(script, tmp_path, capsys):
    runpy.run_path(str(GALLERY / script), run_name="__main__")
    out = capsys.readouterr().out
    assert "2000 draws" in out and "nan" not in out
    assert list(tmp_path.glob("*.png"))
