"""One call of the integrand, as every worker makes it: what goes in, what may come out.

Only the standard library is imported, and no other module of this package: a worker process loads
this file by itself and so starts in milliseconds, without JAX.
"""

import csv
import importlib
import importlib.util
import io
import json
import math
import numbers
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

__all__ = [
    "Call",
    "Outcome",
    "evaluate",
    "evaluate_each",
    "find",
    "kill_commands",
    "limit_memory",
    "load",
    "placeholders",
]

LONGEST_ERROR = 2_000  # characters that are kept of an error
LARGEST_ANSWER = 10_000_000  # bytes that a command may answer with
PLACEHOLDER = re.compile(r"\{\{|\}\}|\{([^{}]*)\}")
RESERVED = ("input", "output", "number")  # placeholders that are no inputs
# A limit is set by a program in between: code between fork and exec is not safe among threads.
LIMITED = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_DATA, (int(sys.argv[1]),) * 2)
try:
    os.execvp(sys.argv[2], sys.argv[2:])
except OSError as error:
    sys.exit(f"{type(error).__name__}: {error.strerror}: {sys.argv[2]}")
"""

_commands: set[int] = set()  # process groups that are running


@dataclass(frozen=True)
class Call:
    """How the integrand is called.

    Attributes:
        names: of the inputs, in the order of the points' coordinates.
        outputs: names of the outputs.
        function: `module:name` or `file.py:name`; empty for a command, or for a function that
            travels as an object.
        style: `keywords` for f(a=.., b=..), `dict` for f({"a": .., "b": ..}), `batch` for f(x)
            with an array x of shape (n, d), or for a command that is given a list of points.
        command: arguments with placeholders {name}, {input}, {output}, {number}; no shell.
        input: what the command reads, in the file {input} or from its standard input: `json`,
            `csv`, or `none`.
        output: what the command writes, to the file {output} or its standard output: `json` or
            `csv`.
        time_limit: seconds for a call; of a function it is kept by whoever owns the process.
        memory: bytes that a process may have; likewise.
        directory: where modules, files and commands are looked for.
    """

    names: Sequence[str]
    outputs: Sequence[str]
    function: str = ""
    style: str = "keywords"
    command: Sequence[str] = ()
    input: str = "none"
    output: str = "json"
    time_limit: float | None = None
    memory: int | None = None
    directory: str = "."

    @property
    def limits(self) -> str:
        """What to add to the news of an end that the limit of memory may be the reason of.

        A process that hits the limit may end by an exception, an exit code or a signal, so that
        nobody can say for sure; empty where there is no limit.
        """
        return "" if self.memory is None else f"; its memory is limited to {_size(self.memory)}"

    def to_json(self) -> str:
        """One line of JSON with all fields, by which a worker process learns how to call.

        It holds no code: a function that is only an object, without a name, does not travel this
        way.
        """
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "Call":
        """The inverse of `to_json`, for the worker; sequences come back as lists.

        Args:
            text: one line, as `to_json` gave it.
        """
        return cls(**json.loads(text))


@dataclass(frozen=True)
class Outcome:
    """What became of one point: its outputs, or the kind of failure and an error text.

    The kinds are `exception`, `memory`, `answer` (of a wrong shape or type, or not finite),
    `time-out` and `killed`.

    Attributes:
        outputs: one finite number each, in the order of `Call.outputs`; None for a failure.
        seconds: that the call took, of a batch the share of one point.
        failure: its kind, or empty.
        error: what is known of it, at most 2000 characters, or empty.
    """

    outputs: tuple[float, ...] | None
    seconds: float
    failure: str = ""
    error: str = ""

    def __post_init__(self) -> None:
        # File names that are not UTF-8 come as surrogates, which no file can hold.
        plain = self.error[:LONGEST_ERROR].encode(errors="replace").decode()
        object.__setattr__(self, "error", plain)

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> "Outcome":
        """An outcome from its fields after a passage through JSON, which has no tuples.

        Args:
            fields: what `dataclasses.asdict` gave in the worker; `outputs` may be a list.
        """
        made = cls(**fields)
        return made if made.outputs is None else replace(made, outputs=tuple(made.outputs))


def evaluate(
    call: Call,
    points: Sequence[Sequence[float]],
    numbers: Sequence[int],
    function: Callable[..., Any] | None = None,
) -> list[Outcome]:
    """The outcomes at some points, one each; more than one point only for the style `batch`.

    Args:
        call: how to call.
        points: coordinates of each point.
        numbers: of the points in the study.
        function: the integrand itself where it has no name to be loaded by.
    """
    begin = time.perf_counter()

    failure = error = ""
    rows: Sequence[tuple[float, ...] | None] = [None] * len(points)
    try:
        if call.command:
            rows = _run(call, points, numbers[0])
        else:
            rows = _apply(call, points, function or load(call))
    except _TimeOutError as late:
        failure, error = "time-out", str(late)
    except _AnswerError as wrong:
        failure, error = "answer", str(wrong)
    except MemoryError as raised:
        failure, error = "memory", _describe(raised) + call.limits
    except (Exception, SystemExit) as raised:
        failure, error = "exception", _describe(raised)
    seconds = (time.perf_counter() - begin) / len(points)
    return [Outcome(row, seconds, failure, error) for row in rows]


def evaluate_each(
    call: Call,
    tasks: Sequence[tuple[Sequence[int], Sequence[Sequence[float]]]],
    function: Callable[..., Any] | None = None,
) -> list[list[Outcome]]:
    """The outcomes of several calls, one after the other, as one task for an executor.

    Args:
        call: how to call.
        tasks: numbers and coordinates of the points of each call.
        function: the integrand itself where it has no name to be loaded by.
    """
    return [evaluate(call, points, numbers, function) for numbers, points in tasks]


def load(call: Call) -> Callable[..., Any]:
    """The integrand that `call.function` names, imported or taken from an earlier import.

    Args:
        call: with a function by name, and the directory to look for it in.

    Raises:
        TypeError: the name stands for something that cannot be called.
        Exception: whatever the import raises, `SystemExit` too.
    """
    function = find(call.function, call.directory)
    if not callable(function):
        raise TypeError(f"{call.function} is {type(function).__name__}, not a function")
    return function


def find(reference: str, directory: str = ".") -> Any:
    """The object that `module:name` or `file.py:name` names; raises whatever loading it raises.

    Its directory is put in front of the import path, so that a file may import its neighbors. A
    file is loaded again if it was edited since, a module is not.

    Args:
        reference: the name may have dots, such as `Class.method`.
        directory: where the module or file is looked for.
    """
    where, _, name = reference.rpartition(":")
    directory = str(Path(directory).resolve())
    file = Path(directory, where) if where.endswith(".py") else None
    now = None if file is None else file.stat().st_mtime_ns  # an edited file is loaded again
    if (directory, reference, now) in _loaded:
        return _loaded[directory, reference, now]
    if directory not in sys.path:
        sys.path.insert(0, directory)
    if file is not None:
        spec = importlib.util.spec_from_file_location(f"_study_{file.stem}", file)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module  # so that its classes can be found
        spec.loader.exec_module(module)
    else:
        module = importlib.import_module(where)
    named: Any = module
    for part in name.split("."):
        named = getattr(named, part)
    _loaded[directory, reference, now] = named
    return named


_loaded: dict[tuple[str, str, int | None], Any] = {}


def limit_memory(limit: int) -> None:
    """Let this process, and each that it starts, have so many bytes of data and no more.

    Not the address space: libraries and threads reserve much of that and never touch it.

    Args:
        limit: in bytes; there is no way back.
    """
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def kill_commands() -> None:
    """End every command that this process is running, with all that it started.

    Commands run in process groups of their own, which do not end with their parent: a worker calls
    this before it ends in the middle of a call.
    """
    for group in tuple(_commands):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)


class _AnswerError(Exception):
    """The integrand answered with something that cannot be used."""


class _TimeOutError(Exception):
    """A command did not answer in time."""


def _apply(
    call: Call, points: Sequence[Sequence[float]], function: Callable[..., Any]
) -> list[tuple[float, ...]]:
    if call.style == "batch":
        import numpy as np

        return _batch_rows(function(np.array(points, dtype=np.float64)), call, len(points))
    named = dict(zip(call.names, points[0], strict=True))
    answer = function(**named) if call.style == "keywords" else function(named)
    return [_row(answer, call.outputs)]


def _row(answer: Any, names: Sequence[str]) -> tuple[float, ...]:
    """One number for each output: from a mapping, a sequence in their order, or one number."""
    if isinstance(answer, Mapping):
        lacking = [name for name in names if name not in answer]
        if lacking:
            known = ", ".join(map(str, answer)) or "nothing"
            raise _AnswerError(f"no output {lacking[0]!r} in the answer, which has {known}")
        values = [answer[name] for name in names]
    elif isinstance(answer, str | bytes) or not hasattr(answer, "__len__"):
        values = [answer]
    elif getattr(answer, "ndim", None) == 0:
        values = [answer[()]]
    else:
        values = list(answer)
    if len(values) != len(names):
        raise _AnswerError(f"{len(values)} values for the {len(names)} outputs {', '.join(names)}")
    return tuple(_number(value, name) for value, name in zip(values, names, strict=True))


def _batch_rows(answer: Any, call: Call, count: int) -> list[tuple[float, ...]]:
    import numpy as np

    if isinstance(answer, Mapping):
        lacking = [name for name in call.outputs if name not in answer]
        if lacking:
            raise _AnswerError(f"no output {lacking[0]!r} in the answer")
        answer = np.stack([np.asarray(answer[name]) for name in call.outputs], axis=-1)
    array = np.asarray(answer)
    shape = (count, len(call.outputs))
    if array.shape == (count,) and len(call.outputs) == 1:
        array = array[:, None]
    if array.shape != shape:
        raise _AnswerError(f"an answer of shape {array.shape} for a batch; return {shape}")
    return [_row(row.tolist(), call.outputs) for row in array]


def _number(value: Any, name: str) -> float:
    if getattr(value, "ndim", None) == 0:
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise _AnswerError(f"output {name!r} is {_short(value)}, not a real number")
    if not math.isfinite(value):
        raise _AnswerError(f"output {name!r} is {float(value)}")
    return float(value)


def _run(
    call: Call, points: Sequence[Sequence[float]], number: int
) -> Sequence[tuple[float, ...]]:
    """Run the command once, in a process group of its own."""
    named = [dict(zip(call.names, point, strict=True)) for point in points]
    with tempfile.TemporaryDirectory(prefix="steinquad-") as scratch:
        files = {key: Path(scratch, key) for key in ("input", "output", "stdout", "stderr")}
        files["input"].write_text(_input_text(call, named))
        values = {name: repr(value) for name, value in named[0].items()} | {
            "input": str(files["input"]),
            "output": str(files["output"]),
            "number": str(number),
        }
        arguments = [_filled(argument, values) for argument in call.command]
        if call.memory is not None:
            arguments = [sys.executable, "-IS", "-c", LIMITED, str(call.memory), *arguments]
        with (
            files["input"].open("rb") as stdin,
            files["stdout"].open("wb") as stdout,
            files["stderr"].open("wb") as stderr,
        ):
            process = subprocess.Popen(
                arguments,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                cwd=call.directory,
                start_new_session=True,
            )
        _commands.add(process.pid)
        try:
            code = process.wait(call.time_limit)
        except subprocess.TimeoutExpired as late:
            raise _TimeOutError(f"no answer within {late.timeout:g} s") from None
        finally:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)  # and what it left behind
            process.wait()
            _commands.discard(process.pid)
        if code != 0:
            said = files["stderr"].read_bytes()[-LONGEST_ERROR // 2 :].decode(errors="replace")
            how = f"exit code {code}{call.limits}"
            raise RuntimeError(f"the command ended with {how}: {said.strip()}")
        answer = "output" if "output" in placeholders(call.command) else "stdout"
        return _parsed(files[answer], call, len(points))


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


def _parsed(file: Path, call: Call, count: int) -> Sequence[tuple[float, ...]]:
    if not file.exists():
        raise _AnswerError("the command wrote no {output} file")
    if file.stat().st_size > LARGEST_ANSWER:
        raise _AnswerError(f"the command answered with {file.stat().st_size} bytes")
    text = file.read_bytes().decode(errors="replace")
    try:
        if call.output == "csv":
            answers = [_numbers(row, call) for row in csv.DictReader(io.StringIO(text))]
        elif call.style == "batch":
            answers = json.loads(text)
        else:
            answers = [json.loads(text)]
    except (ValueError, TypeError, RecursionError):
        raise _AnswerError(
            f"the command answered {_short(text)}, not {call.output.upper()}"
        ) from None
    if not isinstance(answers, list) or len(answers) != count:
        got = f"{len(answers)} answers" if isinstance(answers, list) else _short(answers)
        raise _AnswerError(
            f"the command wrote {got} for {count} points; write a list, or a row each"
        )
    return [_row(answer, call.outputs) for answer in answers]


def _numbers(row: Mapping[str, str], call: Call) -> dict[str, float]:
    """The outputs in a row of CSV."""
    return {key: float(value) for key, value in row.items() if key in call.outputs}


def _describe(error: BaseException) -> str:
    """The exception and where it was raised, the innermost place first."""
    trace, last = error.__traceback__, None
    while trace is not None:
        last, trace = trace, trace.tb_next
    place = ""
    if last is not None:
        place = f" ({Path(last.tb_frame.f_code.co_filename).name}, line {last.tb_lineno})"
    try:
        said = str(error)
    except Exception:  # of an exception that cannot tell what it is
        said = "without a text"
    return f"{type(error).__name__}: {said}{place}"


def _size(count: int) -> str:
    """So many bytes, for people."""
    power = min(max(count.bit_length() - 1, 0) // 10, 4)
    return f"{count / 1024**power:.4g} {('bytes', 'KiB', 'MiB', 'GiB', 'TiB')[power]}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
