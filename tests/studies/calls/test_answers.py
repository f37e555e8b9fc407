"""Every good answer is understood, every bad one is a failure with a reason."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from small_study import HERE

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
    found = evaluate(
        replace(CALL, style="batch"), [GOOD, BAD], [0, 1], Loaded(lambda x: answer, "v")
    )
    assert [each.failure for each in found] == [failure] * 2
    assert all(each.outputs is None and words in each.error for each in found)


def test_outputs_come_by_name_or_in_order():
    assert outcome("two", outputs=("z", "y")).outputs == (0.25, 0.5)
    assert outcome("wrong_shape", BAD, outputs=("z", "y")).outputs == (1.5, 0.25)


@pytest.mark.parametrize(
    ("said", "words"),
    [("[1]", "1 answers for 2 points"), ("3", "wrote 3 for 2 points"), ("[1, null]", "None, not")],
)
def test_a_command_that_answers_a_batch_wrongly(said, words):
    call = replace(CALL, style="batch", input="json", command=("echo", said))
    for found in evaluate(call, [GOOD, BAD], [0, 1]):
        assert found.failure == "answer" and words in found.error


MASKED = np.ma.array([1.0, 2.0], mask=[False, True])


@pytest.mark.parametrize("answer", [MASKED[1], {"f": MASKED[1]}, MASKED[1:], pd.NA, None, [None]])
def test_a_missing_number_is_no_answer(answer):
    (found,) = evaluate(CALL, [GOOD], [0], Loaded(lambda a, b: answer, "v"))
    assert found.failure == "answer" and found.outputs is None


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (MASKED, "output 'f' is nan"),
        ({"f": MASKED}, "output 'f' is nan"),
        ([MASKED[:1], MASKED[1:]], "output 'f' is nan"),
        (pd.Series([1.0, None], dtype="Float64"), "output 'f' is "),
        (np.array([1.0, None], dtype=object), "None, not a real number"),
        ([1.0, 10**400], "integer beyond what floats hold"),
    ],
)
def test_a_missing_number_of_a_batch_is_no_answer(answer, words):
    call = replace(CALL, style="batch")
    for found in evaluate(call, [GOOD, BAD], [0, 1], Loaded(lambda x: answer, "v")):
        assert found.failure == "answer" and words in found.error and found.outputs is None


def test_an_endless_answer_fills_no_memory():
    (found,) = evaluate(CALL, [GOOD], [0], Loaded(lambda a, b: range(10**15), "v"))
    assert found.failure == "answer" and "1000000000000000 values for the 1 output" in found.error
