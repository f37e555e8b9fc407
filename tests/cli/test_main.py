"""The command as a whole: its version, its help, and how it ends."""

import re
import subprocess
import sys

import steinquad
from steinquad.cli.main import COMMANDS


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
