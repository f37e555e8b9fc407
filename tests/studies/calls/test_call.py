"""Calls travel as JSON, and errors fit into a store."""

from dataclasses import replace

from small_study import HERE

from steinquad.studies.calls.call import Call, Outcome

CALL = Call(("a", "b"), ("f",), directory=str(HERE))
GOOD, BAD = (0.5, 0.25), (1.5, 0.25)  # the hostile ones misbehave where a > 1


def test_a_call_survives_json():
    call = replace(CALL, command=("x", "{a}"), time_limit=1.5, names=("<b>", "$(rm)"))
    again = Call.from_json(call.to_json())
    assert list(again.names) == ["<b>", "$(rm)"] and list(again.command) == ["x", "{a}"]


def test_errors_are_cut_and_plain():
    outcome = Outcome(None, 0.0, "exception", "\ud800" + "x" * 10_000)
    assert outcome.error == "?" + "x" * 1999
