"""Make a call and tell what became of it, whatever the integrand does."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from . import command
from .answers import AnswerError, row, rows_of_batch
from .call import Call, Outcome
from .loading import Loaded, load, version_of_command

__all__ = ["evaluate", "evaluate_each"]


def evaluate(
    call: Call,
    points: Sequence[Sequence[float]],
    numbers: Sequence[int],
    integrand: Loaded | None = None,
) -> list[Outcome]:
    """The outcomes at some points, one each; more than one point only for the style `batch`.

    Args:
        call: how to call.
        points: coordinates of each point.
        numbers: of the points in the study.
        integrand: as `load` gave it; by default it is loaded now, or the call is of a command.
    """
    begin = time.perf_counter()
    failure = error = version = ""
    rows: Sequence[tuple[float, ...] | None] = [None] * len(points)
    try:
        if call.command:
            version = version_of_command(call)
            rows = command.run(call, points, numbers[0])
            after = version_of_command(call)
            # Nobody knows which of the two has run.
            version = version if after == version else f"{version} or {after}"
        else:
            integrand = integrand or load(call)
            version = integrand.version
            rows = _apply(call, points, integrand.value)
    except command.TimeOutError as late:
        failure, error = "time-out", str(late)
    except AnswerError as wrong:
        failure, error = "answer", str(wrong)
    except MemoryError as raised:
        failure, error = "memory", _describe(raised) + call.limits
    except (Exception, SystemExit) as raised:
        failure, error = "exception", _describe(raised)
    seconds = (time.perf_counter() - begin) / len(points)
    return [Outcome(each, seconds, failure, error, version) for each in rows]


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
    integrand = None if function is None else load(call, function)
    return [evaluate(call, points, numbers, integrand) for numbers, points in tasks]


def _apply(
    call: Call, points: Sequence[Sequence[float]], function: Callable[..., Any]
) -> list[tuple[float, ...]]:
    if call.style == "batch":
        import numpy as np

        return rows_of_batch(function(np.array(points, dtype=np.float64)), call, len(points))
    named = dict(zip(call.names, points[0], strict=True))
    answer = function(**named) if call.style == "keywords" else function(named)
    return [row(answer, call.outputs)]


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
