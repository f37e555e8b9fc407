"""`steinquad draw`: a file that `steinquad integrate` reads; goes on after a stop."""

import json

import numpy as np
import pyarrow.csv
import pytest

import steinquad as sq
from steinquad.paper.commands import draw
from steinquad.problems.goodwin import PARAMETERS, TRUTHS
from steinquad.problems.wind_farm_inputs import NAMES

SUPPORT = "0=0:,1=0:,2=0:,3=0:,4=0:45"


def test_the_file_has_points_values_and_scores_and_is_integrated(command, tmp_path):
    file, path = tmp_path / "runs.csv", tmp_path / "values.jsonl"
    code, out = command("draw", "wind-farm", file, "--n", 40, "--seed", 3, "--path", path)
    assert code == 0 and "40 simulator runs" in out.out
    farm = sq.problems.wind_farm()
    x = farm.measure.sample(40, seed=3)
    table = pyarrow.csv.read_csv(file)
    columns = np.array([table[name] for name in NAMES]).T
    np.testing.assert_allclose(columns, x, rtol=1e-14)
    columns = np.array([table[f"score_{name}"] for name in NAMES]).T
    np.testing.assert_allclose(columns, farm.measure.score(x), rtol=1e-12)
    thrust = np.array(table["thrust"])
    np.testing.assert_allclose(thrust[:3], farm.integrand(x[:3]), rtol=1e-12)
    code, out = command(
        "integrate", file, "--x", ",".join(NAMES), "--value", "thrust", "--support", SUPPORT,
        "--score", ",".join(f"score_{name}" for name in NAMES), "--method", "mc", "--json",
    )  # fmt: skip
    record = json.loads(out.out)
    np.testing.assert_allclose(record["mean"], thrust.mean())
    assert code == 0


def test_a_stopped_run_goes_on(command, tmp_path, monkeypatch):
    file, path = tmp_path / "runs.parquet", tmp_path / "values.jsonl"
    assert command("draw", "wind-farm", file, "--n", 40, "--path", path)[0] == 0
    whole = file.read_bytes()
    lines = path.read_text().splitlines()
    path.write_text("\n".join(lines[:2]) + "\n")  # as if stopped after 32
    seen, evaluate = [], draw.evaluate
    monkeypatch.setattr(
        draw, "evaluate", lambda *a, **k: seen.append(len(a[2].rows)) or evaluate(*a, **k)
    )
    assert command("draw", "wind-farm", file, "--n", 40, "--path", path)[0] == 0
    assert seen == [32] and file.read_bytes() == whole


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["wind-farm", "runs.txt"], "ending in .csv, .parquet"),
        (["wind-farm", "runs.csv", "--n", "0"], "n is 0"),
        (["wind-farm", "runs.csv", "--seed", "-1"], "seed is -1"),
        (["wind-farm", "runs.csv", "--physics", "p1"], "physics is 'p1'"),
        (["wind-farm", "runs.csv", "--simulator", "cfd"], "simulator is 'cfd'"),
        (["wind-farm", "runs.csv", "--path", "other.jsonl"], "name another file"),
        (["goodwin", "out.txt"], "ending in .csv, .parquet"),
        (["goodwin", "out.csv", "--sampler", "gibbs"], "--sampler is 'gibbs'"),
        (["goodwin", "out.csv", "--sampler", "nuts", "--candidates", "2"], "only mala has them"),
        (["goodwin", "out.csv", "--n", "7", "--observations", "20"], "n is 7"),
    ],
)
def test_wrong_input_is_one_line_and_exit_2(command, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other.jsonl").write_text('{"problem": "another"}\n')
    code, out = command("draw", *arguments)
    assert code == 2 and message in out.err
    assert out.err.count("\n") == 1 and "Traceback" not in out.err


def test_an_unknown_option_is_exit_2(command):
    code, out = command("draw", "goodwin", "out.csv", "-n", "7")
    assert code == 2 and "-n" in out.err and "Traceback" not in out.err


@pytest.mark.slow
def test_draws_in_a_file_are_integrated_by_the_command(command, tmp_path):
    file = tmp_path / "draws.csv"
    code, out = command(
        "draw", "goodwin", file, "--n", 60, "--sampler", "nuts", "--warmup", 30,
        "--observations", 240, "--rtol", "1e-6", "--path", tmp_path / "run",
    )  # fmt: skip
    assert code == 0 and "60 draws of 4 chains" in out.out and "proposals failed" in out.out
    assert list((tmp_path / "run").glob("draws-*.npz"))
    w, score = (",".join(f"{part}_{name}" for name in PARAMETERS) for part in ("w", "score"))
    code, out = command(
        "integrate", file, "--x", w, "--score", score, "--value", ",".join(PARAMETERS),
        "--groups", "chain", "--method", "polynomial", "--json",
    )  # fmt: skip
    record = json.loads(out.out)
    # So short a warmup leaves an acceptance of 0.04: the answer is near, and rightly suspect.
    assert (code, record["status"]) == (3, "suspect")
    assert "should average to zero" in record["message"]
    assert np.allclose(record["mean"], TRUTHS[0], rtol=0.2)
