"""An integrand that says in which phase a study is, and waits there until somebody lets it go."""

import os
import time
from pathlib import Path


def reach(phase):
    """The first process that comes to the phase that is asked for waits; all others go on."""
    if os.environ.get("PHASE") != phase:
        return
    place = Path(os.environ["STAGE"])
    try:
        with (place / "reached").open("x") as file:
            file.write(f"{phase} {os.getpid()}\n")
    except FileExistsError:
        return
    while not (place / "go").exists():
        time.sleep(0.005)


def f(a, b):
    with Path(os.environ["CALLS"]).open("a") as file:
        file.write(f"{a!r}\n")
    if len(Path(os.environ["CALLS"]).read_text().splitlines()) >= int(os.environ["AFTER"]):
        reach("evaluating")
    return a * a + b


reach("loading")
