"""A copy of a process that has used JAX is refused; one of a process that has not may compute."""

import subprocess
import sys

import pytest

SCRIPT = """
import multiprocessing, sys, warnings
import jax
if sys.argv[1] == "devices":
    jax.devices()
if sys.argv[1] == "jit":
    jax.jit(lambda x: x + 1)(1.0)
import steinquad as sq

warnings.simplefilter("ignore")  # JAX warns of the fork itself

def answer(queue):
    try:
        log_density = sq.LogDensity(lambda x: -x @ x / 2, 1)  # compiles
        queue.put(float(log_density.score([[2.0]])[0, 0]))
    except sq.InputError as error:
        queue.put(str(error))

context = multiprocessing.get_context("fork")
queue = context.Queue()
if sys.argv[1] == "after":
    answer(queue)
    queue.get()
process = context.Process(target=answer, args=(queue,), daemon=True)
process.start()
print(queue.get(timeout=60))
"""


@pytest.mark.parametrize(
    ("when", "words"),
    [
        ("after", 'get_context("spawn")'),
        ("devices", 'get_context("spawn")'),
        ("jit", 'get_context("spawn")'),
        ("before", "-2.0\n"),
    ],
)
def test_a_copy_answers_or_says_why_not(when, words, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    run = subprocess.run(
        [sys.executable, script, when], capture_output=True, text=True, timeout=120
    )
    assert words in run.stdout, run.stderr
