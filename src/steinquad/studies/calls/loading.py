"""The integrand by its name, and the version of the code that is really called.

A version is a hash of the bytes that were executed, not of a file as it is at some other time: the
source is read once, hashed and compiled here, past Python's cache of compiled files, which takes
an edit within one second for none. Of what the file imports nothing is known.
"""

import ast
import dis
import hashlib
import importlib
import importlib.util
import inspect
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

from .call import Call

__all__ = ["Loaded", "find", "load", "version_of_command", "version_of_object"]

SIMPLE = int | float | str | tuple
ADDRESS = re.compile(r" at 0x[0-9a-f]+")  # of an object in memory, which says nothing of it


@dataclass(frozen=True)
class Loaded:
    """Something that was found by its name.

    Attributes:
        value: the object.
        version: twelve hexadecimal digits, a SHA-256 of the source that it was made from; empty
            where there is none, as for modules written in C.
    """

    value: Any
    version: str


_modules: dict[tuple[str, str], ModuleType] = {}  # of files, by path and version
# What modules were executed from, as far as it is known, by name; a reload has another spec.
_sources: dict[str, tuple[Any, bytes]] = {}
# Modules that nobody knows the source of: a random word, so that each is a version by itself.
_strangers: dict[str, tuple[Any, bytes]] = {}
_hashes: dict[str, tuple[tuple[int, ...], str]] = {}  # of files, with what `stat` says of them


def load(call: Call, function: Callable[..., Any] | None = None) -> Loaded:
    """The integrand of a call; a file is loaded again if it was edited since, a module is not.

    Args:
        call: with a function by name, and the directory to look for it in.
        function: the integrand itself, if there is one: only its version is looked for.

    Raises:
        TypeError: the name stands for something that cannot be called.
        Exception: whatever the import raises, `SystemExit` too.
    """
    if function is not None:
        return Loaded(function, version_of_object(function))
    loaded = find(call.function, call.directory)
    if not callable(loaded.value):
        raise TypeError(f"{call.function} is {type(loaded.value).__name__}, not a function")
    return loaded


def find(reference: str, directory: str = ".") -> Loaded:
    """The object that `module:name` or `file.py:name` names; raises whatever loading it raises.

    Its directory is put in front of the import path, so that a file may import its neighbors.

    Args:
        reference: the name may have dots, such as `Class.method`.
        directory: where the module or file is looked for.
    """
    where, _, name = reference.rpartition(":")
    directory = str(Path(directory).resolve())
    if directory not in sys.path:
        sys.path.insert(0, directory)
    if where.endswith(".py"):
        module, version = _file(os.path.join(directory, where))
    else:
        module, version = _module(where)
    value: Any = module
    for part in name.split("."):
        value = getattr(value, part)
    return Loaded(value, version)


def version_of_object(function: Callable[..., Any]) -> str:
    """The version of a function that was given as an object.

    That of its module if it can be found there by name, else one of its code: a lambda is the same
    whatever else changes in its file.

    Args:
        function: anything that can be called; empty for one without Python code.
    """
    if isinstance(function, partial):
        given = ADDRESS.sub("", repr((function.args, function.keywords)))
        return _digest((version_of_object(function.func) + given).encode())
    described: Any = function if hasattr(function, "__qualname__") else type(function)
    module = sys.modules.get(described.__module__ or "")
    named: Any = module
    for part in described.__qualname__.split("."):
        named = getattr(named, part, None)
    if module is not None and named is described and (known := _version_in_memory(module)):
        return known
    return _digest(_state(function)) if isinstance(function, FunctionType) else ""


def version_of_command(call: Call) -> str:
    """The version of a command: of the files among its arguments, else of its program.

    Files are read again only when their size, time or place on the disk has changed.

    Args:
        call: with a command.
    """
    named = [os.path.join(call.directory, argument) for argument in call.command]
    scripts = [path for path in named[1:] if os.path.isfile(path)]
    hashes = [word for path in scripts or named[:1] if (word := _hash_of(path))]
    return hashes[0] if len(hashes) == 1 else _digest("".join(hashes).encode()) if hashes else ""


def _file(path: str) -> tuple[ModuleType, str]:
    source = Path(path).read_bytes()
    version = _digest(source)
    if (path, version) not in _modules:
        spec = importlib.util.spec_from_file_location(f"_study_{Path(path).stem}", path)
        assert spec is not None
        _modules[path, version] = _execute(spec, source)
    return _modules[path, version], version


def _module(name: str) -> tuple[ModuleType, str]:
    known = sys.modules.get(name)
    if known is not None:
        return known, _version_in_memory(known)
    parent, _, own = name.rpartition(".")
    package = importlib.import_module(parent) if parent else None
    spec = importlib.util.find_spec(name)
    if spec is None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    if not isinstance(spec.loader, SourceFileLoader) or spec.origin is None:
        return importlib.import_module(name), ""
    source = Path(spec.origin).read_bytes()
    module = _execute(spec, source)
    if package is not None:
        setattr(package, own, module)
    _sources[name] = (spec, source)
    return module, _digest(source)


def _execute(spec: ModuleSpec, source: bytes) -> ModuleType:
    module = importlib.util.module_from_spec(spec)
    before = sys.modules.get(spec.name)
    sys.modules[spec.name] = module  # so that its classes can be found
    try:
        exec(compile(source, spec.origin or "", "exec", dont_inherit=True), module.__dict__)
    except BaseException:
        if before is None:
            del sys.modules[spec.name]
        else:
            sys.modules[spec.name] = before
        raise
    return module


def _version_in_memory(module: ModuleType) -> str:
    """Of a module that is imported: of its source, if that still has the same code.

    What it was executed from is known of modules that were loaded here, and of files that are as
    they were when this process began. Of others only what can be compared is known: if something
    in memory is not in the file as it is now, or cannot be compared, what is in memory speaks for
    itself.
    """
    file = getattr(module, "__file__", None)
    if file is None or not file.endswith(".py") or not os.path.isfile(file):
        return ""
    spec, source = _sources.get(module.__name__, (None, b""))
    certain = spec is not None and spec is module.__spec__
    if not certain:
        changed = max(os.stat(file).st_ctime, os.stat(file).st_mtime)
        certain, source = changed < _process_began(), Path(file).read_bytes()
    try:
        tree = ast.parse(source)
        verdicts = set(_compared(tree, module))
    except (SyntaxError, ValueError):  # the latter of null bytes
        verdicts = {False}
    if False in verdicts or (None in verdicts and not certain):
        simple = {k: repr(v) for k, v in vars(module).items() if isinstance(v, SIMPLE)}
        codes = [_state(each) for each in _functions(module)]
        known = _strangers.get(module.__name__)
        if known is None or known[0] is not module.__spec__:  # a script has none
            known = _strangers[module.__name__] = (module.__spec__, os.urandom(8))
        return _digest(b"".join([*codes, repr(sorted(simple.items())).encode(), known[1]]))
    _sources[module.__name__] = (module.__spec__, source)
    return _digest(source)


def _process_began() -> float:
    """When this process did, by the clock that files are dated with; never where nobody says."""
    try:
        ticks = Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return 0.0
    # Rounded down to a tick: a script that was written just before it was run is not younger.
    ended = (int(ticks) + 1) / os.sysconf("SC_CLK_TCK")
    running = time.clock_gettime(time.CLOCK_BOOTTIME) - ended
    return time.time() - running


def _compared(tree: ast.Module, module: ModuleType) -> Iterator[bool | None]:
    """For each statement at the top of a file, whether memory has what it says.

    None where this cannot be seen, as of what is computed, set twice, or changed by a function.
    """
    bound = Counter(name for node in tree.body for name in _bound(node))
    # Compiled as a whole, because instructions of a function depend on what the file imports.
    compiled = compile(tree, module.__file__ or "", "exec", dont_inherit=True)
    codes = {each.co_name: each for each in compiled.co_consts if isinstance(each, CodeType)}
    changing = {
        name for node in ast.walk(tree) if isinstance(node, ast.Global) for name in node.names
    }
    for node in tree.body:
        names = _bound(node)
        if isinstance(node, ast.Import | ast.ImportFrom) or _has_no_effect(node):
            continue
        plain = isinstance(node, ast.FunctionDef) and not node.decorator_list
        if plain and names[0] not in vars(module):
            continue  # added since, so that nothing in memory can call it
        steady = len(names) == 1 and bound[names[0]] == 1 and names[0] not in changing
        if not steady or names[0] not in vars(module):
            yield None
            continue
        value = inspect.unwrap(vars(module)[names[0]])
        if isinstance(node, ast.FunctionDef):
            own = isinstance(value, FunctionType) and value.__code__.co_filename == module.__file__
            written = _written(node, codes)
            known = own and written is not None
            yield written == _essence_of(value) if known else None
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            try:
                literal = ast.literal_eval(node.value)
            except ValueError:  # it is computed
                yield None
            else:
                # A list or a dictionary may be filled later on: then it says nothing.
                same = type(value) is type(literal) and value == literal
                yield same if isinstance(literal, SIMPLE) or same else None
        else:
            yield None


def _bound(node: ast.stmt) -> list[str]:
    """Names that a statement sets, none where it is not a plain one."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _has_no_effect(node: ast.stmt) -> bool:
    """A docstring, or what only a script does."""
    if isinstance(node, ast.If):
        first = next(ast.walk(node.test))
        return isinstance(first, ast.Compare) and ast.unparse(first.left) == "__name__"
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _written(node: ast.FunctionDef, codes: dict[str, CodeType]) -> bytes | None:
    """The essence of the function that a `def` defines; None if its defaults are computed."""
    given = node.args
    try:
        defaults = tuple(map(ast.literal_eval, given.defaults))
        named = {
            argument.arg: ast.literal_eval(default)
            for argument, default in zip(given.kwonlyargs, given.kw_defaults, strict=True)
            if default is not None
        }
    except ValueError:
        return None
    return _essence(codes[node.name]) + _texts_of(defaults or None, named or None)


def _functions(module: ModuleType) -> Iterator[FunctionType]:
    """Functions and methods that a module defines, in their order."""
    owners: Sequence[Any] = [module, *(v for v in vars(module).values() if isinstance(v, type))]
    for owner in owners:
        if getattr(owner, "__module__", module.__name__) != module.__name__:
            continue
        for value in map(inspect.unwrap, vars(owner).values()):
            # Generated ones, such as a dataclass has, are in no file.
            if isinstance(value, FunctionType) and value.__code__.co_filename == module.__file__:
                yield value


def _state(function: FunctionType, seen: tuple[FunctionType, ...] = ()) -> bytes:
    """What a function does, with the values and functions beside it that it uses."""
    parts, code = [_essence_of(function)], function.__code__
    set_here = {
        each.argval for each in dis.get_instructions(code) if each.opname == "STORE_GLOBAL"
    }
    cells = {
        name: cell.cell_contents
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True)
        if cell != CellType()
    }
    used = {name: function.__globals__.get(name) for name in code.co_names} | cells
    for name in sorted(used.keys() - set_here):
        value = used[name]
        if isinstance(value, SIMPLE):
            parts.append(repr((name, value)).encode())
        elif isinstance(value, FunctionType) and value not in (function, *seen):
            beside = value.__globals__ is function.__globals__
            parts += [_state(value, (*seen, function))] if beside else []
    return b"\x00".join(parts)


def _essence_of(function: FunctionType) -> bytes:
    return _essence(function.__code__) + _texts_of(function.__defaults__, function.__kwdefaults__)


def _texts_of(*values: Any) -> bytes:
    return ADDRESS.sub("", repr(values)).encode()


def _essence(code: CodeType) -> bytes:
    """What a function does: its instructions, names and constants, not where it stands."""
    constants = [
        _essence(each)
        if isinstance(each, CodeType)
        # Of a set in the order of its elements' texts: its own differs between processes.
        else repr(sorted(map(repr, each)) if isinstance(each, frozenset) else each).encode()
        for each in code.co_consts
    ]
    parts = [code.co_code, repr((code.co_names, code.co_varnames)).encode(), *constants]
    return b"\x00".join(parts)


def _hash_of(path: str) -> str:
    try:
        stat = os.stat(path)
        mark = (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)
        if _hashes.get(path, ((), ""))[0] != mark:
            _hashes[path] = (mark, _digest(Path(path).read_bytes()))
        return _hashes[path][1]
    except OSError:
        return ""


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:12]
