"""The integrand by its name, and the version of the code that is really called."""

import hashlib
import importlib
import os
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from functools import partial, wraps
from pathlib import Path

import jax
import numpy as np
import pytest
from small_study import HERE, study

from steinquad.studies.calls import loading
from steinquad.studies.calls.call import Call
from steinquad.studies.calls.evaluate import evaluate
from steinquad.studies.calls.loading import load, version_of_object

CALL = Call(("a", "b"), ("f",), directory=str(HERE))
GOOD, BAD = (0.5, 0.25), (1.5, 0.25)  # the hostile ones misbehave where a > 1


@pytest.mark.parametrize("name", ["integrands.py:missing", "integrands.py:not_a_function"])
def test_what_is_not_a_function_cannot_be_loaded(name):
    with pytest.raises((AttributeError, TypeError)):
        load(replace(CALL, function=name))


def test_a_file_that_was_edited_is_loaded_again(tmp_path):
    file = tmp_path / "m.py"
    settings = {"integrand": "m.py:f", "directory": tmp_path}
    for value, runs in ((1.0, 10), (2.0, 20)):
        file.write_text(f"def f(a, b):\n    return {value} + 0 * a\n")
        os.utime(file, ns=(0, int(value)))
        study(tmp_path, runs=runs, **settings).run()
    rows = list(study(tmp_path, **settings).evaluations.rows())
    assert [row.outputs for row in rows] == [[1.0]] * 10 + [[2.0]] * 10
    assert len({row.version for row in rows}) == 2


def test_files_of_one_name_in_two_places_are_two_integrands(tmp_path):
    answers = []
    for value in (1, 2):
        place = tmp_path / str(value)
        place.mkdir()
        (place / "f.py").write_text(f"def f(a, b):\n    return a + {value}\n")
        answers.append(study(place, "x", integrand="f.py:f", directory=place, runs=4).run().mean)
    np.testing.assert_allclose(np.diff(answers), 1.0, rtol=1e-12)


def test_a_version_is_of_the_code_that_was_loaded(tmp_path):
    """The file is edited after it was loaded: the worker's rows are of what it has."""
    file = tmp_path / "edited.py"
    file.write_text("def f(a, b):\n    return 1.0\n")
    call = replace(CALL, function="edited.py:f", directory=str(tmp_path))
    before = load(call)
    file.write_text("def f(a, b):\n    return 2.0\n")
    after = load(call)
    assert (before.value(0, 0), after.value(0, 0)) == (1.0, 2.0)
    assert before.version != after.version
    (old,), (new,) = (evaluate(call, [GOOD], [0], each) for each in (before, after))
    assert (old.outputs, old.version) == ((1.0,), before.version)
    assert (new.outputs, new.version) == ((2.0,), after.version)
    file.write_text("def f(a, b):\n    return 1.0\n")
    assert load(call) == before


def test_an_edit_that_compiled_files_do_not_see(tmp_path):
    """Same size, same second: Python itself would take the old code from its cache."""
    file = tmp_path / "cached_module.py"
    call = replace(CALL, function="cached_module:f", directory=str(tmp_path))
    code = "import cached_module; print(cached_module.f())"
    environment = {"PYTHONPATH": str(tmp_path)}
    said = []
    for value in (1.0, 2.0):
        file.write_text(f"def f(*_):\n    return {value}\n")
        os.utime(file, (1e9, 1e9))
        said.append(subprocess.check_output([sys.executable, "-c", code], env=environment).strip())
    assert said == [b"1.0", b"1.0"]  # what is guarded against
    assert load(call).value() == 2.0
    sys.modules.pop("cached_module")


@pytest.mark.parametrize(
    ("edited", "same"),
    [
        ("K = 1.0\ndef f(*_):\n    return K\n", True),
        ("K = 2.0\ndef f(*_):\n    return K\n", False),
        ("K = 1.0\ndef f(*_):\n    return K + 1\n", False),
        ("K = 1.0\ndef f(*_):\n    return K\ndef g():\n    return 0\n", True),
        ("def f(:\n", False),
    ],
)
def test_a_module_that_was_imported_before_it_was_edited_is_noticed(
    tmp_path, monkeypatch, edited, same
):
    monkeypatch.syspath_prepend(str(tmp_path))
    name = f"imported_{abs(hash(edited))}"
    file = tmp_path / f"{name}.py"
    file.write_text("K = 1.0\ndef f(*_):\n    return K\n")
    module = importlib.import_module(name)
    file.write_text(edited)
    (tmp_path / "now.py").write_text(edited)
    loaded = load(replace(CALL, function=f"{name}:f", directory=str(tmp_path)))
    assert loaded.value() == 1.0 and loaded.version == version_of_object(module.f)
    digest = hashlib.sha256(edited.encode()).hexdigest()[:12]
    assert (loaded.version == digest) == same


def test_a_module_loaded_here_keeps_its_version(tmp_path):
    file = tmp_path / "kept_module.py"
    file.write_text("def f(*_):\n    return 1.0\n")
    call = replace(CALL, function="kept_module:f", directory=str(tmp_path))
    first = load(call)
    file.write_text("def f(*_):\n    return 2.0\n")
    assert load(call) == first
    sys.modules.pop("kept_module")


def test_a_module_that_fails_leaves_no_half_behind(tmp_path):
    (tmp_path / "half_module.py").write_text("x = 1\nraise RuntimeError('no')\n")
    for _ in range(2):
        with pytest.raises(RuntimeError, match="no"):
            load(replace(CALL, function="half_module:f", directory=str(tmp_path)))
    assert "half_module" not in sys.modules


def test_a_module_of_a_package(tmp_path):
    (tmp_path / "some_package").mkdir()
    (tmp_path / "some_package" / "__init__.py").write_text("")
    (tmp_path / "some_package" / "part.py").write_text(
        "from . import other\ndef f(*_):\n    return other.x\n"
    )
    (tmp_path / "some_package" / "other.py").write_text("x = 3.0\n")
    loaded = load(replace(CALL, function="some_package.part:f", directory=str(tmp_path)))
    assert loaded.value() == 3.0 and len(loaded.version) == 12
    assert load(replace(CALL, function="math:sqrt")).version == ""


def test_versions_of_objects():
    one, two = (lambda a: a + 1), (lambda a: a + 2)
    assert version_of_object(one) == version_of_object(lambda a: a + 1) != version_of_object(two)
    assert version_of_object(len) == ""


def test_an_integrand_edited_during_a_run_is_never_mixed_silently(tmp_path):
    """Every worker keeps the version it has; those that come later say that theirs is another."""
    file = tmp_path / "f.py"
    text = "import os, time\n\ndef f(a, b):\n    time.sleep(0.002)\n    return a * a + {k}\n"
    file.write_text(text.format(k=1.0))
    settings = {"integrand": "f.py:f", "directory": tmp_path, "where": "pool", "retries": 3}
    found = study(tmp_path, runs=120, **settings)

    def watch(now):
        if now.done >= 40 and "2.0" not in file.read_text():
            file.write_text(text.format(k=2.0))
            for entry in os.listdir("/proc"):  # half of the workers: others take their place
                with suppress(OSError):
                    if b"worker.py" in Path(f"/proc/{entry}/cmdline").read_bytes():
                        parent = (
                            Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()[1]
                        )
                        if int(parent) == os.getpid():
                            os.kill(int(entry), signal.SIGKILL)
                            break

    answer = found.run(watch=watch)
    rows = list(found.evaluations.rows())
    assert len({row.version for row in rows if row.status == "done"}) == 2
    for row in rows:
        constant = row.outputs[0] - row.input[0] ** 2
        assert (
            row.version
            == hashlib.sha256(
                text.format(k=1.0 if abs(constant - 1) < 1e-9 else 2.0).encode()
            ).hexdigest()[:12]
        )
    assert (
        answer.status.code == "suspect" and "2 versions of the integrand" in answer.status.message
    )


def test_a_script_edited_while_it_runs(tmp_path):
    script = tmp_path / "sim.py"
    script.write_text(f"print(1.0)\nopen({str(script)!r}, 'a').write('# edited')\n")
    call = replace(CALL, command=(sys.executable, "sim.py"), directory=str(tmp_path))
    (found,) = evaluate(call, [GOOD], [0])
    assert found.outputs == (1.0,) and " or " in found.version


EDITS = {
    "default": "def f(k={}):\n    return k\n",
    "keyword": "def f(*, k={}):\n    return k\n",
    "cached": "from functools import lru_cache\n@lru_cache\ndef f():\n    return {}\n",
    "computed": "import math\nK = math.sqrt({})\ndef f():\n    return K\n",
    "list": "K = [{}]\ndef f():\n    return K[0]\n",
    "annotated": "K: float = {}\ndef f():\n    return K\n",
    "lambda": "f = lambda: {}\n",
    "class": "class C:\n    k = {}\n    def g():\n        return C.k\nf = C.g\n",
    "instance": "class C:\n    def __call__(self):\n        return self.k\nf = C()\nf.k = {}\n",
    "partial": "from functools import partial\ndef g(k):\n    return k\nf = partial(g, {})\n",
}


@pytest.mark.parametrize("seen", [True, False])
@pytest.mark.parametrize("kind", EDITS)
def test_code_in_memory_never_has_the_version_of_an_edited_file(tmp_path, monkeypatch, kind, seen):
    """Whether it was looked at before the edit or not, by name and as an object."""
    monkeypatch.syspath_prepend(str(tmp_path))
    name = f"edited_{kind}_{seen}"
    file = tmp_path / f"{name}.py"
    file.write_text(EDITS[kind].format(1.0))
    module = importlib.import_module(name)
    call = replace(CALL, function=f"{name}:f", directory=str(tmp_path))
    before = {load(call).version, version_of_object(module.f)} if seen else set()
    file.write_text(EDITS[kind].format(4.0))
    digest = hashlib.sha256(file.read_bytes()).hexdigest()[:12]
    assert load(call).value() == module.f() and module.f() in (1.0, [1.0])
    now = {load(call).version, version_of_object(module.f)}
    assert digest not in now and all(now) and (not seen or now == before)
    os.utime(file, (1e9, 1e9))  # past Python's cache of compiled files
    importlib.reload(module)
    assert load(call).value() in (2.0, 4.0)
    assert not {load(call).version, version_of_object(module.f)} & now


def test_what_a_function_without_a_file_uses_is_in_its_version():
    def made(constant, helper):
        names = {"K": constant, "__name__": "__main__"}
        exec(f"def g(a):\n    return {helper}\ndef f(a):\n    return g(a) + K\n", names)
        return version_of_object(names["f"])

    assert made(1.0, "a") == made(1.0, "a")
    assert len({made(1.0, "a"), made(2.0, "a"), made(1.0, "a + 1"), ""}) == 4


def test_a_script_has_the_version_of_its_file(tmp_path):
    """Also one that was written just before, and whose functions call what it imports."""
    script = tmp_path / "script.py"
    script.write_text(
        "import math\n"
        "from steinquad.studies.calls.loading import version_of_object\n"
        "def f(x: float) -> float:\n"
        "    return math.sqrt(x)\n"
        "print(version_of_object(f))\n"
    )
    ran = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == hashlib.sha256(script.read_bytes()).hexdigest()[:12]


def test_a_script_that_was_edited_while_it_ran_has_a_version_of_its_own(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "from pathlib import Path\n"
        "from steinquad.studies.calls.loading import version_of_object\n"
        "def f(x: float) -> float:\n"
        "    return x\n"
        "own = Path(__file__)\n"
        "own.write_text(own.read_text().replace('return x', 'return 2 * x'))\n"
        "print(version_of_object(f), version_of_object(f))\n"
    )
    ran = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    first, second = ran.stdout.split()
    assert first == second != hashlib.sha256(script.read_bytes()).hexdigest()[:12]


TIMES = (
    "from functools import wraps\n"
    "def times(k):\n"
    "    def made(g):\n"
    "        @wraps(g)\n"
    "        def h():\n"
    "            return k * g()\n"
    "        return h\n"
    "    return made\n"
)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("from math import sin as g\n", "from math import cos as g\n"),
        ("import math as g\n", "import cmath as g\n"),
        ("from math import floor as round\n", ""),
        (TIMES + "@times(2)\n", TIMES + "@times(3)\n"),
        (TIMES + "@times(2)\n", TIMES),
    ],
)
@pytest.mark.parametrize("later", ["", "f = times(2)(f)\n"])
def test_edits_of_imports_and_decorators_are_noticed(tmp_path, monkeypatch, before, after, later):
    monkeypatch.syspath_prepend(str(tmp_path))
    body = "def f():\n    return 1.0\n"
    later = later if "times" in before else ""
    file = tmp_path / "edited_above.py"
    file.write_text(before + body + later)
    module = importlib.import_module("edited_above")
    file.write_text(after + body)
    version = version_of_object(module.f)
    sys.modules.pop("edited_above")
    assert version not in ("", hashlib.sha256(file.read_bytes()).hexdigest()[:12])


UNSTEADY = """
import functools, sys
import jax
import numpy as np
from steinquad.studies.calls.loading import version_of_object
N = 20
if len(sys.argv) > 1:
    N = int(sys.argv[1])
total = 0
for i in range(N):
    total += i
a = 1
a, b = N, 4
def bare(g):
    return lambda x: g(x) + N
@bare
def neighbor(x):
    return x
def f(x, cache={}):
    cache[x] = N
    return x
f(N)
class C:
    def method(self):
        return 1
    @classmethod
    def of_class(cls):
        return 1
def here(x):
    return x
every = [f, C().method, C.of_class, jax.jit(f), np.vectorize(f), C]
print({version_of_object(each) for each in every})
own = open(__file__, "a")
own.write("# a comment\\n")
own.close()
print({version_of_object(each) for each in every})
names = {"__name__": "nowhere", "K": 1.0}
exec("def f(x, k=frozenset('abc'), cache={}):\\n    cache[x] = K\\n    return x", names)
names["f"](N)
print(version_of_object(names["f"]), version_of_object(functools.partial(len, set("abcdef"))))
"""


def test_a_script_that_was_not_edited_has_one_version(tmp_path):
    """Whatever it does to itself: its variables, its arguments, a comment after it began."""
    script = tmp_path / "script.py"
    digest = hashlib.sha256(UNSTEADY.encode()).hexdigest()[:12]
    said = []
    for count in ("3", "40"):
        script.write_text(UNSTEADY)
        environment = os.environ | {"PYTHONHASHSEED": count}
        said.append(
            subprocess.check_output([sys.executable, script, count], env=environment, text=True)
        )
    assert said[0] == said[1]
    assert said[0].splitlines()[:2] == [str({digest})] * 2


@pytest.mark.parametrize("began", [0.0, 1e12])
def test_a_module_has_the_same_version_whenever_it_is_imported(tmp_path, monkeypatch, began):
    """Saved before the process or during it, and changed from outside."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(loading, "BEGAN", began)
    file = tmp_path / "outside.py"
    file.write_text("import math\nSCALE = math.sqrt(4.0)\ndef f():\n    return SCALE\n")
    os.utime(file, (4e9, 4e9))
    versions = []
    for _ in range(2):
        module = importlib.import_module("outside")
        versions.append(version_of_object(module.f))
        module.__dict__["SCALE"] = 3.0
        versions.append(version_of_object(module.f))
        sys.modules.pop("outside")
    assert len(set(versions)) == 1
    assert (versions[0] == hashlib.sha256(file.read_bytes()).hexdigest()[:12]) == (began > 0)


class Model:
    def method(self, x):
        return x

    @classmethod
    def of_class(cls, x):
        return x

    def __call__(self, x):
        return x


def plain(x):
    return x


@wraps(plain)
def wrapper(x):
    return plain(x)


@pytest.mark.parametrize(
    "function",
    [Model().method, Model.of_class, Model(), jax.jit(plain), np.vectorize(plain), Model.method],
)
def test_callables_of_a_file_have_its_version(function):
    assert version_of_object(function) == version_of_object(plain) != ""


def test_callables_without_a_file_have_a_version_of_their_code():
    def made(text):
        names = {"__name__": "nowhere"}
        exec(f"class C:\n    def g(self):\n        return {text}\n    __call__ = g", names)
        return [names["C"](), names["C"]().g]

    for one, same, other in zip(made(1), made(1), made(2), strict=True):
        assert version_of_object(one) == version_of_object(same) != version_of_object(other)
    assert len({version_of_object(wrapper), version_of_object(plain), ""}) == 3
    assert [version_of_object(each) for each in (str.upper, "a".upper, int, np.sin)] == [""] * 4


@pytest.mark.parametrize(
    "body",
    [
        "[g(b) for b in a]",
        "(lambda b: g(b))(a)",
        "{b: (lambda: g(b)) for b in a}",
        "map(g, a)",
        "h(a)",
    ],
)
def test_helpers_are_followed_wherever_they_are_used(body):
    def made(helper):
        names = {"__name__": "nowhere"}
        exec(f"def g(a):\n    return {helper}\ndef h(a):\n    return g(a), f\n", names)
        exec(f"def f(a):\n    return {body}\n", names)
        return version_of_object(names["f"])

    assert made("a") == made("a") != made("a + 1")


def test_what_changes_while_a_function_runs_is_not_in_its_version():
    calls = 0

    def f(x, cache={}):  # noqa: B006
        nonlocal calls
        calls += 1
        cache[x] = x
        return x.T

    before = version_of_object(f)
    f(np.float64(1.0))
    assert calls == 1 and version_of_object(f) == before
    globals()["T"] = 1.0  # an attribute's name, not this
    assert version_of_object(f) == before


def test_all_entries_of_arrays_are_in_the_version_of_a_partial():
    first, second = np.zeros(5000), np.zeros(5000)
    second[2500] = 1.0
    versions = [version_of_object(partial(plain, each)) for each in (first, first.copy(), second)]
    assert versions[0] == versions[1] != versions[2]


def test_many_functions_that_call_each_other():
    names = {"__name__": "nowhere"}
    calls = "; ".join(f"f{k}()" for k in range(25))
    for k in range(25):
        exec(f"def f{k}():\n    {calls}\n", names)
    assert len(version_of_object(names["f0"])) == 12


def test_a_part_that_its_package_imports_is_executed_once(tmp_path):
    (tmp_path / "whole").mkdir()
    (tmp_path / "whole" / "__init__.py").write_text("from . import part\ncount = []\n")
    (tmp_path / "whole" / "part.py").write_text("def f(*_):\n    return 1.0\n")
    loaded = load(replace(CALL, function="whole.part:f", directory=str(tmp_path)))
    package = sys.modules.pop("whole")
    assert loaded.value is package.part.f is sys.modules.pop("whole.part").f
    digest = hashlib.sha256((tmp_path / "whole" / "part.py").read_bytes()).hexdigest()[:12]
    assert loaded.version == digest


def test_generic_functions(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    kind = "[T]" if sys.version_info >= (3, 12) else ""
    (tmp_path / "generic.py").write_text(f"def f{kind}(x):\n    return x\n")
    assert len(version_of_object(importlib.import_module("generic").f)) == 12
