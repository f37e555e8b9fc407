"""Which way the arrows point: nothing imports from its right, and few units have effects.

    core <- measures <- kernels <- stein <- networks <- training <- posterior <- fitting <- methods
    core <- measures <- designs <- methods <- api;   designs <- problems;   checking <- fitting
    api <- summaries, chains;   all these <- studies <- report;   core <- plotting
    all but the last three <- paper;   all <- cli

Imports inside functions (optional or heavy libraries) and under TYPE_CHECKING do not count.
"""

import ast
from collections.abc import Iterator
from importlib.util import resolve_name
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
SOURCE = TESTS.parent / "src" / "steinquad"
FILES = sorted(SOURCE.rglob("*.py"))

CORE = {
    *("errors", "_types", "_float64", "_linalg", "_compile", "_threads"),
    *("support", "dataset", "estimate"),
}
CHAIN = (
    *("measures", "checking", "kernels", "stein", "networks", "training", "posterior"),
    *("fitting", "methods", "api"),
)
LIBRARY = CORE | set(CHAIN) | {"designs", "problems", "summaries", "chains"}
# What each unit, a file or folder of src/steinquad, may import; __init__ is `steinquad` itself.
ALLOWED = {
    **dict.fromkeys(CORE, CORE),
    **{unit: CORE | set(CHAIN[: i + 1]) for i, unit in enumerate(CHAIN)},
    "methods": CORE | set(CHAIN) - {"api"} | {"designs"},
    # Until methods fit and the referee judges, the base of all methods is below these two.
    "checking": CORE | {"measures", "checking", "methods"},
    "fitting": CORE | set(CHAIN) - {"api"},
    "_tolerance": CORE | {"measures", "designs"},
    "api": CORE | set(CHAIN) | {"designs", "_tolerance"},
    "designs": CORE | {"measures", "designs"},
    "problems": CORE | {"measures", "designs", "problems"},
    "summaries": CORE | set(CHAIN) | {"summaries"},
    "chains": CORE | set(CHAIN) | {"designs", "chains"},
    "studies": LIBRARY | {"studies"},
    "report": LIBRARY | {"studies", "report"},
    "paper": LIBRARY | {"paper"},
    "__init__": LIBRARY | {"studies", "report"},
    "plotting": LIBRARY | {"plotting"},
    "cli": LIBRARY | {"__init__", "studies", "report", "paper", "plotting", "cli"},
    "__main__": {"cli"},
}
EFFECTS = ("print", "input", "time", "datetime", "os.environ", "os.getenv", "sys.stdout")


def identify(file: Path) -> str:
    return file.relative_to(SOURCE.parent).as_posix()


def unit_of(file: Path) -> str:
    return file.relative_to(SOURCE).parts[0].removesuffix(".py")


def when_imported(node: ast.AST) -> Iterator[ast.AST]:
    """Everything that runs at import: no function bodies, nothing under TYPE_CHECKING."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        yield child
        yield from when_imported(child)


def imported_units(source: str, package: str) -> Iterator[tuple[str, str]]:
    """Units of the library that `source` imports, each with its import statement."""
    for node in when_imported(ast.parse(source)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            origin = resolve_name("." * node.level + (node.module or ""), package)
            names = [f"{origin}.{alias.name}" for alias in node.names]
        for name in names:
            top, _, rest = name.partition(".")
            unit = rest.partition(".")[0]
            if top == "steinquad":
                known = (SOURCE / unit).is_dir() or (SOURCE / f"{unit}.py").exists()
                yield unit if unit and known else "__init__", ast.unparse(node)


def forbidden_imports(source: str, unit: str, package: str = "steinquad") -> list[str]:
    return [
        statement
        for imported, statement in imported_units(source, package)
        if imported not in ALLOWED[unit]
    ]


def effects(source: str) -> list[str]:
    """What prints or reads the clock or the environment, anywhere in `source`."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call | ast.Attribute):
            names = [ast.unparse(node.func if isinstance(node, ast.Call) else node)]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        found += [name for name in names for e in EFFECTS if f"{name}.".startswith(f"{e}.")]
    return found


def test_every_unit_has_a_place():
    unknown = {unit_of(file) for file in FILES} - set(ALLOWED)
    assert not unknown, f"give {sorted(unknown)} a place in ALLOWED of {Path(__file__).name}"


def test_nothing_imports_from_its_right():
    for file in FILES:
        unit, package = unit_of(file), ".".join(file.parent.relative_to(SOURCE.parent).parts)
        for statement in forbidden_imports(file.read_text(), unit, package):
            may = ", ".join(sorted(ALLOWED[unit]))
            pytest.fail(f"{identify(file)} has `{statement}`, but {unit} may import only {may}")


def test_only_commands_studies_and_reports_have_effects():
    for file in FILES:
        unit, found = unit_of(file), effects(file.read_text())
        if unit in ("studies", "report"):  # may know the time and the environment, never print
            found = [name for name in found if name.split(".")[0] in ("print", "input", "sys")]
        assert unit == "cli" or not found, f"{identify(file)} uses {found[0]}, not its business"


def test_public_modules_say_what_is_public():
    for file in FILES:
        body = ast.parse(file.read_text()).body
        private = file.stem.startswith("_") and file.stem != "__init__"
        only_docstring = len(body) <= 1
        listed = any(isinstance(s, ast.Assign) and "__all__" in ast.unparse(s) for s in body)
        assert private or only_docstring or listed, f"{identify(file)} has no __all__"


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
    ],
)
def test_an_arrow_to_the_right_is_seen(source):
    assert forbidden_imports(source, "training", "steinquad.training")


@pytest.mark.parametrize(
    "source",
    [
        "import numpy as np",
        "from steinquad.networks.mlp import MLP",
        "from steinquad import _types",
        "def late():\n    from steinquad.methods.bsn import BSN",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import steinquad.methods",
    ],
)
def test_an_allowed_import_is_not(source):
    assert not forbidden_imports(source, "training", "steinquad.training")


@pytest.mark.parametrize(
    "source",
    ["print(1)", "import time", "from time import monotonic", "import os\nos.environ['HOME']"],
)
def test_an_effect_is_seen(source):
    assert effects(source) and not effects("timer = blueprint(environ=1)")
