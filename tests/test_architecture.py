"""Which way the arrows point: nothing imports from its right, and few units have effects.

    core <- measures <- kernels <- stein <- networks <- training <- posterior <- fitting <- methods
    core <- measures <- designs <- methods <- streaming <- api;   designs <- problems
    api <- summaries, chains;   all these <- studies <- report;   core <- plotting
    core <- terminal <- streaming, api;   checking <- fitting
    all but studies and report <- paper;   all <- cli

Imports inside functions count too; those under TYPE_CHECKING do not. What is private to a unit, a
module or a name that begins with an underscore, stays there.
"""

import ast
from collections.abc import Iterator
from functools import cache
from importlib.util import resolve_name
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
SOURCE = TESTS.parent / "src" / "steinquad"
FILES = sorted(SOURCE.rglob("*.py"))

CORE = {
    *("errors", "_types", "_float64", "_linalg", "_compile", "_threads"),
    *("_files", "_fork", "support", "dataset", "binomial"),
}
CHAIN = (
    *("measures", "points", "fit", "checking", "candidates", "estimate_html", "estimate"),
    *("kernels", "stein"),
    *("networks", "training", "posterior"),
    *("fitting", "methods", "streaming", "api"),
)
LIBRARY = CORE | set(CHAIN) | {"designs", "problems", "summaries", "chains"}
# What each unit, a file or folder of src/steinquad, may import; __init__ is `steinquad` itself.
ALLOWED = {
    **dict.fromkeys(CORE, CORE),
    **{unit: CORE | set(CHAIN[: i + 1]) for i, unit in enumerate(CHAIN)},
    "methods": CORE | set(CHAIN) - {"api", "streaming"} | {"designs"},
    "streaming": CORE | set(CHAIN) - {"api"} | {"terminal"},
    "_tolerance": CORE | {"measures", "points", "fit", "estimate", "designs"},
    "api": CORE | set(CHAIN) | {"designs", "_tolerance", "terminal"},
    "designs": CORE | {"measures", "designs"},
    "problems": CORE | {"measures", "designs", "problems"},
    "summaries": CORE | set(CHAIN) | {"summaries", "terminal"},
    "chains": CORE | set(CHAIN) | {"designs", "chains", "terminal"},
    "studies": LIBRARY | {"studies", "terminal"},
    "report": LIBRARY | {"studies", "report"},
    "paper": LIBRARY | {"__init__", "paper", "plotting", "terminal"},
    "__init__": LIBRARY | {"studies", "report"},
    "plotting": LIBRARY | {"plotting"},
    "terminal": CORE | {"terminal"},
    "cli": LIBRARY | {"__init__", "studies", "report", "paper", "plotting", "terminal", "cli"},
    "__main__": {"cli"},
}
# Arrows to the right that are allowed inside a function, (file, unit): `Estimate.plot` alone.
LAZY = {("estimate.py", "plotting")}
# Private by their names, and common to all units.
COMMON = (
    *("_types", "_float64", "_linalg", "_compile", "_threads", "_tolerance"),
    *("_files", "_fork"),
)
COMMANDS = ("cli", "paper/commands", "terminal")  # may print, read the clock and the environment
EFFECTS = ("print", "input", "time", "datetime", "os.environ", "os.getenv", "sys.stdout")


def identify(file: Path) -> str:
    return file.relative_to(SOURCE.parent).as_posix()


def unit_of(file: Path) -> str:
    return file.relative_to(SOURCE).parts[0].removesuffix(".py")


def package_of(file: Path) -> str:
    return ".".join(file.parent.relative_to(SOURCE.parent).parts)


def executed(node: ast.AST, lazy: bool = False) -> Iterator[tuple[ast.AST, bool]]:
    """Everything that runs, and whether in a function; nothing under TYPE_CHECKING."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        within = lazy or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        yield child, within
        yield from executed(child, within)


@cache  # parsing all files takes seconds
def imported(source: str, package: str) -> list[tuple[str, bool, str]]:
    """What `source` imports of the library, whether in a function, and the statement."""
    imports = []
    for node, lazy in executed(ast.parse(source)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            origin = resolve_name("." * node.level + (node.module or ""), package)
            names = [f"{origin}.{alias.name}" for alias in node.names]
        for name in names:
            if name.split(".")[0] == "steinquad":
                name = name.removeprefix("steinquad").removeprefix(".")
                imports.append((name, lazy, ast.unparse(node)))
    return imports


def imported_unit(name: str) -> str:
    unit = name.partition(".")[0]
    known = (SOURCE / unit).is_dir() or (SOURCE / f"{unit}.py").exists()
    return unit if unit and known else "__init__"


def forbidden_imports(source: str, file: str, package: str = "steinquad") -> list[str]:
    """Import statements of `file`, a path below src/steinquad, that point to its right."""
    may = ALLOWED[file.partition("/")[0].removesuffix(".py")]
    return [
        statement
        for name, lazy, statement in imported(source, package)
        if (unit := imported_unit(name)) not in may and not (lazy and (file, unit) in LAZY)
    ]


def private_imports(source: str, unit: str, package: str = "steinquad") -> list[str]:
    """Import statements of what is private to another unit."""
    return [
        statement
        for name, _, statement in imported(source, package)
        if imported_unit(name) != unit
        and any(part.startswith("_") for part in name.split(".") if part not in COMMON)
    ]


def effects(source: str) -> list[str]:
    """What prints or reads the clock or the environment, anywhere in `source`."""
    used = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call | ast.Attribute):
            names = [ast.unparse(node.func if isinstance(node, ast.Call) else node)]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        used += [name for name in names for e in EFFECTS if f"{name}.".startswith(f"{e}.")]
    return used


def test_every_unit_has_a_place():
    unknown = {unit_of(file) for file in FILES} - set(ALLOWED)
    assert not unknown, f"give {sorted(unknown)} a place in ALLOWED of {Path(__file__).name}"


def test_nothing_imports_from_its_right():
    for file in FILES:
        path = file.relative_to(SOURCE).as_posix()
        for statement in forbidden_imports(file.read_text(), path, package_of(file)):
            unit, may = unit_of(file), ", ".join(sorted(ALLOWED[unit_of(file)]))
            pytest.fail(f"{identify(file)} has `{statement}`, but {unit} may import only {may}")


def test_nothing_private_is_imported_from_another_unit():
    trespasses = {
        f"{identify(file)}: {statement}"
        for file in FILES
        for statement in private_imports(file.read_text(), unit_of(file), package_of(file))
    }
    assert not trespasses


def test_no_module_needs_itself():
    """No circle of imports, those inside functions included."""
    modules = {}
    for file in FILES:
        parts = file.relative_to(SOURCE).with_suffix("").parts
        modules[".".join(part for part in parts if part != "__init__")] = file

    def module(name: str) -> str:
        return name if name in modules else module(name.rpartition(".")[0])

    needs: dict[str, set[str]] = {}
    for own, file in modules.items():
        others = {module(name) for name, _, _ in imported(file.read_text(), package_of(file))}
        needs[own] = others - {own}
    while free := [own for own, others in needs.items() if not others & needs.keys()]:
        for own in free:
            del needs[own]
    assert not needs, f"these import each other in a circle: {sorted(needs)}"


def test_only_the_command_imports_the_paper():
    units = {
        unit_of(file)
        for file in FILES
        for name, _, _ in imported(file.read_text(), package_of(file))
        if imported_unit(name) == "paper"
    }
    assert units == {"cli", "paper"}


def test_only_commands_studies_and_reports_have_effects():
    for file in FILES:
        used = effects(file.read_text())
        if unit_of(file) in ("studies", "report"):  # may know time and environment, never print
            used = [name for name in used if name.split(".")[0] in ("print", "input", "sys")]
        command = file.relative_to(SOURCE).as_posix().startswith(COMMANDS)
        assert command or not used, f"{identify(file)} uses {used[0]}, not its business"


def test_public_modules_say_what_is_public():
    for file in FILES:
        body = ast.parse(file.read_text()).body
        private = file.stem.startswith("_") and file.stem != "__init__"
        only_docstring = len(body) <= 1
        listed = any(isinstance(s, ast.Assign) and "__all__" in ast.unparse(s) for s in body)
        assert private or only_docstring or listed, f"{identify(file)} has no __all__"


def test_every_module_has_tests_of_its_name():
    """What `a/_b.py` does is tested in `tests/a/test_b.py`; `__init__` and examples need none."""
    missing = [
        module
        for module in (file.relative_to(SOURCE) for file in FILES)
        if not module.name.startswith("__")
        and "examples" not in module.parts
        and not (TESTS / module.parent / f"test_{module.stem.lstrip('_')}.py").exists()
    ]
    assert missing == []


def test_every_test_module_asserts():
    for file in TESTS.rglob("test_*.py"):
        nodes = list(ast.walk(ast.parse(file.read_text())))
        calls = [ast.unparse(node.func) for node in nodes if isinstance(node, ast.Call)]
        checks = any(name.split(".")[-1].startswith(("assert", "raises")) for name in calls)
        asserts = any(isinstance(node, ast.Assert) for node in nodes)
        assert checks or asserts, f"{file.relative_to(TESTS)} checks nothing"


@pytest.mark.parametrize(
    "source",
    [
        "import steinquad.methods.bsn",
        "from steinquad.methods import bsn",
        "from steinquad import methods",
        "from steinquad import BSN",
        "import steinquad as sq",
        "from ..methods.bsn import BSN",
        "try:\n    import steinquad.plotting\nexcept ImportError:\n    pass",
        "class Loss:\n    from steinquad.posterior import laplace",
        "def late():\n    from steinquad.methods.bsn import BSN",
    ],
)
def test_an_arrow_to_the_right_is_seen(source):
    assert forbidden_imports(source, "training/adam.py", "steinquad.training")


def test_the_exception_is_for_one_file_and_inside_a_function():
    late = "def plot():\n    from steinquad.plotting import diagnose"
    assert not forbidden_imports(late, "estimate.py")
    assert forbidden_imports(late, "dataset.py")
    assert forbidden_imports("from steinquad.plotting import diagnose", "estimate.py")


@pytest.mark.parametrize(
    "source",
    [
        "from steinquad.measures._invert import invert",
        "from steinquad.measures import _invert",
        "from steinquad.measures.numpyro import _cancels",
        "def late():\n    import steinquad.designs._target",
    ],
)
def test_a_private_import_is_seen(source):
    assert private_imports(source, "methods", "steinquad.methods")


def test_what_is_common_or_of_the_same_unit_is_not_private():
    source = "from steinquad._types import Array\nfrom steinquad.measures._invert import invert"
    assert not private_imports(source, "measures", "steinquad.measures")


@pytest.mark.parametrize(
    "source",
    [
        "import numpy as np",
        "from steinquad.networks.mlp import MLP",
        "from steinquad import _types",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import steinquad.methods",
    ],
)
def test_an_allowed_import_is_not(source):
    assert not forbidden_imports(source, "training/adam.py", "steinquad.training")


@pytest.mark.parametrize(
    "source",
    ["print(1)", "import time", "from time import monotonic", "import os\nos.environ['HOME']"],
)
def test_an_effect_is_seen(source):
    assert effects(source) and not effects("timer = blueprint(environ=1)")
