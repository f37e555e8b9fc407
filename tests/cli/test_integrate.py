"""`steinquad integrate`: files in, one answer out; wrong input is one line and exit code 2."""

import json

import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def table(tmp_path):
    x = np.random.default_rng(0).standard_normal((300, 2))
    frame = pd.DataFrame({"x0": x[:, 0], "x1": x[:, 1], "s0": -x[:, 0], "s1": -x[:, 1]})
    frame["f0"], frame["f1"] = x[:, 0] ** 2, np.cos(x[:, 1])
    frame["word"] = "a"
    frame.to_csv(tmp_path / "data.csv", index=False)
    frame.to_parquet(tmp_path / "data.parquet")
    return tmp_path


@pytest.mark.parametrize("name", ["data.csv", "data.parquet"])
def test_json_has_the_promised_fields(command, table, name):
    code, out = command("integrate", table / name, "--x", "x0,x1", "--score", "s0,s1",
        "--value", "f0", "--json",
    )  # fmt: skip
    record = json.loads(out.out)
    assert code == 0
    assert {"mean", "std", "interval95", "method", "status", "n"} <= set(record)
    assert abs(record["mean"] - 1) < 5 * record["std"] and record["n"] == 300


def test_two_values_and_text(command, table):
    code, out = command("integrate", table / "data.csv", "--x", "x0,x1", "--value", "f0,f1",
        "--method", "mc",
    )  # fmt: skip
    assert code == 0 and "E[f0]" in out.out and "E[f1]" in out.out


def test_the_default_chooses_and_shows_its_candidates(command, table, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    code, out = command("integrate", table / "data.csv", "--x", "x0,x1", "--score", "s0,s1",
        "--value", "f0",
    )  # fmt: skip
    assert code == 0 and "Choose: Polynomial(score)" in out.out
    assert "chosen" in out.out and "MonteCarlo" in out.out and "cross-fitted" in out.out
    assert max(map(len, out.out.splitlines())) <= 60 or "cheaper" in out.out


def test_noise_and_chains_come_from_columns(command, table):
    frame = pd.read_csv(table / "data.csv")
    frame["sd"], frame["chain"] = 0.1, np.repeat([0, 1], 150)
    frame.to_csv(table / "more.csv", index=False)
    code, out = command("integrate", table / "more.csv", *BASE, "--noise", "sd",
        "--groups", "chain", "--method", "polynomial", "--json",
    )  # fmt: skip
    assert code == 0 and abs(json.loads(out.out)["mean"] - 1) < 0.1


def test_figure_and_support(command, table):
    code, _ = command("integrate", table / "data.csv", "--x", "x0,x1", "--score", "s0,s1",
        "--value", "f0", "--support", "0=-9:9,x1=-9:", "--figure", table / "fit.png",
    )  # fmt: skip
    assert code == 0 and (table / "fit.png").stat().st_size > 5000


BASE = ["--x", "x0,x1", "--score", "s0,s1", "--value", "f0"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no.csv", *BASE], "does not exist"),
        (["broken.parquet", *BASE], "cannot be read"),
        (["broken.csv", *BASE], "cannot be read"),
        (["data.csv", *BASE, "--method", "magic"], "--method is 'magic'"),
        (["data.csv", "--x", "x0,zz", "--value", "f0"], "--x names column 'zz'; the file has x0"),
        (["data.csv", "--x", "x0", "--value", "word"], "'word', which is not numeric"),
        (["data.csv", "--x", "x0,x1", "--value", "f0", "--method", "bsn"], "score is missing"),
        (["data.csv", *BASE, "--support", "0=1"], "--support has '0=1'"),
        (["data.csv", *BASE, "--support", "0=0:1"], "outside the support"),
        (["data.csv", *BASE, "--support", "7=0:1"], "support names coordinate 7"),
        (["holes.csv", *BASE], "contains NaN"),
        (["short.csv", *BASE], "give at least 2"),
    ],
)
def test_wrong_input_is_one_line_and_exit_2(command, table, monkeypatch, arguments, message):
    (table / "broken.parquet").write_bytes(b"not parquet")
    (table / "broken.csv").write_text("a,b\n1,2\n3\n")
    frame = pd.read_csv(table / "data.csv")
    frame.head(1).to_csv(table / "short.csv", index=False)
    frame.loc[3, "f0"] = np.nan
    frame.to_csv(table / "holes.csv", index=False)
    monkeypatch.chdir(table)
    code, out = command("integrate", *arguments)
    assert code == 2 and message in out.err
    assert out.err.count("\n") == 1 and "Traceback" not in out.err
