"""A study as a TOML file: every key checked, every complaint with its line."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from steinquad.errors import InputError
from steinquad.measures.base import Measure
from steinquad.measures.convert import Product
from steinquad.methods import registry
from steinquad.studies._toml import PlacedError, TomlTable, read
from steinquad.studies.budget import TARGETS
from steinquad.studies.distributions import is_plain_normal, joint_measure, measure_of
from steinquad.studies.integrand import FORMATS, STYLES, Command
from steinquad.studies.points import KINDS
from steinquad.studies.settings import PLACES
from steinquad.summaries.requested import Requested

__all__ = ["load"]

T = TypeVar("T")
TOP = (
    *("name", "outputs", "store", "seed", "points", "method", "on_failure"),
    *("units", "integrand", "inputs", "correlated", "budget", "run"),
)
REQUESTS = ("quantiles", "above", "below")
COMMON = ("style", "batch", "time_limit", "memory", "retries", "version")
FUNCTION, COMMAND = ("function", *COMMON), ("command", "input", "output", *COMMON)


def load(path: Path, make: Callable[..., T]) -> T:
    """Read and check a study file; its paths are relative to its directory.

    Args:
        path: of the file; docs/studies.md has its keys.
        make: called with the settings by name: the class `Study`. What it complains of is
            raised again with the line of the key.
    """
    top = read(path)
    directory = path.parent
    settings: dict[str, Any] = {
        "name": top.text("name", "a text", path.stem),
        "outputs": _outputs(top),
        "store": directory / top.text("store", "the path of a file", f"{path.stem}.sqlite"),
        "seed": top.count("seed", 0, 0),
        "points": top.choice("points", ("auto", *KINDS), "auto"),
        "method": registry.method_named(top.choice("method", registry.names(), "auto")),
        "on_failure": top.choice("on_failure", ("refuse", "ignore"), "refuse"),
        "directory": directory,
    }
    integrand = top.table("integrand", "a table [integrand] with a function or a command")
    settings |= _integrand(integrand)
    inputs = top.table("inputs", "a table [inputs.NAME] for each uncertain input")
    settings["inputs"], units = _inputs(inputs, top)
    settings["units"] = units | _units_of_outputs(top, settings["outputs"], units)
    settings |= _budget(top.table("budget", "a table [budget] with runs, until or both"))
    run = top.table("run", "a table", {})
    settings |= {
        "where": run.choice("where", PLACES, "pool"),
        "workers": run.count("workers", 1, None),
        "address": run.text("address", "the address of a Dask scheduler", None),
    }
    run.finish(("where", "workers", "address"))
    top.finish(TOP)
    settings["sources"] = top.files
    try:
        return make(**settings)
    except InputError as error:
        raise _placed(error, integrand, top) from None


def _outputs(top: TomlTable) -> Any:
    """A list of names, or a table [outputs.NAME] each with what is asked of its distribution."""
    what = "a list of names such as ['power'], or a table [outputs.NAME] for each"
    if not isinstance(top.values.get("outputs"), dict):
        names = top.texts("outputs", what)
        if len(set(names)) < len(names):
            raise top.error("outputs", f"is {names}; give different names")
        return names
    tables = top.table("outputs", what)
    requested: dict[str, dict[str, list[float]]] = {}
    for name in tuple(tables.values):
        own = tables.table(name, "a table with quantiles, above or below")
        requested[name] = {
            key: own.take(key, list, "a list of numbers") for key in REQUESTS if own.has(key)
        }
        own.finish(REQUESTS)
        try:
            Requested(**requested[name])
        except InputError as error:
            raise own.error(error.argument, error.problem) from None
    if not requested or "" in requested:
        raise top.error("outputs", f"has no names; give {what}")
    return requested


def _integrand(table: TomlTable) -> dict[str, Any]:
    if table.has("function") == table.has("command"):
        raise table.error(None, "needs one of 'function' and 'command'; give either")
    settings: dict[str, Any] = {}
    if table.has("function"):
        settings["integrand"] = table.text("function", "module:function or file.py:function")
        known = FUNCTION
    else:
        settings["integrand"] = Command(
            table.texts("command", "a list of texts, the program first"),
            table.choice("input", ("none", *FORMATS), "none"),
            table.choice("output", FORMATS, "json"),
        )
        known = COMMAND
    settings["style"] = table.choice("style", STYLES, "keywords")
    if settings["style"] == "batch":
        settings["batch"] = table.count("batch", 1, 64)
    elif table.has("batch"):
        raise table.error("batch", 'is of no use; set style = "batch" too')
    limit = "seconds above 0"
    settings["time_limit"] = table.number("time_limit", limit, None, where=lambda v: v > 0)
    settings["memory"] = table.text("memory", "a text such as '2 GiB'", None)
    settings["retries"] = table.count("retries", 0, 1)
    settings["version"] = table.text("version", "a text", None)
    table.finish(known)
    return settings


def _inputs(table: TomlTable, top: TomlTable) -> tuple[Product, dict[str, str]]:
    """Their joint distribution, and the units of those that have one."""
    marginals: dict[str, Measure] = {}
    units: dict[str, str] = {}
    normals: dict[str, tuple[float, float]] = {}
    for name in tuple(table.values):
        own = table.table(name, "a table with a distribution")
        if is_plain_normal(own):
            normals[name] = (own.values.get("mean", 0.0), own.values.get("std", 1.0))
        if own.has("unit"):
            units[name] = own.text("unit", "a text")
        marginals[name] = measure_of(own)
    if not marginals or "" in marginals:
        raise table.error(None, "needs a table [inputs.NAME] for each uncertain input")
    correlated = top.tables("correlated", "tables [[correlated]]")
    return joint_measure(marginals, normals, correlated), units


def _units_of_outputs(
    top: TomlTable, outputs: list[str], inputs: dict[str, str]
) -> dict[str, str]:
    table = top.table("units", "a table of outputs with their units", {})
    units = {name: table.text(name, "a text") for name in outputs if table.has(name)}
    table.finish(outputs)
    for name, unit in units.items():
        if inputs.get(name, unit) != unit:
            raise table.error(name, f"is {unit!r}, but the input of that name has another unit")
    return units


def _budget(table: TomlTable) -> dict[str, Any]:
    runs, every = table.count("runs", 2, None), table.count("every", 2, None)
    until: dict[str, float] | None = None
    if table.has("until"):
        target = table.table("until", "a table such as { std = 0.01 }")
        positive = "a number above 0"
        given = {key: target.number(key, positive, None, where=lambda v: v > 0) for key in TARGETS}
        target.finish(TARGETS)
        until = {key: value for key, value in given.items() if value is not None}
        if not until:
            raise table.error("until", f"is empty; give {' or '.join(TARGETS)}")
    if runs is None and until is None:
        raise table.error(None, "needs 'runs', 'until' or both")
    table.finish(("runs", "until", "every"))
    return {"runs": runs, "until": until, "every": every}


def _placed(error: InputError, integrand: TomlTable, top: TomlTable) -> PlacedError:
    """A complaint about a setting with the line of its key."""
    name, problem = error.argument, error.problem
    if name in ("integrand", *COMMON, "command"):
        return integrand.error("function" if name == "integrand" else name, problem)
    if name in TOP:
        return top.error(name, problem)
    return top.error(None, f"{name} {problem}".strip())
