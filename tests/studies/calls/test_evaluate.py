"""One call: whatever the integrand does becomes an outcome."""

import subprocess
from dataclasses import replace

import pytest
from small_study import HERE, study

import steinquad as sq
from steinquad.studies.calls.call import Call
from steinquad.studies.calls.evaluate import evaluate
from steinquad.studies.calls.loading import Loaded

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


def test_a_batch_has_an_outcome_for_each_point():
    call = replace(CALL, function="integrands.py:batch", style="batch")
    assert [o.outputs for o in evaluate(call, [GOOD, BAD], [0, 1])] == [(0.5,), (2.5,)]
    wrong = evaluate(replace(call, outputs=("y", "z")), [GOOD, BAD], [0, 1])
    assert [o.failure for o in wrong] == ["answer"] * 2 and "return (2, 2)" in wrong[0].error


def test_error_texts_are_short_and_say_where():
    def long(a, b):
        raise ValueError("x" * 10_000)

    (found,) = evaluate(CALL, [GOOD], [0], Loaded(long, "v"))
    assert len(found.error) == 2000
    assert "integrands.py, line" in outcome("raises", BAD).error


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
