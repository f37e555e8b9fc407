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
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from .call import Call

__all__ = ["Loaded", "find", "load", "version_of_command", "version_of_object"]

SIMPLE = int | float | complex | str | bytes | tuple | None
MUTABLE = list | dict | set  # may be filled while a function runs, as a cache is
ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")  # of an object in memory, which says nothing of it


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
# Versions of modules in memory, by name, as they were first seen; a reload has another spec.
_known: dict[str, tuple[ModuleType, Any, str]] = {}
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
    whatever else changes in its file. Of a wrapper, as `jax.jit` makes, that of what it wraps.

    Args:
        function: anything that can be called; empty for one without Python code.
    """
    if isinstance(function, partial):
        given = _text((function.args, function.keywords))
        return _digest((version_of_object(function.func) + given).encode())
    if isinstance(function, MethodType):
        owner = function.__self__
        own = _version_by_name(owner if isinstance(owner, type) else type(owner))
        defined = version_of_object(function.__func__)
        return defined if own in ("", defined) else _digest((defined + own).encode())
    if known := _version_by_name(function):
        return known
    wrapped = getattr(function, "__wrapped__", getattr(function, "pyfunc", None))
    inner = version_of_object(wrapped) if callable(wrapped) and wrapped is not function else ""
    if isinstance(function, FunctionType):
        return _digest(_state(function) + inner.encode())
    written = isinstance(_unwrapped(type(function).__call__), FunctionType)
    if inner or not written:
        return inner
    if known := _version_by_name(type(function)):
        return known
    methods = [each for kind in inspect.getmro(type(function)) for each in vars(kind).values()]
    codes = [each for each in methods if isinstance(each, FunctionType)]
    return _digest(_state(*codes)) if codes else ""


def _version_by_name(described: Any) -> str:
    """The version of the module that has it, under its name, or wrapped; empty if none does."""
    place, path = (getattr(described, key, None) for key in ("__module__", "__qualname__"))
    module = sys.modules.get(place) if isinstance(place, str) else None
    written = isinstance(_unwrapped(described), FunctionType | type)  # not a ufunc of NumPy
    if module is None or not isinstance(path, str) or not written:
        return ""
    named: Any = module
    for part in path.split("."):
        named = getattr(named, part, None)
    named = getattr(named, "__func__", named)  # of a class method
    same = named is described or getattr(named, "__wrapped__", None) is described
    typed = getattr(getattr(described, "__code__", None), "co_filename", "").startswith("<")
    return _version_in_memory(module) if same and not typed else ""


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
    if name in sys.modules:  # the package imports it
        return sys.modules[name], _version_in_memory(sys.modules[name])
    spec = importlib.util.find_spec(name)
    if spec is None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    if not isinstance(spec.loader, SourceFileLoader) or spec.origin is None:
        return importlib.import_module(name), ""
    source = Path(spec.origin).read_bytes()
    module = _execute(spec, source)
    if package is not None:
        setattr(package, own, module)
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
    _known[spec.name] = (module, spec, _digest(source))
    return module


def _version_in_memory(module: ModuleType) -> str:
    """Of a module that is imported: of its source, if that is what was executed.

    So it is of modules that were loaded here, and of files that are as they were when this process
    began, whatever the module has become since. Of others what is in memory is compared with the
    file: unless all of it can be compared and agrees, it is part of the version.
    """
    spec, file = (getattr(module, key, None) for key in ("__spec__", "__file__"))
    name = getattr(module, "__name__", "")
    known = _known.get(name)
    if known is not None and known[0] is module and known[1] is spec:
        return known[2]
    if file is None or not file.endswith(".py") or not os.path.isfile(file):
        return ""
    stat, source = os.stat(file), Path(file).read_bytes()
    # Nobody sets the time of a change on POSIX; elsewhere it is that of the file's creation.
    changed = stat.st_ctime if os.name == "posix" else max(stat.st_ctime, stat.st_mtime)
    executed = changed < BEGAN or _agrees(source, module)
    version = _digest(source if executed else source + _state_of_module(module))
    _known[name] = (module, spec, version)
    return version


def _process_began() -> float:
    """When this process did, by the clock that files are dated with; now where nobody says."""
    try:
        ticks = Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return time.time()
    # Rounded down to a tick: a script that was written just before it was run is not younger.
    ended = (int(ticks) + 1) / os.sysconf("SC_CLK_TCK")
    running = time.clock_gettime(time.CLOCK_BOOTTIME) - ended
    return time.time() - running


BEGAN = _process_began()  # on import: a fork begins later than what it has in memory


def _agrees(source: bytes, module: ModuleType) -> bool:
    """Whether memory has what each statement at the top of a file says, and nothing else.

    Not where this cannot be seen, as of what is computed, decorated, or set twice.
    """
    try:
        tree = ast.parse(source)
        # Compiled as a whole, because instructions of a function depend on what the file imports.
        compiled = compile(tree, module.__file__ or "", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):  # the latter of null bytes
        return False
    codes = {each.co_name: each for each in compiled.co_consts if isinstance(each, CodeType)}
    statements = [node for node in tree.body if not _has_no_effect(node)]
    bound = [name for node in statements for name in _bound(node)]
    changing = any(isinstance(node, ast.Global) for node in ast.walk(tree))
    if changing or len(set(bound)) < len(bound) or _own(module).keys() - set(bound):
        return False
    return all(_has(module, node, codes) for node in statements)


def _has(module: ModuleType, node: ast.stmt, codes: dict[str, CodeType]) -> bool:
    """Whether a module in memory has what a statement says."""
    names, memory = _bound(node), vars(module)
    if isinstance(node, ast.Import | ast.ImportFrom):
        return all(_has_import(module, node, alias) for alias in node.names)
    if len(names) != 1 or getattr(node, "decorator_list", ()):
        return False
    value = memory.get(names[0])
    try:
        if isinstance(node, ast.FunctionDef):
            if names[0] not in memory:
                return True  # added since, so that nothing in memory can call it
            # A wrapper has attributes.
            if not isinstance(value, FunctionType) or vars(value) or node.name not in codes:
                return False
            given = node.args
            defaults = tuple(map(ast.literal_eval, given.defaults))
            pairs = zip(given.kwonlyargs, given.kw_defaults, strict=True)
            named = {key.arg: ast.literal_eval(each) for key, each in pairs if each is not None}
            same = _text((value.__defaults__ or (), value.__kwdefaults__ or {}))
            return _essence(value.__code__) == _essence(codes[node.name]) and (
                same == _text((defaults, named))
            )
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            return names[0] in memory and _text(value) == _text(ast.literal_eval(node.value))
    except (ValueError, TypeError):  # it is computed
        pass
    return False


def _has_import(module: ModuleType, node: ast.Import | ast.ImportFrom, alias: ast.alias) -> bool:
    """Whether a name in memory is what an import binds it to."""
    if isinstance(node, ast.Import):
        value = sys.modules.get(alias.name if alias.asname else alias.name.partition(".")[0])
    else:
        relative = "." * node.level + (node.module or "")
        try:
            origin = importlib.util.resolve_name(relative, module.__package__)
        except ImportError:
            return False
        value = getattr(sys.modules.get(origin), alias.name, None)
    return value is not None and vars(module).get(_bound_by(alias)) is value


def _bound(node: ast.stmt) -> list[str]:
    """Names that a statement sets, none where it is not a plain one."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return list(map(_bound_by, node.names))
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _bound_by(alias: ast.alias) -> str:
    return alias.asname or alias.name.partition(".")[0]


def _has_no_effect(node: ast.stmt) -> bool:
    """A docstring, or what only a script does."""
    if isinstance(node, ast.If):
        first = next(ast.walk(node.test))
        return isinstance(first, ast.Compare) and ast.unparse(first.left) == "__name__"
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _own(module: ModuleType) -> dict[str, Any]:
    """What a module has, but for what every module has and the parts of a package."""
    return {
        name: value
        for name, value in vars(module).items()
        if not name.startswith("__")
        and getattr(value, "__name__", "") != f"{module.__name__}.{name}"
    }


def _state_of_module(module: ModuleType) -> bytes:
    """Values, functions and methods that a module has, and the attributes of its objects."""
    functions, texts = [], []
    for name, value in _own(module).items():
        local = getattr(value, "__module__", None) == module.__name__
        parts = getattr(value, "__dict__", {}) if local else {}
        for key, each in [("", value), *parts.items()]:
            plain = _unwrapped(each)
            if isinstance(plain, FunctionType) and plain.__globals__ is vars(module):
                functions.append(plain)
            elif not key.startswith("__") and not isinstance(each, ModuleType | type):
                texts.append(_text((name, key, each)))
    return _state(*functions) + "\x00".join(sorted(texts)).encode()


def _state(*functions: FunctionType) -> bytes:
    """What functions do, with the values and functions beside them that they use.

    Without what they set themselves, such as counters.
    """
    reached, changing, values = list(functions), set[str](), list[tuple[str, Any]]()
    for function in reached:  # it grows
        closure = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        beside = {name: cell.cell_contents for name, cell in closure if cell != CellType()}
        for code in _codes(function.__code__):
            for each in dis.get_instructions(code):
                if each.opname in ("STORE_GLOBAL", "STORE_DEREF"):
                    changing.add(each.argval)
                elif each.opname in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"):
                    beside.setdefault(each.argval, function.__globals__.get(each.argval))
        for name in sorted(beside):
            if isinstance(beside[name], SIMPLE):
                values.append((name, beside[name]))
            for each in (beside[name], _unwrapped(beside[name])):
                if isinstance(each, FunctionType) and each not in reached:
                    reached += [each] if each.__globals__ is function.__globals__ else []
    kept = [each for each in values if each[0] not in changing]
    parts = [_essence(each.__code__) + _defaults(each).encode() for each in reached]
    return b"\x00".join([*parts, _text(kept).encode()])


def _defaults(function: FunctionType) -> str:
    given = [*(function.__defaults__ or ()), *sorted((function.__kwdefaults__ or {}).items())]
    return _text([type(each) if isinstance(each, MUTABLE) else each for each in given])


def _unwrapped(value: Any) -> Any:
    try:
        value = inspect.unwrap(getattr(value, "__func__", value))
    except ValueError:  # it wraps itself
        return value
    return getattr(value, "pyfunc", value)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _codes(each)


def _essence(code: CodeType) -> bytes:
    """What a function does: its instructions, names and constants, not where it stands."""
    return b"\x00".join(
        each.co_code
        + repr((each.co_names, each.co_varnames, each.co_freevars)).encode()
        + _text([value for value in each.co_consts if not isinstance(value, CodeType)]).encode()
        for each in _codes(code)
    )


def _text(value: Any) -> str:
    """What a value is, in the same words in each process: sets in order, arrays by their bytes."""
    if isinstance(value, set | frozenset):
        return f"{type(value).__name__}{sorted(map(_text, value))}"
    if isinstance(value, list | tuple):
        return f"{type(value).__name__}[{','.join(map(_text, value))}]"
    if isinstance(value, dict):
        return f"{type(value).__name__}{[_text(pair) for pair in value.items()]}"
    if isinstance(value, partial):
        return f"partial{_text((value.func, value.args, value.keywords))}"
    if isinstance(plain := _unwrapped(value), FunctionType):
        return f"{type(value).__name__} {_digest(_essence(plain.__code__))}"
    try:
        if not getattr(getattr(value, "dtype", None), "hasobject", True):
            return f"{value.dtype}{value.shape}{_digest(value.tobytes())}"
        return ADDRESS.sub("", repr(value))
    except Exception:  # of whatever class it is
        return type(value).__qualname__


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
