"""A worker process: points in, outcomes out, a line of JSON each; started as a file.

Standard input and output are moved out of the integrand's reach, so whatever it prints or reads
cannot disturb the conversation. The end of the input is the end of the worker, in the middle of a
call too: a driver that was killed leaves nobody computing.
"""

import importlib.util
import json
import os
import queue
import signal
import sys
import threading
from dataclasses import asdict
from pathlib import Path
from typing import Any

__all__ = ["MARK", "serve"]

MARK = "STEINQUAD_WORKER"  # the variable in a worker's environment by which it knows itself


def serve(evaluation: Any) -> None:
    """Answer requests of the driver, a line of JSON each, until the input ends; then exit.

    The first line is a `Call`; the reply says whether the integrand could be loaded. Every further
    line has points and numbers, and is answered with their outcomes.

    Args:
        evaluation: the module of that name, loaded from its file so that JAX is not imported.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the driver stops its workers
    requests, answers = os.fdopen(os.dup(0), "r"), os.fdopen(os.dup(1), "w")
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)

    def say(message: Any) -> None:
        answers.write(json.dumps(message) + "\n")
        answers.flush()

    lines: queue.SimpleQueue[str] = queue.SimpleQueue()

    def read() -> None:
        try:
            for line in requests:
                lines.put(line)
        finally:  # also where no memory is left for a line
            evaluation.kill_commands()
            if os.getpgrp() == os.getpid():
                os.killpg(0, signal.SIGKILL)  # and what the integrand started
            os._exit(0)

    threading.Thread(target=read, daemon=True).start()
    call = evaluation.Call.from_json(lines.get())
    if not call.command:
        try:
            if call.memory is not None:
                evaluation.limit_memory(call.memory)
            evaluation.load(call)
        except (Exception, SystemExit) as error:
            say({"unloadable": f"{type(error).__name__}: {error}{call.limits}"})
            return
    say({"ready": True})
    own = os.getpid()
    while True:
        task = json.loads(lines.get())
        outcomes = evaluation.evaluate(call, task["points"], task["numbers"])
        if os.getpid() != own:  # the integrand forked, and this is the copy
            os._exit(0)
        say({"outcomes": [asdict(outcome) for outcome in outcomes]})


def _load_evaluation() -> Any:
    spec = importlib.util.spec_from_file_location(
        "steinquad_evaluation", Path(__file__).with_name("evaluation.py")
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    serve(_load_evaluation())
