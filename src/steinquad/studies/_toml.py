"""TOML with manners: every complaint names the file, the line and the key."""

import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from steinquad.errors import InputError

__all__ = ["REQUIRED", "PlacedError", "TomlTable", "read"]

REQUIRED = object()
LARGEST = sys.float_info.max
LARGEST_COUNT = 2**62 - 1  # within what SQLite and NumPy store as an integer
# Of a study file: far more than anybody writes, and little enough to be parsed in a second.
LARGEST_FILE, MOST_PARTS = 1_000_000, 100
LONGEST_WORD = 40  # of one that is compared with those that are known
KEY = re.compile(r"""\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|([A-Za-z0-9_-]+))\s*(\.|=|\]\]?|$)""")


class PlacedError(InputError):
    """A complaint about a study file, whose message begins with the file and the line.

    It is an `InputError`, so that callers need not tell the two apart; `distributions.measure_of`
    does, in order not to give a place to a complaint that has one.
    """


class TomlTable:
    """A table of the file; keys are taken out one by one, and what is left is refused.

    Attributes:
        path: keys that lead here from the top, with positions in arrays as numbers.
    """

    def __init__(self, values: dict[str, Any], path: tuple[Any, ...], source: "_Source") -> None:
        self.values, self.path, self._source = dict(values), path, source

    def error(self, key: Any, problem: str) -> PlacedError:
        """A complaint that begins with file, line and full name of the key.

        Args:
            key: of this table; None for a complaint about the table itself.
            problem: what is wrong and what to do, without a period at the end.
        """
        return self._source.error(self.path if key is None else (*self.path, key), problem)

    @property
    def files(self) -> tuple[Path, ...]:
        """The file itself and those that `also_read` has named so far, of all of its tables.

        Whoever writes about a study must not overwrite any of them.
        """
        return tuple(self._source.files)

    def also_read(self, text: str) -> Path:
        """The path of another file that this one names, relative to its directory.

        Args:
            text: the path as it stands in the file.
        """
        path = self._source.path.parent / text
        self._source.files.append(path)
        return path

    def has(self, key: str) -> bool:
        """Whether the key is in the file and was not taken out of this table yet.

        For keys of which one excludes another; a key that merely has a default is taken with it.

        Args:
            key: of this table.
        """
        return key in self.values

    def take(
        self,
        key: str,
        kind: type | tuple[type, ...],
        what: str,
        default: Any = REQUIRED,
        *,
        where: Callable[[Any], bool] = lambda value: True,
    ) -> Any:
        """Take the value of a key out of the table, or raise a complaint.

        Args:
            key: of this table.
            kind: type or types of the value; a bool is no int here.
            what: what is expected, in words for the complaint.
            default: in place of a key that is not there, given back as it is; without, that is a
                complaint.
            where: a condition that the value has to fulfil.
        """
        if key not in self.values:
            if default is REQUIRED:
                raise self.error(None, f"has no key {key!r}; give {what}")
            return default
        value = self.values.pop(key)
        kinds = kind if isinstance(kind, tuple) else (kind,)
        typed = isinstance(value, kinds) and (not isinstance(value, bool) or bool in kinds)
        if not typed or not where(value):
            raise self.error(key, f"is {_show(value)}; give {what}")
        return value

    def number(
        self,
        key: str,
        what: str = "a number",
        default: Any = REQUIRED,
        *,
        where: Callable[[float], bool] = lambda value: True,
    ) -> Any:
        """Take a finite number out of the table, as a float; arguments as those of `take`."""

        def fits(value: float) -> bool:
            return abs(value) <= LARGEST and where(value)

        value = self.take(key, (int, float), what, default, where=fits)
        return value if value is default else float(value)

    def count(self, key: str, least: int, default: Any = REQUIRED) -> Any:
        """Take an integer from `least` up to `LARGEST_COUNT`; arguments as those of `take`."""
        what = f"an integer of at least {least}"
        return self.take(key, int, what, default, where=lambda v: least <= v <= LARGEST_COUNT)

    def choice(
        self,
        key: str,
        known: Iterable[str],
        default: Any = REQUIRED,
        *,
        meant: Mapping[str, str] | None = None,
    ) -> str:
        """Take one of some words out of the table; any other is a complaint that lists them all.

        Where one is like what was written, it is suggested.

        Args:
            key: of this table.
            known: the words, in the order in which a complaint lists them.
            default: in place of a key that is not there; it has to be one of the words.
            meant: what other words in small letters stand for, where likeness would not tell;
                empty for none.
        """
        words = list(known)
        value = self.take(key, str, f"one of {', '.join(words)}", default)
        if value not in words:
            like = get_close_matches(value[:LONGEST_WORD].lower(), words, n=1)
            near = (meant or {}).get(value.lower(), *like[:1] or [""])
            said = f", perhaps for {near!r}" if near else ""
            raise self.error(key, f"is {_show(value)}{said}; choose one of {', '.join(words)}")
        return value

    def text(self, key: str, what: str, default: Any = REQUIRED) -> Any:
        """Take a text that is not blank and has no null character; arguments as in `take`."""
        return self.take(key, str, what, default, where=lambda v: v.strip() and "\x00" not in v)

    def texts(self, key: str, what: str) -> list[str]:
        """Take a list of texts, at least one and none empty; arguments as those of `take`."""
        return self.take(
            key, list, what, where=lambda v: v and all(isinstance(e, str) and e for e in v)
        )

    def table(self, key: str, what: str, default: Any = REQUIRED) -> "TomlTable":
        """Take a table inside this one out of it, whose complaints have the full name of a key.

        The caller has to `finish` it too, or keys that nobody knows pass unnoticed.

        Args:
            key: of this table.
            what: what is expected, in words for the complaint.
            default: values in place of a table that is not there, such as `{}`.
        """
        return TomlTable(self.take(key, dict, what, default), (*self.path, key), self._source)

    def tables(self, key: str, what: str) -> "list[TomlTable]":
        """Take an array of tables out of this one; an empty list where the key is not there.

        Args:
            key: of this table, as in `[[key]]` or a list of inline tables.
            what: what is expected, in words for the complaint.
        """
        listed = self.take(
            key, list, what, [], where=lambda v: all(isinstance(each, dict) for each in v)
        )
        return [TomlTable(v, (*self.path, key, i), self._source) for i, v in enumerate(listed)]

    def finish(self, known: Iterable[str]) -> None:
        """Refuse the first key that nobody took: a typo must not pass for a default.

        Args:
            known: keys of this table, to be listed in the complaint.
        """
        for key in self.values:
            raise self.error(key, f"is not a key; known are {', '.join(known)}")


def read(path: Path) -> TomlTable:
    """The top table of a TOML file; what is no TOML, or no text, is refused with its line.

    Args:
        path: of the file, which has to be UTF-8.

    Raises:
        PlacedError: the file cannot be read or parsed; the message is one sentence.
    """
    try:
        if path.exists() and not path.is_file():  # a pipe would be waited for
            raise PlacedError(f"{path} cannot be read (it is not a file).")
        text = path.read_bytes().decode()
    except OSError as error:
        raise PlacedError(f"{path} cannot be read ({error.strerror}).") from None
    except UnicodeDecodeError as error:
        raise PlacedError(f"{path} is not UTF-8 text (byte {error.start}).") from None
    for number, line in enumerate(text.splitlines() if len(text) <= LARGEST_FILE else [], 1):
        if line.partition("=")[0].count(".") > MOST_PARTS:
            raise PlacedError(f"{path}, line {number}: a key has more than {MOST_PARTS} parts.")
    if len(text) > LARGEST_FILE:
        raise PlacedError(
            f"{path} has {len(text)} characters; a study has {LARGEST_FILE} at most."
        )
    try:
        values = tomllib.loads(text)
        _check_depth(values)  # the interpreter's limit is not ours: any package may raise it
    except tomllib.TOMLDecodeError as error:
        at = str(error).replace("\n", " ")
        place = re.search(r"\(at line (\d+), column (\d+)\)", at)  # a field from Python 3.14 on
        line = int(place[1]) if place else text.count("\n") + 1
        reason = at[: place.start()].strip() if place else at.replace("(at end of document)", "")
        raise PlacedError(f"{path}, line {line}: not TOML ({reason.strip()}).") from None
    except (RecursionError, ValueError) as error:  # the latter of integers with too many digits
        reason = "nested too deep" if isinstance(error, RecursionError) else "a number too long"
        raise PlacedError(f"{path}, line 1: not TOML that can be read ({reason}).") from None
    return TomlTable(values, (), _Source(path, text))


def _check_depth(values: dict[str, Any]) -> None:
    level: list[Any] = [values]
    for _ in range(MOST_PARTS + 1):
        level = [
            inner
            for each in level
            for inner in (each.values() if isinstance(each, dict) else each)
            if isinstance(inner, dict | list)
        ]
    if level:
        raise RecursionError


class _Source:
    """The text, in which keys are found again."""

    def __init__(self, path: Path, text: str) -> None:
        self.path, self.text, self.files = path, text, [path]

    def error(self, path: tuple[Any, ...], problem: str) -> PlacedError:
        lines = _lines(self.text)
        known = next((path[:i] for i in range(len(path), 0, -1) if path[:i] in lines), None)
        line = 1 if known is None else lines[known]
        name = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in path).lstrip(".")
        return PlacedError(f"{self.path}, line {line}: {name or 'the study'} {problem}.")


def _lines(text: str) -> dict[tuple[Any, ...], int]:
    """The line of every key that begins one, in text that is known to be TOML.

    Keys inside inline tables and arrays are on, or below, the line of the key that holds them.
    """
    lines: dict[tuple[Any, ...], int] = {}
    table: tuple[Any, ...] = ()
    counts: dict[tuple[Any, ...], int] = {}  # of arrays of tables
    depth, quote = 0, ""  # open brackets, and the quotes of an open string of several lines
    for number, line in enumerate(text.split("\n"), 1):
        if depth == 0 and not quote:
            head = line.strip()
            if head.startswith("["):
                double = head.startswith("[[")
                keys = _inside(_dotted(head.lstrip("["))[0], counts)
                if double:
                    counts[keys] = counts.get(keys, -1) + 1
                    lines.setdefault(keys, number)
                    keys = (*keys, counts[keys])
                table = keys
                for i in range(1, len(keys) + 1):  # [a.b] makes a too
                    lines.setdefault(keys[:i], number)
                continue
            keys, rest = _dotted(line)
            for i in range(1, len(keys) + 1):
                lines.setdefault((*table, *keys[:i]), number)
            line = rest
        depth, quote = _scan(line, depth, quote)
    return lines


def _inside(keys: tuple[Any, ...], counts: dict[tuple[Any, ...], int]) -> tuple[Any, ...]:
    """[a.b] below [[a]] is a table of the last a."""
    path: tuple[Any, ...] = ()
    for i, key in enumerate(keys):
        path = (*path, key)
        if path in counts and i < len(keys) - 1:
            path = (*path, counts[path])
    return path


def _dotted(text: str) -> tuple[tuple[str, ...], str]:
    """The keys that a line begins with, and what follows."""
    keys: list[str] = []
    while match := KEY.match(text):
        double, single, bare, end = match.groups()
        if double is not None:
            double = tomllib.loads(f'key = "{double}"')["key"]  # with its escapes
        keys.append(next(part for part in (double, single, bare) if part is not None))
        text = text[match.end() :]
        if end != ".":
            break
    return tuple(keys), text


def _scan(line: str, depth: int, quote: str) -> tuple[int, str]:
    """How many brackets, and which string, are open at the end of a line."""
    i = 0
    while i < len(line):
        if quote:
            if quote[0] == '"' and line[i] == "\\":
                i += 2
            elif line.startswith(quote, i):
                i, quote = i + len(quote), ""
            else:
                i += 1
        elif line.startswith(('"""', "'''"), i):
            i, quote = i + 3, line[i : i + 3]
        elif line[i] in "\"'":
            i, quote = i + 1, line[i]
        elif line[i] == "#":
            break
        else:
            depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(line[i], 0)
            i += 1
    return depth, quote if len(quote) == 3 else ""


def _show(value: Any) -> str:
    try:
        text = repr(value)
    except ValueError:  # an integer of thousands of digits
        return "a number too long"
    return text if len(text) <= 60 else text[:57] + "..."
