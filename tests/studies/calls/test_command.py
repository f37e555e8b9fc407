"""Commands: filled in without a shell, ended with all they started, under limits."""

import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from small_study import HERE, alive, driver, wait_until

import steinquad as sq
from steinquad.studies.calls import supervisor
from steinquad.studies.calls.call import Call
from steinquad.studies.calls.command import end, supervised
from steinquad.studies.calls.evaluate import evaluate

CALL = Call(("a", "b"), ("f",), directory=str(HERE))
GOOD, BAD = (0.5, 0.25), (1.5, 0.25)  # the hostile ones misbehave where a > 1


def command(code, *arguments, **changes):
    """The outcome of a Python program with arguments."""
    line = (sys.executable, "-S", "-c", code.replace("{", "{{").replace("}", "}}"), *arguments)
    (found,) = evaluate(replace(CALL, command=line, **changes), [GOOD], [7])
    return found


PRINT = "import sys; print(float(sys.argv[1]) ** 2 + float(sys.argv[2]))"


def test_arguments_are_filled_in():
    assert command(PRINT, "{a}", "{b}").outputs == (0.5,)
    show = "import sys, json; print(json.dumps(sys.argv[2:] == ['{7}', 'a=0.5']) and 4)"
    assert command(show, "", "{{{number}}}", "a={a}").outputs == (4.0,)


@pytest.mark.parametrize("form", ["json", "csv"])
def test_files_and_streams(form):
    read = {"json": "d = json.load(s)", "csv": "d = list(csv.DictReader(s))[0]"}[form]
    write = {
        "json": "json.dump({'f': float(d['a']) + float(d['b'])}, t)",
        "csv": "t.write('x,f\\n9,' + str(float(d['a']) + float(d['b'])) + '\\n')",
    }[form]
    head = "import sys, json, csv\n"
    files = f"{head}s, t = open(sys.argv[1]), open(sys.argv[2], 'w')\n{read}\n{write}\n"
    streams = f"{head}s, t = sys.stdin, sys.stdout\n{read}\n{write}\n"
    both = {"input": form, "output": form}
    assert command(files, "{input}", "{output}", **both).outputs == (0.75,)
    assert command(streams, **both).outputs == (0.75,)


@pytest.mark.parametrize(
    ("code", "failure", "words"),
    [
        ("import sys; sys.exit('no licence')", "exception", "exit code 1: no licence"),
        ("print('text')", "answer", "'text\\n', not JSON"),
        ("print('NaN')", "answer", "'f' is nan"),
        ("print('[1, 2]')", "answer", "2 values for the 1 outputs"),
        ("print('[' * 100000)", "answer", "not JSON"),
        ("pass", "answer", "'', not JSON"),
        ('print(\'{"f": 1, "f": 2}\')', "answer", "not JSON"),
        ("print('1_000')", "answer", "'1_000\\n', not JSON"),
        ("print('2020-01-01')", "answer", "not JSON"),
        ("print('x' * 20_000_000)", "answer", "20000001 bytes"),
        ("import os; os.kill(os.getpid(), 9)", "exception", "with signal 9"),
    ],
)
def test_a_command_that_misbehaves(code, failure, words):
    found = command(code)
    assert found.outputs is None and found.failure == failure and words in found.error


@pytest.mark.parametrize("memory", [None, 2**28])
def test_a_command_that_does_not_exist(memory):
    missing = replace(CALL, command=("./no-such-program",), memory=memory)
    (found,) = evaluate(missing, [GOOD], [0])
    assert found.failure == "exception" and "FileNotFoundError" in found.error


def test_the_memory_of_a_command_is_limited():
    take = "x = bytearray(2**29); print(1)"
    assert command(take).outputs == command(take, memory=2**30).outputs == (1.0,)
    found = command(take, memory=2**28)
    assert found.failure == "exception" and "MemoryError" in found.error
    assert "its memory is limited to 256 MiB" in found.error
    child = f"import subprocess, sys; subprocess.check_call([sys.executable, '-c', '{take}'])"
    assert command(child, memory=2**28).failure == "exception"


@pytest.mark.parametrize("form", ["json", "csv"])
def test_a_command_may_be_given_several_points(form):
    read = {"json": "rows = json.load(sys.stdin)", "csv": "rows = list(csv.DictReader(sys.stdin))"}
    write = {
        "json": "print(json.dumps([{'f': float(r['a']) - float(r['b'])} for r in rows]))",
        "csv": "print('f'); [print(float(r['a']) - float(r['b'])) for r in rows]",
    }
    code = f"import sys, json, csv\n{read[form]}\n{write[form]}\n"
    call = replace(CALL, style="batch", input=form, output=form)
    call = replace(call, command=(sys.executable, "-S", "-c", code.replace("{", "{{")))
    for points in ([GOOD, BAD, GOOD], [BAD]):
        wanted = [(a - b,) for a, b in points]
        assert [found.outputs for found in evaluate(call, points, range(len(points)))] == wanted
    lost = replace(call, command=(*call.command[:3], call.command[3] + "\nprint('0')"))
    assert {found.failure for found in evaluate(lost, [GOOD, BAD], [0, 1])} == {"answer"}


def test_a_command_is_ended_with_all_it_started(tmp_path):
    code = (
        "import subprocess, sys, time, pathlib\n"
        "p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        "pathlib.Path(sys.argv[1]).write_text(str(p.pid))\n"
        "time.sleep(60)\n"
    )
    begin = time.monotonic()
    found = command(code, str(tmp_path / "pid"), time_limit=3.0)
    assert found.failure == "time-out" and time.monotonic() - begin < 30
    child = int((tmp_path / "pid").read_text())
    wait_until(lambda: not alive(child))


@pytest.mark.parametrize("name", ["$(touch owned)", "; touch owned", "<b>", "a b", "`id`"])
def test_no_shell_is_ever_involved(name, tmp_path):
    call = Call(
        (name,),
        ("f",),
        command=(sys.executable, "-S", "-c", PRINT, "{" + name + "}", "0", name, "| touch owned"),
        input="json",
        directory=str(tmp_path),
    )
    (found,) = evaluate(call, [(3.0,)], [0])
    assert found.outputs == (9.0,) and os.listdir(tmp_path) == []
    assert json.loads(json.dumps(found.outputs)) == [9.0]


DAEMON = (
    "import os, subprocess, sys, time, pathlib\n"
    "sleep = [sys.executable, '-c', 'import time; time.sleep(60)']\n"
    "if os.fork() == 0:\n"
    "    os.setsid()\n"
    "    p = subprocess.Popen(sleep, start_new_session=True)\n"
    "    pathlib.Path(sys.argv[1]).write_text(str(p.pid))\n"
    "    os._exit(0)\n"
    "os.wait()\n"
)


@pytest.mark.parametrize(
    ("last", "failure"),
    [("print(1.0)", ""), ("time.sleep(60)", "time-out"), ("1 / 0", "exception")],
)
def test_not_even_a_session_of_its_own_outlives_a_command(tmp_path, last, failure):
    """Two forks and two sessions away, with no parent left but the supervisor."""
    found = command(DAEMON + last, str(tmp_path / "pid"), time_limit=3.0)
    assert found.failure == failure
    assert not alive(int((tmp_path / "pid").read_text()))


def test_a_command_ends_with_the_process_that_runs_it(tmp_path):
    """`where = "here"`: the driver itself is killed with -9."""
    code = DAEMON + "time.sleep(60)"
    line = [sys.executable, "-S", "-c", code, str(tmp_path / "pid")]
    process = driver(tmp_path, integrand=sq.Command(line), where="here")
    wait_until((tmp_path / "pid").exists)
    process.kill()
    process.join()
    wait_until(lambda: not alive(int((tmp_path / "pid").read_text())))


def test_a_killed_supervisor_takes_its_command_along(tmp_path):
    code = (
        "import os, pathlib, sys, time\npathlib.Path(sys.argv[1]).write_text(str(os.getpid()))\n"
    )
    line = [sys.executable, "-S", "-c", code + "time.sleep(60)", str(tmp_path / "pid")]
    process = subprocess.Popen(supervised(line), start_new_session=True)
    wait_until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text())
    process.kill()
    process.wait()
    wait_until(lambda: not alive(int((tmp_path / "pid").read_text())))


def test_not_even_a_session_of_its_own_outlives_a_killed_supervisor(tmp_path):
    """The owner of the supervisor, which lives on, ends what was adopted by somebody else."""
    line = [sys.executable, "-S", "-c", DAEMON + "time.sleep(60)", str(tmp_path / "pid")]
    process = subprocess.Popen(supervised(line), start_new_session=True)
    wait_until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text())
    orphan = int((tmp_path / "pid").read_text())
    process.kill()
    process.wait()
    assert alive(orphan)  # nobody below the supervisor knows of it
    end(process)
    assert not alive(orphan)


# A worker that runs a command, which leaves a process without an environment behind.
WORKER = f"""
import os, subprocess, sys
own = [sys.executable, "-IS", {supervisor.__file__!r}, str(os.getpid()), "0"]
subprocess.Popen([*own, *sys.argv[1:]], start_new_session=True).wait()
"""
NAMELESS = """
import os, sys, time
if os.fork():
    time.sleep(60)
os.setsid()
if os.fork():
    os._exit(0)
with open(sys.argv[1], "w") as file:
    file.write(str(os.getpid()))
os.execve("/bin/sleep", ["sleep", "60"], {})
"""


def test_not_even_without_an_environment_below_a_command_of_a_killed_supervisor(tmp_path):
    python, pid = [sys.executable, "-S", "-c"], tmp_path / "pid"
    line = supervised([*python, WORKER, *python, NAMELESS, str(pid)])
    process = subprocess.Popen(line, start_new_session=True)
    wait_until(lambda: pid.exists() and pid.read_text())
    orphan = int(pid.read_text())
    wait_until(lambda: b"sleep" in Path(f"/proc/{orphan}/cmdline").read_bytes()[:9])
    process.kill()
    end(process)
    assert not alive(orphan)
