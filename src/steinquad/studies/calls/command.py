"""Run a command once, its arguments filled in and its files in a directory of its own."""

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from . import supervisor
from .answers import parsed
from .call import LONGEST_ERROR, Call
from .scratch import remove_abandoned, scratch_directory

__all__ = ["RESERVED", "TimeOutError", "end", "placeholders", "run", "supervised"]

PLACEHOLDER = re.compile(r"\{\{|\}\}|\{([^{}]*)\}")
RESERVED = ("input", "output", "number")  # placeholders that are no inputs
PATIENCE = 10.0  # s for a supervisor to end all that it watches

_clean_once = cache(remove_abandoned)


class TimeOutError(Exception):
    """A command did not answer in time."""


def run(call: Call, points: Sequence[Sequence[float]], number: int) -> Sequence[tuple[float, ...]]:
    """The outputs at some points, by one run of the command of a call.

    Whatever the command has started is ended with it. At the first run of a process, directories
    that killed ones have left are removed.

    Args:
        call: with a command.
        points: one, or several for the style `batch`.
        number: of the first point in the study.

    Raises:
        TimeOutError: it took longer than `call.time_limit`.
        AnswerError: it answered with something else than numbers.
        RuntimeError: it ended with another exit code than 0; the message has what it said.
    """
    _clean_once()
    named = [dict(zip(call.names, point, strict=True)) for point in points]
    with scratch_directory() as scratch:
        files = {key: scratch / key for key in ("input", "output", "stdout", "stderr")}
        files["input"].write_text(_input_text(call, named))
        values = {name: repr(value) for name, value in named[0].items()} | {
            "input": str(files["input"]),
            "output": str(files["output"]),
            "number": str(number),
        }
        arguments = [_filled(argument, values) for argument in call.command]
        with (
            files["input"].open("rb") as stdin,
            files["stdout"].open("wb") as stdout,
            files["stderr"].open("wb") as stderr,
        ):
            process = subprocess.Popen(
                supervised(arguments, call.memory),
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                cwd=call.directory,
                start_new_session=True,
            )
        try:
            code = process.wait(call.time_limit)
        except subprocess.TimeoutExpired as late:
            raise TimeOutError(f"no answer within {late.timeout:g} s") from None
        finally:
            end(process)
        if code != 0:
            said = files["stderr"].read_bytes()[-LONGEST_ERROR // 2 :].decode(errors="replace")
            how = f"signal {-code}" if code < 0 else f"exit code {code}"
            raise RuntimeError(f"the command ended with {how}{call.limits}: {said.strip()}")
        answer = "output" if "output" in placeholders(call.command) else "stdout"
        return parsed(files[answer], call, len(points))


def supervised(arguments: Sequence[str], memory: int | None = None) -> list[str]:
    """The command line that runs a program under a supervisor, which ends all that it starts.

    Args:
        arguments: the program and its arguments.
        memory: most bytes of data for it; None for no limit.
    """
    isolated = [sys.executable, "-I", "-S", str(Path(supervisor.__file__))]
    return [*isolated, str(os.getpid()), str(memory or 0), *arguments]


def end(process: "subprocess.Popen[str] | subprocess.Popen[bytes]") -> None:
    """End a supervisor with everything below it, also what is left if it was killed itself.

    Args:
        process: started with `supervised` and `start_new_session=True`; it may have ended.
    """
    with suppress(subprocess.TimeoutExpired):
        process.terminate()
        process.wait(PATIENCE)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    if process.wait() == -signal.SIGKILL:  # its own end as well, where it had to kill
        supervisor.end_marked(os.getpid(), process.pid)


def placeholders(arguments: Sequence[str]) -> set[str]:
    """Names in braces that are to be filled in in a command; `{{` and `}}` are plain braces.

    Args:
        arguments: of the command, as the user wrote them.

    Returns:
        Every name once, known or not: it is for the caller to refuse those that mean nothing.
    """
    names = (match[1] for argument in arguments for match in PLACEHOLDER.finditer(argument))
    return {name for name in names if name is not None}


def _filled(argument: str, values: Mapping[str, str]) -> str:
    def value(match: re.Match[str]) -> str:
        return match[0][0] if match[1] is None else values[match[1]]

    return PLACEHOLDER.sub(value, argument)


def _input_text(call: Call, named: Sequence[Mapping[str, float]]) -> str:
    if call.input == "json":
        return json.dumps(named if call.style == "batch" else named[0])
    text = io.StringIO()
    if call.input == "csv":
        rows = (map(repr, each.values()) for each in named)
        csv.writer(text).writerows([call.names, *rows])
    return text.getvalue()
