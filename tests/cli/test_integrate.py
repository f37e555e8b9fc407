"""`steinquad integrate`: files in, one answer out; wrong input is one line and exit code 2."""

import json

import numpy as np
import pandas as pd
import pytest
from small_files import frame_of, named, normal_rows, written

import steinquad as sq


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
    assert code == 0 and "Stack: Polynomial(score)" in out.out
    assert "weight" in out.out and "MonteCarlo" in out.out and "cross-fitted" in out.out
    assert max(map(len, out.out.splitlines())) <= 60


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
        "--value", "f1", "--support", "0=-9:9,x1=-9:", "--figure", table / "fit.png",
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
        (["twice.csv", *BASE], "--x names column 'x0'; the file has it 2 times"),
        (["latin.csv", *BASE], "name is not UTF-8 (byte 0xf6)"),
        (["wide.csv", *BASE], "c19, ... (100000 in all)"),
        (["lines.csv", *BASE], "the file has a?b, c"),
        (["data.csv", *BASE, "--support", "\u00b2=0:1"], "names coordinate '\u00b2'"),
        (["data.csv", *BASE, "--support", "0=\u0661:2"], "--support has '0=\u0661:2'"),
        (["data.csv", *BASE, "--support", "0=1_0:20"], "--support has '0=1_0:20'"),
        (["data.csv", *BASE, "--support", "9" * 5000 + "=0:"], "support names coordinate '999"),
        (["data.csv", *BASE, "--support", "0=-9:9,0=-8:8"], "has coordinate 0 twice"),
        (["data.csv", *BASE, "--figure", "no/fit.png"], "--figure no/fit.png cannot be written"),
        (["data.csv", *BASE, "--figure", "fit.docx"], "give a file ending in .png, .svg, .pdf"),
        (["data.csv", *BASE, "--figure", "link.png"], "link.png is the file of the points"),
        (["x" * 5000, *BASE], "File name too long"),
    ],
)
def test_wrong_input_is_one_line_and_exit_2(command, table, monkeypatch, arguments, message):
    (table / "broken.parquet").write_bytes(b"not parquet")
    (table / "broken.csv").write_text("a,b\n1,2\n3\n")
    frame = pd.read_csv(table / "data.csv")
    frame.head(1).to_csv(table / "short.csv", index=False)
    frame.loc[3, "f0"] = np.nan
    frame.to_csv(table / "holes.csv", index=False)
    (table / "twice.csv").write_text("x0,x0,x1,s0,s1,f0\n" + "1,1,1,1,1,1\n" * 9)
    (table / "latin.csv").write_bytes("größe,f0\n1,2\n".encode("latin-1"))
    (table / "wide.csv").write_text(",".join(f"c{i}" for i in range(100_000)) + "\n")
    (table / "lines.csv").write_text('"a\nb",c\n1,2\n')
    (table / "link.png").symlink_to("data.csv")
    monkeypatch.chdir(table)
    code, out = command("integrate", *arguments)
    assert code == 2 and message in out.err
    assert out.err.count("\n") == 1 and "Traceback" not in out.err


def test_a_byte_order_mark_is_no_part_of_a_name(command, table):
    plain = (table / "data.csv").read_bytes()
    (table / "marked.csv").write_bytes(b"\xef\xbb\xbf" + plain)
    code, out = command("integrate", table / "marked.csv", *BASE, "--method", "polynomial")
    assert code == 0 and "E[f] = 1" in out.out


def test_the_answer_is_printed_though_its_figure_is_lost(command, table, monkeypatch):
    def fails(self, path):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(sq.Estimate, "plot", fails)
    figure = table / "fit.png"
    code, out = command("integrate", table / "data.csv", *BASE, "--method", "mc", "--json",
        "--figure", figure,
    )  # fmt: skip
    assert code == 2 and json.loads(out.out)["n"] == 300
    assert out.err.startswith(f"steinquad: --figure {figure} cannot be written (No space left")
    assert out.err.count("\n") == 1 and not figure.exists() and not list(table.glob(".fit*"))


def test_a_suspect_answer_is_printed_and_exits_with_3(command, table):
    frame = pd.read_csv(table / "data.csv")
    frame["rare"] = (frame.index == 7) * 1e6
    frame.to_csv(table / "rare.csv", index=False)
    code, out = command("integrate", table / "rare.csv", "--x", "x0", "--value", "rare",
        "--method", "mc", "--json",
    )  # fmt: skip
    assert code == 3 and json.loads(out.out)["status"] == "suspect" and out.err == ""


@pytest.fixture
def folder(tmp_path):
    return written(tmp_path / "draws", frame_of(normal_rows(3000, 2)), (700, 2000))


FILES = ["--x", "x0,x1", "--score", "s0,s1", "--value", "f0", "--method", "polynomial"]


@pytest.mark.parametrize("pattern", ["", "*.parquet"])
def test_a_directory_and_a_pattern(command, folder, pattern):
    code, out = command("integrate", folder / pattern, *FILES, "--seed", "3", "--json")
    record = json.loads(out.out)
    same = sq.estimate(folder, **(named(2) | {"value": "f0"}), method=sq.Polynomial(), seed=3)
    assert code == 0 and out.err == ""
    assert (record["mean"], record["std"], record["n"]) == (same.mean, same.std, 3000)
    assert record["stats"]["fitted_rows"] == 2000 and record["stats"]["files"] == 3


def test_one_file_is_read_whole_unless_it_is_large(command, folder, monkeypatch):
    file = folder / "001.parquet"

    def fitted(*options):
        code, out = command("integrate", file, *FILES, "--json", *options)
        assert code in (0, 3)  # values for weights are suspect
        return json.loads(out.out)["stats"].get("fitted_rows")

    assert fitted() is None
    assert fitted("--fit-rows", "300") == 300
    monkeypatch.setattr("steinquad.cli.integrate.IN_MEMORY", 1000)
    assert fitted("--fit-rows", "400") == 400
    file.unlink()
    written(folder, frame_of(normal_rows(3000, 2)))
    file = folder / "000.parquet"
    assert fitted() == 2000
    assert fitted("--weights", "f2") is None  # which only a whole file has


def test_text_and_figure_of_files(command, folder, tmp_path):
    code, out = command("integrate", folder, *FILES, "--figure", tmp_path / "fit.png")
    assert code == 0 and "n = 3000" in out.out and "2000 of 3000 rows" in " ".join(out.out.split())
    assert (tmp_path / "fit.png").stat().st_size > 5000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--groups", "word"], "--groups is for one file that is read whole"),
        (["--noise", "f0", "--fit-rows", "99"], "--noise is for one file that is read whole"),
        (["--fit-rows", "3"], "fit_rows is 3; give an integer of at least 20"),
        (["--x", "x0,zz"], "has no one column 'zz'; it has x0, x1, s0"),
        (["--value", "word"], "has column 'word', which is not numeric"),
        (["--support", "0=0:"], "outside of the support"),
        (["--client", "nonsense://1"], "client is 'nonsense://1', where no Dask"),
    ],
)
def test_wrong_input_of_files_is_one_line(command, folder, arguments, message):
    code, out = command("integrate", folder, *FILES, *arguments)
    assert code == 2 and message in out.err
    assert out.err.count("\n") == 1 and "Traceback" not in out.err


def test_a_directory_without_files(command, tmp_path):
    code, out = command("integrate", tmp_path, *FILES)
    assert code == 2 and "is a directory without CSV or Parquet files" in out.err
