"""A figure of the paper as data: which runs it needs and what is drawn of them.

One TOML file a figure in `specs/`, or one of your own.
"""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Any, Literal, TypeAlias

from steinquad._types import is_count
from steinquad.errors import InputError
from steinquad.paper import methods
from steinquad.paper.items import ITEMS
from steinquad.paper.record import Run

__all__ = [
    "ALONG_TRAINING",
    "PRESETS",
    "QUANTITIES",
    "Preset",
    "PresetName",
    "Spec",
    "load",
    "names",
]

PresetName: TypeAlias = Literal["quick", "paper"]
PRESETS: tuple[PresetName, ...] = ("quick", "paper")
AXES = ("problem", "n", "d")  # along which a figure may run or be split
QUANTITIES = {
    "error": "relative error",
    "cpu": "CPU seconds",
    "memory": "peak memory (MiB)",
    "calibration": "|error| / std",
    "loss": "loss",
    "std": "std / truth",
    "share": "share of CPU seconds",
    "share-130": "share if f took 130 s",
    "condition": "condition number",
}
ALONG_TRAINING = {"iteration": "iteration", "seconds": "CPU seconds of training"}
SEEN_ALONG = ("loss", "condition")  # what is looked at while a network is trained


KNOWN = {
    "items": ITEMS,
    "problems": methods.PROBLEMS,
    "methods": methods.METHODS,
    "designs": (*methods.DESIGNS, *methods.CHAINS),
}


@dataclass(frozen=True)
class Preset:
    """How much is run.

    Attributes:
        n: numbers of evaluations.
        d: dimensions.
        seeds: how many, from 0 on.
        max_steps: most training steps of networks that are given a number.
        steps: of a method that has other steps.
        most: largest n of a method, for those that cannot afford more.
    """

    n: Sequence[int]
    d: Sequence[int]
    seeds: int
    max_steps: int
    steps: Mapping[str, int] = field(default_factory=dict)
    most: Mapping[str, int] = field(default_factory=dict)

    def check(self, where: str) -> None:
        """Raise `InputError` for numbers that make no sense, named by `where`.

        Args:
            where: path of the preset in the spec, such as `table1.quick`, with which messages
                begin.
        """
        for name in ("n", "d"):
            _check_list(f"{where}.{name}", getattr(self, name), int)
        for name in ("steps", "most"):
            _check_table(f"{where}.{name}", getattr(self, name), methods.METHODS)
        numbers = [self.seeds, self.max_steps, *self.n, *self.d]
        numbers += [*self.steps.values(), *self.most.values()]
        for value in numbers:
            if not is_count(value, 1):
                raise InputError(f"{where} has {value!r}; give integers >= 1.")


@dataclass(frozen=True)
class Spec:
    """One table or figure.

    Attributes:
        name: of its files and on the command line.
        items: what it is in the paper; see `items.ITEMS`. Empty for a figure of ours.
        title: what it shows.
        problems: which integrals.
        methods: names in the table of methods; all are run on all problems.
        panels: pairs of what is along and what is up, such as `["n", "error"]`.
        quick: the small preset.
        paper: the paper's own sizes.
        designs: where the points are placed.
        split: a row of panels for each `problem`, `n` or `d`, or "" for one row of all.
        published: the paper's relative errors, by problem and method.
    """

    name: str
    title: str
    problems: Sequence[str]
    methods: Sequence[str]
    panels: Sequence[Sequence[str]]
    quick: Preset
    paper: Preset
    items: Sequence[str] = ()
    designs: Sequence[str] = ("iid",)
    split: str = ""
    published: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def check(self) -> None:
        """Raise `InputError` for names that nobody knows, and for lines of mixed points.

        Also for designs or dimensions that a problem cannot have and for values of the wrong type,
        so that a spec fails when it is read and not after hours of runs.
        """
        for name, known in KNOWN.items():
            where = f"{self.name}.{name}"
            if name != "items" or self.items != ():
                _check_list(where, getattr(self, name), str)
            _check_names(where, getattr(self, name), known)
        _check_names(f"{self.name}.split", [self.split], ("", *AXES))
        _check_table(f"{self.name}.published", self.published, methods.PROBLEMS)
        for problem, values in self.published.items():
            _check_table(f"{self.name}.published.{problem}", values, methods.METHODS)
        _check_list(f"{self.name}.panels", self.panels, list)
        for panel in self.panels:
            if len(panel) != 2:
                raise InputError(f"{self.name}.panels has {panel!r}; give pairs [along, up].")
            along = (*AXES, *QUANTITIES, *ALONG_TRAINING)
            _check_names(f"{self.name}.panels", panel[:1], along)
            seen = SEEN_ALONG if panel[0] in ALONG_TRAINING else QUANTITIES
            _check_names(f"{self.name}.panels", panel[1:], seen)
        for preset in PRESETS:
            size, where = self.preset(preset), f"{self.name}.{preset}"
            size.check(where)
            self._check_lines(size, where)
            self._check_points(size, where)

    def preset(self, name: PresetName) -> Preset:
        """The sizes of that name, one of `PRESETS`."""
        return self.quick if name == "quick" else self.paper

    def runs(self, preset: PresetName, seeds: Iterable[int] | None = None) -> list[Run]:
        """Every run of the figure, cheap ones first.

        They are sorted by n, then by seed, so that a stopped reproduction has whole small cases.

        Args:
            preset: which sizes.
            seeds: other seeds than the preset's.
        """
        size = self.preset(preset)
        chosen = range(size.seeds) if seeds is None else seeds
        cases = product(sorted(size.n), chosen, size.d, self.problems, self.methods, self.designs)
        runs = []
        for n, seed, d, problem, method, design in cases:
            if n <= size.most.get(method, n):
                most = size.steps.get(method, size.max_steps)
                steps = {"max_steps": most} if methods.takes_steps(method) else {}
                runs.append(Run(problem, method, n, d, seed, {"design": design, **steps}))
        return runs

    def _check_lines(self, size: Preset, where: str) -> None:
        """Refuse what would put points of two kinds on one line."""
        several = {"problem": self.problems, "n": size.n, "d": size.d}
        free = [axis for axis in AXES if len(several[axis]) > 1 and axis != self.split]
        along = {panel[0] for panel in self.panels}.intersection(AXES)
        if len(free) > 1 or (free and along - {*free}):
            raise InputError(
                f"{where} has several values of {' and '.join(free)}; have several of one, "
                "which is along the panels, and of another by which they are split."
            )

    def _check_points(self, size: Preset, where: str) -> None:
        """Refuse points that a problem cannot be given."""
        for problem in self.problems:
            _check_names(
                f"{self.name}.designs of {problem}", self.designs, methods.designs_of(problem)
            )
            known = methods.DIMENSIONS.get(problem)
            if known is not None and any(d != known for d in size.d):
                raise InputError(f"{where}.d is {size.d}; {problem} has d = {known}.")
        if methods.CHAINS.keys() & {*self.designs} and any(n % 5 for n in size.n):
            raise InputError(f"{where}.n is {size.n}; five chains take multiples of 5.")


def names() -> list[str]:
    """The names of the specs that come with the library, in alphabetical order.

    Each is the stem of a TOML file in `specs/` and can be passed to `load`; figures of the paper
    and some of ours are among them.
    """
    listed = (files("steinquad.paper") / "specs").iterdir()
    return sorted(entry.name.removesuffix(".toml") for entry in listed)


def load(name: str) -> Spec:
    """A spec, read and checked; what is wrong with it is an `InputError` with its key.

    Args:
        name: one of `names`, or the path of a file of your own that ends in .toml.

    >>> load("table1").items
    ['Table 1']
    """
    if name.endswith(".toml"):
        try:
            text = Path(name).read_text()
        except OSError as error:
            raise InputError(f"spec {name} cannot be read ({error.strerror}).") from None
        name = Path(name).stem
    elif name in names():
        text = (files("steinquad.paper") / "specs" / f"{name}.toml").read_text()
    else:
        known = ", ".join(names())
        raise InputError(f"{name!r} is no figure; choose all, a .toml file, or one of {known}.")
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"spec {name} is not TOML ({error}).") from None
    for preset in PRESETS:
        if preset in table:
            table[preset] = _build(Preset, table[preset], f"{name}.{preset}")
    spec = _build(Spec, {**table, "name": name}, name)
    spec.check()
    return spec


def _build(kind: Any, table: Any, where: str) -> Any:
    """A dataclass of a table with exactly its fields."""
    if not isinstance(table, dict):
        raise InputError(f"{where} is {table!r}; give a table.")
    known = {f.name: f.default is f.default_factory is MISSING for f in fields(kind)}
    for key in table:
        if key not in known:
            raise InputError(f"{where} has the unknown key {key!r}; known are {', '.join(known)}.")
    for key, required in known.items():
        if required and key not in table:
            raise InputError(f"{where} has no key {key!r}; add it.")
    return kind(**table)


def _check_list(where: str, values: Any, kind: type) -> None:
    whole = isinstance(values, list | tuple) and len(values) > 0
    if not whole or not all(isinstance(value, kind) for value in values):
        word = {int: "integers", str: "names", list: "pairs"}[kind]
        raise InputError(f"{where} is {values!r}; give a list of {word}.")


def _check_table(where: str, table: Any, known: Iterable[str]) -> None:
    if not isinstance(table, Mapping):
        raise InputError(f"{where} is {table!r}; give a table.")
    _check_names(where, table, known)


def _check_names(where: str, given: Iterable[Any], known: Iterable[str]) -> None:
    for name in given:
        if name not in known:
            raise InputError(f"{where} has {name!r}; known are {', '.join(filter(None, known))}.")
