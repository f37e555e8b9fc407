"""One call: every good answer is understood, every bad one is a failure with a reason."""

import json
import os
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
from small_study import HERE, study

import steinquad as sq
from steinquad.studies.evaluation import Call, Outcome, evaluate, load

CALL = Call(("a", "b"), ("f",), directory=str(HERE))
GOOD, BAD = (0.5, 0.25), (1.5, 0.25)  # the hostile ones misbehave where a > 1


def outcome(function, point=GOOD, **changes):
    call = replace(CALL, function=f"integrands.py:{function}", **changes)
    (found,) = evaluate(call, [point], [7])
    return found


@pytest.mark.parametrize(
    ("function", "style"), [("smooth", "keywords"), ("mapping", "dict"), ("batch", "batch")]
)
def test_styles_agree(function, style):
    assert outcome(function, style=style).outputs == (0.5,)


def test_outputs_come_by_name_or_in_order():
    assert outcome("two", outputs=("z", "y")).outputs == (0.25, 0.5)
    assert outcome("wrong_shape", BAD, outputs=("z", "y")).outputs == (1.5, 0.25)


def test_a_batch_has_an_outcome_for_each_point():
    call = replace(CALL, function="integrands.py:batch", style="batch")
    assert [o.outputs for o in evaluate(call, [GOOD, BAD], [0, 1])] == [(0.5,), (2.5,)]
    wrong = evaluate(replace(call, outputs=("y", "z")), [GOOD, BAD], [0, 1])
    assert [o.failure for o in wrong] == ["answer"] * 2 and "return (2, 2)" in wrong[0].error


@pytest.mark.parametrize(
    ("function", "failure", "words"),
    [
        ("raises", "exception", "RuntimeError: diverged at False"),
        ("exits", "exception", "SystemExit: 3"),
        ("wrong_shape", "answer", "2 values for the 1 outputs f"),
        ("text", "answer", "'12', not a real number"),
        ("complex_number", "answer", "(1.5+0.25j), not a real number"),
        ("nan", "answer", "'f' is nan"),
        ("infinite", "answer", "'f' is inf"),
        ("nothing", "answer", "None, not a real number"),
        ("boolean", "answer", "True, not a real number"),
        ("lacking", "answer", "no output 'f' in the answer, which has other"),
    ],
)
def test_a_bad_answer_is_a_failure(function, failure, words):
    assert outcome(function).outputs == (0.5,)
    found = outcome(function, BAD)
    assert found.outputs is None and found.failure == failure and words in found.error


@pytest.mark.parametrize(
    ("answer", "failure", "words"),
    [
        ([1.0, 1j], "answer", "(1+0j), not a real number"),
        (["1", "2"], "answer", "'1', not a real number"),
        ([1.0, None], "answer", "None, not a real number"),
        ([1.0, float("nan")], "answer", "'f' is nan"),
        ([1.0], "answer", "shape (1,) for a batch; return (2, 1)"),
        (3.0, "answer", "shape () for a batch"),
        ([[1.0], [1.0, 2.0]], "exception", "ValueError"),
        ({"g": [1.0, 2.0]}, "answer", "no output 'f'"),
        ({"f": [1.0]}, "answer", "shape (1, 1) for a batch"),
    ],
)
def test_a_bad_answer_to_a_batch_is_a_failure_of_all(answer, failure, words):
    found = evaluate(replace(CALL, style="batch"), [GOOD, BAD], [0, 1], lambda x: answer)
    assert [each.failure for each in found] == [failure] * 2
    assert all(each.outputs is None and words in each.error for each in found)


def test_error_texts_are_short_and_say_where():
    def long(a, b):
        raise ValueError("x" * 10_000)

    (found,) = evaluate(CALL, [GOOD], [0], long)
    assert len(found.error) == 2000
    assert "integrands.py, line" in outcome("raises", BAD).error


@pytest.mark.parametrize("name", ["integrands.py:missing", "integrands.py:not_a_function"])
def test_what_is_not_a_function_cannot_be_loaded(name):
    with pytest.raises((AttributeError, TypeError)):
        load(replace(CALL, function=name))


def test_a_call_survives_json():
    call = replace(CALL, command=("x", "{a}"), time_limit=1.5, names=("<b>", "$(rm)"))
    again = Call.from_json(call.to_json())
    assert list(again.names) == ["<b>", "$(rm)"] and list(again.command) == ["x", "{a}"]


# -- commands ----------------------------------------------------------------------------------


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
        ("print('x' * 20_000_000)", "answer", "20000001 bytes"),
        ("import os; os.kill(os.getpid(), 9)", "exception", "exit code -9"),
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


@pytest.mark.parametrize(
    ("said", "words"),
    [("[1]", "1 answers for 2 points"), ("3", "wrote 3 for 2 points"), ("[1, null]", "None, not")],
)
def test_a_command_that_answers_a_batch_wrongly(said, words):
    call = replace(CALL, style="batch", input="json", command=("echo", said))
    for found in evaluate(call, [GOOD, BAD], [0, 1]):
        assert found.failure == "answer" and words in found.error


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
    deadline = time.monotonic() + 10
    while alive(child):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


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


def test_an_error_text_that_no_file_can_hold(tmp_path):
    def f(a, b):
        if a > 1:
            raise RuntimeError("no file \udcff")
        return a

    found = study(tmp_path, integrand=f, on_failure="ignore")
    found.run()
    failed = [row for row in found.evaluations.rows() if row.status == "failed"]
    assert failed and all("no file ?" in row.error for row in failed)
    assert found.status().done + len(failed) == 40


def test_a_function_whose_own_process_is_late(tmp_path):
    """A time-out inside f is an exception of f, no time limit of ours."""

    def f(a, b):
        if a > 1:
            subprocess.run(["sleep", "5"], timeout=0.01, check=False)
        return a

    found = study(tmp_path, integrand=f, on_failure="ignore", retries=0)
    found.run()
    failed = [row for row in found.evaluations.rows() if row.status == "failed"]
    assert failed and {row.failure for row in failed} == {"exception"}
    assert all("TimeoutExpired" in row.error for row in failed)


def test_an_exception_that_cannot_tell_what_it_is(tmp_path):
    class MuteError(Exception):
        def __str__(self):
            raise ValueError

    def f(a, b):
        raise MuteError

    found = study(tmp_path, integrand=f, retries=0)
    with pytest.raises(sq.InputError, match=r"40 of 40 evaluations failed \(100 %"):
        found.run()
    assert all("MuteError: without a text" in row.error for row in found.evaluations.rows())


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


def test_errors_are_cut_and_plain():
    outcome = Outcome(None, 0.0, "exception", "\ud800" + "x" * 10_000)
    assert outcome.error == "?" + "x" * 1999
