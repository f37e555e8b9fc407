"""The integrand by its name, and the version of the code that is really called.

A version is a hash of the bytes that were executed, not of a file as it is at some other time: the
source is read once, hashed and compiled here, past Python's cache of compiled files, which takes
an edit within one second for none. Of what the file imports nothing is known.
"""

import ast
import hashlib
import importlib
import importlib.util
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from .call import Call

__all__ = ["Loaded", "find", "load", "version_of_command", "version_of_object"]


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
_versions: dict[str, str] = {}  # of modules that were executed here, by name
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
    name = getattr(function, "__qualname__", "<")
    module = sys.modules.get(getattr(function, "__module__", None) or "")
    if module is not None and "<" not in name:
        return _version_in_memory(module)
    code = getattr(function, "__code__", None)
    return "" if code is None else _digest(_essence(code))


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
        return known, _versions.get(name) or _version_in_memory(known)
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
    _versions[name] = _digest(source)
    return module, _versions[name]


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
    """Of a module that somebody else imported: of its file, if that still has the same code.

    Nobody knows what the file was when it was imported. If one of the functions in memory is not
    in the file as it is now, or a number that is set there is another, the file was edited since,
    and what is in memory speaks for itself.
    """
    file = getattr(module, "__file__", None)
    if file is None or not file.endswith(".py") or not os.path.isfile(file):
        return ""
    source = Path(file).read_bytes()
    try:
        tree = ast.parse(source)
        written = {_essence(code) for code in _within(compile(tree, file, "exec"))}
    except (SyntaxError, ValueError):  # the latter of null bytes
        return _digest(b"".join(_essence(each.__code__) for each in _functions(module)))
    loaded = [_essence(each.__code__) for each in _functions(module)]
    constants = _constants(tree)
    values = {name: vars(module).get(name) for name in constants}
    if values == constants and all(code in written for code in loaded):
        return _digest(source)
    return _digest(b"".join([*loaded, repr(values).encode()]))


def _constants(tree: ast.Module) -> dict[str, Any]:
    """Numbers and texts that a file sets once, at its top, and no function sets again."""
    assigned = [
        (target.id, node.value)
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    ]
    changing = {
        name for node in ast.walk(tree) if isinstance(node, ast.Global) for name in node.names
    }
    names = Counter(name for name, _ in assigned)
    found: dict[str, Any] = {}
    for name, value in assigned:
        if names[name] == 1 and name not in changing:
            with suppress(ValueError):  # it is computed
                found[name] = ast.literal_eval(value)
    return {name: v for name, v in found.items() if isinstance(v, int | float | str | tuple)}


def _functions(module: ModuleType) -> Iterator[FunctionType]:
    """Functions and methods that a module defines, decorated ones left out."""
    owners: Sequence[Any] = [module, *(v for v in vars(module).values() if isinstance(v, type))]
    for owner in owners:
        if getattr(owner, "__module__", module.__name__) != module.__name__:
            continue
        for value in vars(owner).values():
            # Generated ones, such as a dataclass has, are in no file.
            if isinstance(value, FunctionType) and value.__code__.co_filename == module.__file__:
                yield value


def _within(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _within(constant)


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
