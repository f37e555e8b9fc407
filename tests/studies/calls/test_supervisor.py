"""A supervisor ends as its program did, and everything below it ends with it."""

import os
import signal
import subprocess
import sys

import pytest
from small_study import alive, wait_until

from steinquad.studies.calls.command import end, supervised

SHELL = ("/bin/sh", "-c")


@pytest.mark.parametrize(
    ("script", "code"), [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", -9), ("kill -11 $$", -11)]
)
def test_it_ends_as_the_program_did(script, code):
    assert subprocess.run(supervised([*SHELL, script]), check=False).returncode == code


def test_a_program_that_is_not_there():
    found = subprocess.run(supervised(["no-such-program"]), check=False, capture_output=True)
    assert found.returncode == 127 and b"FileNotFoundError" in found.stderr


def test_input_and_output_are_those_of_the_program():
    found = subprocess.run(supervised(["cat"]), input=b"said", check=True, capture_output=True)
    assert found.stdout == b"said"


def test_a_limit_of_memory_is_the_programs():
    line = [sys.executable, "-S", "-c", "import resource as r; print(r.getrlimit(r.RLIMIT_DATA))"]
    for memory, limit in ((2**28, f"({2**28}, {2**28})"), (None, "(-1, -1)")):
        found = subprocess.run(supervised(line, memory), check=True, capture_output=True)
        assert found.stdout.decode().strip() == limit


def test_everything_below_ends_when_it_is_told_to(tmp_path):
    """Children, orphans, and sessions of their own; one of them ignores what it can ignore."""
    script = f"""
    trap '' TERM HUP
    sleep 60 & echo $! > {tmp_path}/1
    (setsid sleep 60 & echo $! > {tmp_path}/2)
    (setsid sh -c 'trap "" TERM; echo $$ > {tmp_path}/3; sleep 60' &)
    echo $$ > {tmp_path}/4
    wait"""
    process = subprocess.Popen(supervised([*SHELL, script]), start_new_session=True)
    files = [tmp_path / str(i) for i in range(1, 5)]
    wait_until(lambda: all(file.exists() and file.read_text() for file in files))
    pids = [int(file.read_text()) for file in files]
    assert all(alive(pid) for pid in pids)
    end(process)
    assert not any(alive(pid) for pid in pids) and process.returncode == -signal.SIGKILL


def test_an_owner_that_is_gone_is_noticed(tmp_path):
    script = f"echo $$ > {tmp_path}/pid; exec sleep 60"
    line = supervised([*SHELL, script])
    line[4] = str(os.getpid() + 1)  # somebody else
    assert subprocess.run(line, check=False, timeout=60).returncode == -signal.SIGKILL
    if (tmp_path / "pid").exists():
        assert not alive(int((tmp_path / "pid").read_text()))
