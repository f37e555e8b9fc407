"""Every example runs as it stands and prints what it promises."""

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
WORDS = {
    "01_first_integral.py": ("truth", "MonteCarlo", "BSN", "error"),
    "02_uncertain_inputs.py": ("mean power, MW", "mean thrust, kN", "95 %", "covariance"),
    "03_draws_and_scores.py": ("500 draws", "MonteCarlo", "BSN"),
    "04_own_multiplier.py": ("truth", "Constant", "Growing"),
    "05_compare_methods.py": ("MonteCarlo", "Stack: BQ", "weights by held-out points"),
    "06_own_features.py": ("Waves", "order", "error"),
    "07_own_kernel.py": ("BQ", "rational quadratic", "error"),
    "08_own_method.py": ("LinearTrend", "cross-fitted", "Stack"),
    "09_study.py": ("50 evaluations were there, 50 are new", "E[stress]", "load explains"),
    "10_rows_in_files.py": ("5 files", "truth", "MonteCarlo", "2000 of 100000 rows"),
    "goodwin.py": ("plain mean", "steinquad", "E[alpha]", "95 %", "goodwin.png"),
    "wind_farm.py": ("200 simulator runs", "plain average", "steinquad", "95 %", "truth"),
}


def test_every_example_is_listed():
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(WORDS)


# Simulators, and networks that are not small.
SLOW = ("goodwin.py", "wind_farm.py", "04_own_multiplier.py", "05_compare_methods.py")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in WORDS]
)
def test_example_runs(name, capsys):
    # In this process: four imports and most compilations less than with one process each.
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    out = capsys.readouterr().out
    missing = [word for word in WORDS[name] if word not in out]
    assert not missing, f"{name} did not print {missing}; it printed\n{out}"
    assert "nan" not in out
