"""The one exception for wrong input, so that callers and the command can tell it from a bug."""

from collections.abc import Sequence
from typing import Any

__all__ = ["InputError", "shown", "shown_point"]

LONGEST = 80  # characters of a value in a message
MOST_COORDINATES = 6  # of a point in a message


class InputError(ValueError):
    """An argument is wrong; the message is one sentence: which, what came, what to do.

    Those who call for somebody else, such as the reader of a study file, tell the same problem by
    another name of the argument: they read these fields, never the text.

    Attributes:
        argument: the name of what is wrong, empty where the message alone tells.
        problem: what is wrong with it and what to do, without a period at the end.

    >>> error = InputError.about("seed", "is -1; give an integer >= 0")
    >>> str(error), error.argument
    ('seed is -1; give an integer >= 0.', 'seed')
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.argument, self.problem = "", message.removesuffix(".")

    @classmethod
    def about(cls, argument: str, problem: str) -> "InputError":
        """A complaint about one argument, with the message `argument problem.`.

        Args:
            argument: its name, as the caller knows it.
            problem: what came and what to do, without a period at the end.
        """
        error = cls(f"{argument} {problem}.")
        error.argument, error.problem = argument, problem
        return error


def shown(value: Any) -> str:
    """A value as a message shows it: on one line, and short.

    Args:
        value: anything; one that Python cannot print, such as an integer of 5,000 digits, is
            named by its type.
    """
    try:
        text = " ".join(repr(value).split())
    except Exception:  # whatever somebody's `__repr__` raises
        return f"{type(value).__name__} that cannot be printed"
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."


def shown_point(x: Sequence[Any], names: Sequence[str] = ()) -> str:
    """A point as a message shows it: its first coordinates, with the digits to find it by.

    Args:
        x: coordinates, (d,).
        names: of the coordinates, where somebody has given them.

    >>> shown_point([0.12345678, 2.0]), shown_point(range(9))
    ('x = (0.123457, 2)', 'x = (0, 1, 2, 3, 4, 5, ...)')
    >>> shown_point([0.12345678, 2.0], ["load", "length"])
    'load = 0.123457, length = 2'
    """
    coordinates = [f"{float(value):.6g}" for value in x[:MOST_COORDINATES]]
    more = ["..."] if len(x) > MOST_COORDINATES else []
    if names:
        named = [f"{name} = {value}" for name, value in zip(names, coordinates, strict=False)]
        return ", ".join([*named, *more])
    return f"x = ({', '.join([*coordinates, *more])})"
