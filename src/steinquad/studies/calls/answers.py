"""What an integrand answers with, as numbers: one finite real number for each output."""

import csv
import io
import json
import math
import numbers
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .call import Call

__all__ = ["AnswerError", "number_in", "parsed", "row", "rows_of_batch"]

LARGEST_ANSWER = 10_000_000  # bytes that a command may answer with


class AnswerError(Exception):
    """The integrand answered with something that cannot be used; the message says with what."""


def row(answer: Any, names: Sequence[str]) -> tuple[float, ...]:
    """One number for each output, or an `AnswerError`.

    Args:
        answer: a mapping by name, a sequence in the order of the names, or one number.
        names: of the outputs.
    """
    if isinstance(answer, Mapping):
        lacking = [name for name in names if name not in answer]
        if lacking:
            known = ", ".join(map(str, answer)) or "nothing"
            raise AnswerError(f"no output {lacking[0]!r} in the answer, which has {known}")
        values = [answer[name] for name in names]
    elif isinstance(answer, str | bytes) or not hasattr(answer, "__len__"):
        values = [answer]
    elif getattr(answer, "ndim", None) == 0:
        values = [answer[()]]
    elif len(answer) != len(names):  # before a list is made of it, which may fill the memory
        raise AnswerError(f"{len(answer)} values for the {len(names)} outputs {', '.join(names)}")
    else:
        values = list(answer)
    if len(values) != len(names):
        raise AnswerError(f"{len(values)} values for the {len(names)} outputs {', '.join(names)}")
    return tuple(_number(value, name) for value, name in zip(values, names, strict=True))


def rows_of_batch(answer: Any, call: Call, count: int) -> list[tuple[float, ...]]:
    """The numbers of several points, or an `AnswerError`.

    Args:
        answer: an array (count, outputs), a vector where there is one output, or a mapping from
            outputs to vectors.
        call: that was made.
        count: of the points.
    """
    import numpy as np

    from steinquad._types import unmasked  # what is masked is missing, and so no number

    if isinstance(answer, Mapping):
        lacking = [name for name in call.outputs if name not in answer]
        if lacking:
            raise AnswerError(f"no output {lacking[0]!r} in the answer")
        answer = np.stack([unmasked(answer[name]) for name in call.outputs], axis=-1)
    array = unmasked(answer)
    shape = (count, len(call.outputs))
    if array.shape == (count,) and len(call.outputs) == 1:
        array = array[:, None]
    if array.shape != shape:
        raise AnswerError(f"an answer of shape {array.shape} for a batch; return {shape}")
    return [row(each.tolist(), call.outputs) for each in array]


def _number(value: Any, name: str) -> float:
    if getattr(value, "ndim", None) == 0:
        if getattr(value, "mask", False):  # the number under a mask means nothing
            raise AnswerError(f"output {name!r} is masked, so missing")
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise AnswerError(f"output {name!r} is {_short(value)}, not a real number")
    try:
        number = float(value)
    except OverflowError:
        raise AnswerError(f"output {name!r} is an integer beyond what floats hold") from None
    if not math.isfinite(number):
        raise AnswerError(f"output {name!r} is {number}")
    return number


def parsed(file: Path, call: Call, count: int) -> Sequence[tuple[float, ...]]:
    """The numbers in a file that a command has written, or an `AnswerError`.

    Args:
        file: which may not be there.
        call: that was made.
        count: of the points.
    """
    if not file.exists():
        raise AnswerError("the command wrote no {output} file")
    if file.stat().st_size > LARGEST_ANSWER:
        raise AnswerError(f"the command answered with {file.stat().st_size} bytes")
    text = file.read_bytes().decode(errors="replace")
    try:
        if call.output == "csv":
            answers = [_numbers(row, call) for row in csv.DictReader(io.StringIO(text))]
        elif call.style == "batch":
            answers = _json(text)
        else:
            answers = [_json(text)]
    except (ValueError, TypeError, RecursionError):
        raise AnswerError(
            f"the command answered {_short(text)}, not {call.output.upper()}"
        ) from None
    if not isinstance(answers, list) or len(answers) != count:
        got = f"{len(answers)} answers" if isinstance(answers, list) else _short(answers)
        raise AnswerError(
            f"the command wrote {got} for {count} points; write a list, or a row each"
        )
    return [row(answer, call.outputs) for answer in answers]


def _numbers(row: Mapping[str, str], call: Call) -> dict[str, float]:
    """The outputs in a row of CSV."""
    return {key: number_in(value) for key, value in row.items() if key in call.outputs}


def number_in(text: str) -> float:
    """The number that a text is, as other programs write it; a `ValueError` if it is none.

    Python alone also reads `1_000` and the digits of other scripts, which are slips elsewhere.

    Args:
        text: in decimal notation, with spaces around it or not.
    """
    if "_" in text or not text.isascii():
        raise ValueError(f"{text!r} is no number")
    return float(text)


def _json(text: str) -> Any:
    """JSON in which no key comes twice: nobody knows which of the two was meant."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        table = dict(pairs)
        if len(table) < len(pairs):
            raise ValueError("a key comes twice")
        return table

    return json.loads(text, object_pairs_hook=unique)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
