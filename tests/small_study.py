"""What the tests of studies share."""

import os
import time
from multiprocessing import get_context
from pathlib import Path

import scipy.stats as st

import steinquad as sq

HERE = Path(__file__).parent / "studies"  # of the integrands
# Processes that may be killed: copies of one that has imported the library, which takes seconds.
PROCESSES = get_context("forkserver")
PROCESSES.set_forkserver_preload(["steinquad"])


GOOD = """\
name = "beam"
outputs = ["y"]

[integrand]
function = "m:f"

[inputs.a]
distribution = "normal"
mean = 1.0
std = 2.0
unit = "m"

[budget]
runs = 20
"""  # lines 1 to 14


def changed(old, new):
    assert old in GOOD
    return GOOD.replace(old, new)


def with_distribution(kind, keys):
    old = 'distribution = "normal"\nmean = 1.0\nstd = 2.0'
    return changed(old, f'distribution = "{kind}"\n{keys}')


def inputs():
    return sq.Product({"a": st.norm(), "b": st.uniform(0.0, 1.0)})


def study(tmp_path, name="smooth", runs=40, **settings):
    """A small study of one of the integrands, by plain average unless it says otherwise."""
    fixed = {"method": sq.MonteCarlo(), "directory": HERE, "workers": 2, "where": "here"}
    named = f"integrands.py:{name}" if isinstance(name, str) else name
    integrand = settings.pop("integrand", named)
    return sq.Study(integrand, inputs(), tmp_path / "s.sqlite", runs, **(fixed | settings))


def driver(*place, **settings):
    """A process that has begun to run such a study, in the environment of now."""
    process = PROCESSES.Process(target=_drive, args=(dict(os.environ), place, settings))
    process.daemon = True
    process.start()
    return process


def _drive(environment, place, settings):
    os.environ.update(environment)
    study(*place, **settings).run()


def alive(pid):
    """Whether there is such a process, other than one that has ended and waits to be noticed."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_until(happened, seconds=60.0):
    """Wait for something that happens soon; on a busy machine that may take a while."""
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def same(answer, plain):
    """Whether an answer is that of the fixture `plain`, to the last bit."""
    return (answer.mean, answer.std) == plain


def bad_points(found, n):
    """How many of the first n points most hostile integrands fail at."""
    return sum(found.numbered[i][0] > 1.0 for i in range(n))
