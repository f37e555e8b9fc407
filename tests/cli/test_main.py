"""The command as a whole: its version, its help, and how it ends."""

import os
import re
import subprocess
import sys

import pytest

import steinquad
from steinquad.cli.main import COMMANDS, SHOW_TRACEBACK

ENTRY = sys.modules["steinquad.cli.main"]  # `steinquad.cli.main` is the function in it


def test_version(command):
    code, out = command("--version")
    assert code == 0 and out.out == f"steinquad {steinquad.__version__}\n"


def test_help_is_in_groups_and_what_most_need_comes_first(command):
    _, out = command("--help")
    names = re.findall(r"(?m)^  ([a-z]+)  ", out.out)
    assert names[:3] == ["integrate", "posterior", "init"]
    assert names[-4:] == ["demo", "reproduce", "draw", "truth"] and len(names) == 12
    headings = [line[:-1] for line in out.out.splitlines() if re.match(r"\S.*:$", line)]
    assert headings == ["Options", *COMMANDS]


def test_installed_command_exits_2_without_traceback(tmp_path):
    arguments = ["integrate", "no.csv", "--x", "x0", "--value", "f0"]
    command = [sys.executable, "-m", "steinquad", *arguments]
    run = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert run.returncode == 2 and "Traceback" not in run.stderr


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (steinquad.InputError("x has\nlines."), 2, "x has lines."),
        (OSError(28, "No space left on device", "out.csv"), 2, "out.csv: No space left"),
        (MemoryError("2 TiB"), 2, "out of memory (2 TiB)"),
        (KeyboardInterrupt(), 130, "stopped."),
        (ZeroDivisionError("a\nb" * 9999), 1, "a bug of steinquad (ZeroDivisionError: a b"),
    ],
)
def test_whatever_is_raised_is_one_line(command, monkeypatch, error, code, words):
    def fails(**_):
        raise error

    monkeypatch.setattr(ENTRY, "app", fails)
    monkeypatch.delenv(SHOW_TRACEBACK, raising=False)
    ended, out = command()
    assert ended == code and out.err.startswith(f"steinquad: {words}")
    assert out.err.count("\n") == 1
    assert len(out.err) < 1200


def test_a_bug_shows_where_it_is_on_request(command, monkeypatch):
    monkeypatch.setenv(SHOW_TRACEBACK, "1")
    monkeypatch.setattr(ENTRY, "app", lambda **_: 1 / 0)
    code, out = command()
    assert code == 1 and "Traceback" in out.err and "please report it" in out.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nonsense"], "No such command 'nonsense'; see steinquad --help."),
        (["--nope"], "No such option: --nope; see steinquad --help."),
        (["run"], "Missing argument 'file'; see steinquad run --help."),
        (["draw", "nonsense"], "No such command 'nonsense'; see steinquad draw --help."),
    ],
)
def test_a_usage_error_is_one_sentence(command, arguments, message):
    code, out = command(*arguments)
    assert (code, out.err, out.out) == (2, f"steinquad: {message}\n", "")


@pytest.mark.parametrize(("line", "code"), [("--version >&-", 0), ("--nope 2>&-", 2)])
def test_a_closed_stream_is_nobody_who_reads(line, code):
    run = subprocess.run(
        f'"{sys.executable}" -m steinquad {line}', shell=True, capture_output=True, text=True
    )
    assert (run.returncode, run.stdout, run.stderr) == (code, "", "")


def test_help_tells_the_exit_codes_and_needs_no_option(command):
    code, out = command()
    assert (
        code == 0 and out.err == "" and "3 an answer that is suspect" in " ".join(out.out.split())
    )
    assert command("--help")[1].out == out.out


def test_letters_that_the_terminal_has_not_are_no_failure(tmp_path):
    (tmp_path / "t.csv").write_text("größe,f\n1,2\n")
    run = subprocess.run(
        [sys.executable, "-m", "steinquad", "integrate", "t.csv", "--x", "ä", "--value", "f"],
        capture_output=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert run.returncode == 2 and b"Traceback" not in run.stderr and b"\\xe4" in run.stderr


def test_output_that_cannot_be_written_is_one_line():
    with open("/dev/full", "w") as full:
        run = subprocess.run(
            [sys.executable, "-m", "steinquad", "--version"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert run.returncode == 2 and run.stderr == "steinquad: No space left on device.\n"


def test_a_complaint_that_cannot_be_written_keeps_its_code():
    with open("/dev/full", "w") as full:
        line = [sys.executable, "-m", "steinquad", "nonsense"]
        assert subprocess.run(line, stdout=full, stderr=full).returncode == 2
