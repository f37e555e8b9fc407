"""How an integrand is called, and what became of a call."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

__all__ = ["LONGEST_ERROR", "Call", "Outcome"]

LONGEST_ERROR = 2_000  # characters that are kept of an error


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

    The kinds are `exception` (also where the process ended by itself), `memory`, `answer` (of a
    wrong shape or type, or not finite), `time-out` and `killed` (by a signal).

    Attributes:
        outputs: one finite number each, in the order of `Call.outputs`; None for a failure.
        seconds: that the call took, of a batch the share of one point.
        failure: its kind, or empty.
        error: what is known of it, at most 2000 characters, or empty.
        version: of the code that was called, a hash taken where that was loaded; empty where it
            has no file, or the process that called it is gone.
    """

    outputs: tuple[float, ...] | None
    seconds: float
    failure: str = ""
    error: str = ""
    version: str = ""

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


def _size(count: int) -> str:
    """So many bytes, for people."""
    power = min(max(count.bit_length() - 1, 0) // 10, 4)
    return f"{count / 1024**power:.4g} {('bytes', 'KiB', 'MiB', 'GiB', 'TiB')[power]}"
