"""A worker process alone: lines of JSON in and out, whatever the integrand does with its own."""

import json
import subprocess
import sys
from dataclasses import replace

import pytest
from small_study import HERE, alive, wait_until

from steinquad.studies import worker
from steinquad.studies.calls.call import Call

CALL = Call(("a", "b"), ("f",), directory=str(HERE))
POINTS = [(0.5, 0.25), (-1.0, 2.0)]


@pytest.fixture
def start():
    """Start workers; they are ended with the test."""
    started = []

    def start(function):
        process = subprocess.Popen(
            [sys.executable, "-P", worker.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        say(process, json.loads(replace(CALL, function=function).to_json()))
        return process

    yield start
    for process in started:
        with process:  # closes its pipes
            process.kill()


def say(process, message):
    process.stdin.write(json.dumps(message) + "\n")
    process.stdin.flush()


def heard(process):
    return json.loads(process.stdout.readline())


@pytest.mark.parametrize("name", ["smooth", "prints", "forks"])
def test_points_in_outcomes_out(start, name):
    process = start(f"integrands.py:{name}")
    assert heard(process) == {"ready": True}
    for number, (a, b) in enumerate(POINTS):
        say(process, {"points": [(a, b)], "numbers": [number]})
        (outcome,) = heard(process)["outcomes"]
        assert outcome["outputs"] == [a**2 + b] and outcome["version"]


def test_an_integrand_that_cannot_be_loaded_is_the_last_word(start):
    process = start("integrands.py:missing")
    assert "AttributeError" in heard(process)["unloadable"]
    assert process.stdout.readline() == "" and process.wait(30) == 0


def test_the_end_of_the_input_ends_a_call_in_its_middle(start):
    process = start("integrands.py:hangs")
    assert heard(process) == {"ready": True}
    say(process, {"points": [(1.5, 0.25)], "numbers": [0]})  # for ever
    assert process.poll() is None
    process.stdin.close()
    wait_until(lambda: not alive(process.pid))
    assert process.wait(30) == 0


def test_jax_is_not_loaded(start, tmp_path):
    """It takes seconds and starts threads, in every worker."""
    code = "import sys\ndef f(a, b):\n    return float('jax' in sys.modules)\n"
    (tmp_path / "light.py").write_text(code)
    process = start(f"{tmp_path}/light.py:f")
    assert heard(process) == {"ready": True}
    say(process, {"points": POINTS[:1], "numbers": [0]})
    assert heard(process)["outcomes"][0]["outputs"] == [0.0]
