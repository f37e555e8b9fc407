"""docs/studies.md: what it shows runs, and every key and distribution is explained."""

import re
import shlex
import sys
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest

from steinquad.cli.main import main
from steinquad.methods import registry
from steinquad.studies import file
from steinquad.studies.distributions import DISTRIBUTIONS
from steinquad.studies.integrand import SIZES

PAGE = (Path(__file__).parents[1] / "docs" / "studies.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
COMMANDS, ANSWER, _, TOML, STATISTICS = BLOCKS  # a new one wants a test here


def test_the_commands(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    lines = COMMANDS[1].splitlines()
    assert {line.split()[1] for line in lines} == {
        *("init", "run", "status", "estimate", "report", "export")
    }
    for line in lines:
        monkeypatch.setattr(sys, "argv", shlex.split(line, comments=True))
        with pytest.raises(SystemExit) as stop:
            main()
        assert stop.value.code == 0, line
        beam = tmp_path / "beam" / "study.toml"
        text = beam.read_text().replace("runs = 200", "runs = 40")  # and the quickest method
        beam.write_text(text if text.startswith("method") else 'method = "mc"\n' + text)
    assert (tmp_path / "beam" / "study-report.html").exists()
    assert (tmp_path / "results.csv").exists() and (tmp_path / "farm" / "farm.py").exists()
    shown = capsys.readouterr().out
    for line in ANSWER[1].splitlines():
        if "E[" in line:
            assert line.split(" = ")[0] in shown


def test_the_requests_are_those_of_the_shipped_study():
    shipped = (files("steinquad.studies") / "examples" / "wind-farm" / "study.toml").read_text()
    assert tomllib.loads(TOML[1])["outputs"] == tomllib.loads(shipped)["outputs"]
    told = [line.split(" = ")[0].strip() for line in STATISTICS[1].splitlines()]
    quantiles = [f"{p} % quantile of thrust" for p in (5, 50, 95)]
    assert told == ["std of thrust", *quantiles, "P[thrust > 0.9]"]


def test_every_key_and_distribution_is_explained():
    keys = {*file.TOP, *file.FUNCTION, *file.COMMAND, *file.REQUESTS, *registry.names()}
    keys |= {*DISTRIBUTIONS}
    keys |= {key for _, own in DISTRIBUTIONS.values() for key in own}
    keys |= {"runs", "until", "every", "where", "workers", "address", "pool", "here", "dask"}
    quoted = " ".join(re.findall(r"`([^`\n]+)`", PAGE))
    words = set(re.findall(r"[\w-]+", quoted))
    assert {key for key in keys if not set(key.split()) <= words} == set()
    assert "2 GiB" in quoted and set(SIZES) >= {"GiB", "MB"}
