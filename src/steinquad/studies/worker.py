"""A worker process: points in, outcomes out, a line of JSON each; started as a file.

Standard input and output are moved out of the integrand's reach, so whatever it prints or reads
cannot disturb the conversation. The end of the input is the end of the worker, in the middle of a
call too: a driver that was killed leaves nobody computing. The integrand is loaded once, so that
all calls of a worker are by one version of it.
"""

import importlib
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


def serve(calls: str) -> None:
    """Answer requests of the driver, a line of JSON each, until the input ends; then exit.

    The first line is a `Call`; the reply says whether the integrand could be loaded. Every further
    line has points and numbers, and is answered with their outcomes.

    Args:
        calls: name of the package of that name, imported so that JAX is not.
    """
    call_module, loading, evaluation, supervisor = (
        importlib.import_module(f"{calls}.{name}")
        for name in ("call", "loading", "evaluate", "supervisor")
    )
    supervisor.outlive_parent()
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
            supervisor.end_descendants()  # of the integrand; the supervisor may be gone
            os._exit(0)

    threading.Thread(target=read, daemon=True).start()
    call = call_module.Call.from_json(lines.get())
    integrand = None
    if not call.command:
        try:
            integrand = loading.load(call)
        except (Exception, SystemExit) as error:
            say({"unloadable": f"{type(error).__name__}: {error}{call.limits}"})
            return
    say({"ready": True})
    own = os.getpid()
    while True:
        task = json.loads(lines.get())
        outcomes = evaluation.evaluate(call, task["points"], task["numbers"], integrand)
        if os.getpid() != own:  # the integrand forked, and this is the copy
            os._exit(0)
        say({"outcomes": [asdict(outcome) for outcome in outcomes]})


def _import_calls() -> str:
    """Import the folder `calls` as a package by itself: `steinquad` would bring JAX along."""
    name = "steinquad_calls"
    file = Path(__file__).parent / "calls" / "__init__.py"
    spec = importlib.util.spec_from_file_location(
        name, file, submodule_search_locations=[str(file.parent)]
    )
    assert spec is not None and spec.loader is not None
    sys.modules[name] = importlib.util.module_from_spec(spec)
    return name


if __name__ == "__main__":
    serve(_import_calls())
