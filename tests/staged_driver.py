"""A driver that stops in a phase of its study, to be killed there or let go."""

import importlib.util
import os
import resource
from functools import wraps
from pathlib import Path

from small_study import HERE, PROCESSES, study

import steinquad as sq
from steinquad.report import write
from steinquad.studies import study as studies
from steinquad.studies.look import Look
from steinquad.studies.store import Store

RUNS = {"runs": 40, "every": 10, "points": "iid", "retries": 5}
# Where a driver is when it is in a phase; loading and evaluating are those of a worker.
PLACES = {
    "start": (studies, "check_points"),  # the store is open and nothing was evaluated
    "writing": (Store, "_keep_time"),  # in the middle of a transaction
    "fitting": (Look, "estimate"),
    "reporting": (Look, "distribution"),
}


def staged(place, **settings):
    """The study of all these tests."""
    return study(place, integrand="staged.py:f", directory=HERE, **RUNS | settings)


def start(place, phase, after):
    """A process that runs the study, writes its report, and leaves its answer in a file."""
    own = {"PHASE": phase, "STAGE": str(place), "CALLS": str(place / "calls")}
    environment = dict(os.environ) | own | {"AFTER": str(after)}
    process = PROCESSES.Process(target=_drive, args=(environment, place), daemon=True)
    process.start()
    return process


def _drive(environment, place):
    os.environ.update(environment)
    if environment["PHASE"] in PLACES:
        _stop_in(environment["PHASE"], int(environment["AFTER"]))
    found = staged(place, where="pool")
    answer = found.run()
    write(found, place / "report.html")
    Path(place, "answer").write_text(f"{answer.mean.hex()} {answer.std.hex()}")


def _stop_in(phase, after):
    owner, name = PLACES[phase]
    plain = getattr(owner, name)
    spec = importlib.util.spec_from_file_location("staged", HERE / "staged.py")
    module = importlib.util.module_from_spec(spec)
    os.environ["PHASE"] = ""  # loaded without waiting, and workers do not wait either
    spec.loader.exec_module(module)

    @wraps(plain)
    def stopping(*args, **kwargs):
        calls = Path(os.environ["CALLS"])
        done = len(calls.read_text().splitlines()) if calls.exists() else 0
        # Only after the first call of this driver are there workers.
        if phase in ("start", "reporting") or done >= after:
            os.environ["PHASE"] = phase
            module.reach(phase)
            os.environ["PHASE"] = ""
        return plain(*args, **kwargs)

    setattr(owner, name, stopping)


def run_limited(place, size):
    """Files of this process may not grow beyond so many bytes; 2 for a refusal in a sentence."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    try:
        study(place, runs=60).run()
    except sq.InputError as error:
        os._exit(2 if "\n" not in str(error) else 1)
    os._exit(0)
