"""What a study evaluates: a function by name or as an object, or a command."""

import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from steinquad._types import is_word
from steinquad.errors import InputError, shown
from steinquad.studies.calls.call import Call
from steinquad.studies.calls.command import RESERVED, placeholders

__all__ = ["FORMATS", "STYLES", "Command", "bytes_of", "complete"]

STYLES = ("keywords", "dict", "batch")
FORMATS = ("json", "csv")
SIZES = {"kB": 1000, "MB": 1000**2, "GB": 1000**3, "TB": 1000**4} | {
    "KiB": 1024,
    "MiB": 1024**2,
    "GiB": 1024**3,
    "TiB": 1024**4,
}


@dataclass(frozen=True)
class Command:
    """A program that is run for every point, or for several; a shell is never involved.

    With `style="batch"` of the study, input and answer are lists of what they are for one point,
    or have a row for each, in the same order; the arguments then name no inputs.

    Args:
        arguments: the program and its arguments. In each, `{name}` is replaced by the value of
            that input, `{input}` by a file with all inputs, `{output}` by a file to write the
            outputs to, `{number}` by the number of the point; `{{` and `}}` are braces.
        input: `json` or `csv` to have the inputs in the file `{input}`, or on standard input where
            no argument names it; `none` where the arguments say everything.
        output: `json` (an object by name, or a list in the order of the outputs) or `csv` (a
            header and a row), read from `{output}`, or from standard output.
    """

    arguments: Sequence[str]
    input: str = "none"
    output: str = "json"


def complete(call: Call, integrand: Any) -> tuple[Call, Callable[..., Any] | None]:
    """A call with its integrand, and the function itself where it was given as an object.

    Args:
        call: that has everything else: names, outputs, style, limits, directory.
        integrand: a function, its name as `module:function` or `file.py:function`, or a
            `Command`; anything else is an `InputError`, as is what does not go with the style.
    """
    if not is_word(call.style, *STYLES):
        raise InputError.about(
            "style", f"is {shown(call.style)}; choose one of {', '.join(STYLES)}"
        )
    if isinstance(integrand, Command):
        arguments = _checked(integrand, call.names, call.style)
        read, write = integrand.input, integrand.output
        return replace(call, command=arguments, input=read, output=write), None
    if isinstance(integrand, str):
        where, colon, name = integrand.rpartition(":")
        if not (where and colon and all(part.isidentifier() for part in name.split("."))):
            raise InputError.about(
                "integrand", f"is {integrand!r}; give module:function or file.py:function"
            )
        function, reference = None, integrand
    elif callable(integrand):
        function, reference = integrand, _reference(integrand)
    else:
        raise InputError.about(
            "integrand",
            f"is a {type(integrand).__name__}; pass a function, 'module:function', or "
            "sq.Command([...])",
        )
    return replace(call, function=reference), function


def _reference(function: Callable[..., Any]) -> str:
    """The name by which a worker can import a function, empty if there is none."""
    module = getattr(function, "__module__", None)
    name = getattr(function, "__qualname__", "<")
    if "<" in name or module is None:
        return ""
    named: Any = sys.modules.get(module)
    for part in name.split("."):
        named = getattr(named, part, None)
    if named is not function:
        return ""
    if module != "__main__":
        return f"{module}:{name}"
    file = getattr(sys.modules["__main__"], "__file__", None)
    return "" if file is None else f"{Path(file).resolve()}:{name}"


def bytes_of(memory: Any) -> int:
    """How many bytes a limit of memory is, given as a text.

    Args:
        memory: a number and one of `SIZES`; anything else is an `InputError`.

    >>> bytes_of("1.5 kB")
    1500
    """
    text = memory if isinstance(memory, str) else ""
    parts = re.fullmatch(r"(\d+(?:\.\d+)?) *([A-Za-z]+)", text)
    if parts is None or parts[2] not in SIZES or not 0 < float(parts[1]) < 1e6:
        known = ", ".join(SIZES)
        raise InputError.about(
            "memory", f"is {shown(memory)}; give a text such as '2 GiB', in one of {known}"
        )
    if sys.platform != "linux":
        raise InputError.about(
            "memory", f"is {memory!r}, but only Linux keeps such a limit; leave it out"
        )
    return int(float(parts[1]) * SIZES[parts[2]])


def _checked(command: Command, names: Sequence[str], style: str) -> tuple[str, ...]:
    if style == "dict":
        raise InputError.about(
            "style", "is 'dict', which is for functions; leave it out, or say 'batch'"
        )
    arguments = command.arguments
    listed = isinstance(arguments, list | tuple) and len(arguments) > 0
    if not listed or not all(isinstance(a, str) and "\x00" not in a for a in arguments):
        raise InputError.about(
            "command", f"is {arguments!r}; give a list of texts, the program first"
        )
    for key, value, known in (
        ("input", command.input, ("none", *FORMATS)),
        ("output", command.output, FORMATS),
    ):
        if value not in known:
            raise InputError.about(key, f"is {value!r}; choose one of {', '.join(known)}")
    for name in names:
        if name in RESERVED:
            raise InputError.about(
                "inputs", f"has {name!r}, which means something else in a command"
            )
    known = ("input", "output") if style == "batch" else (*names, *RESERVED)
    used = placeholders(arguments)
    for name in sorted(used - set(known)):
        which = "of a batch " if style == "batch" else ""
        raise InputError.about(
            "command",
            f"{which}has the placeholder {{{name}}}; known are {', '.join(known)}, and {{{{ for a "
            "brace",
        )
    if style == "batch" and command.input == "none":
        raise InputError.about("command", "of a batch has input 'none'; say json or csv")
    if command.input == "none" and "input" in used:
        raise InputError.about("command", "has {input} but input is 'none'; say json or csv")
    return tuple(arguments)
